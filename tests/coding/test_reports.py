"""Counts from what real runners printed (``outputs/``), and from what tests print to look like a report.

`seen.jsonl` was looked at while the readers were written, `unseen.jsonl` was not, and `later.jsonl` is of versions that
were first run when the readers were done. Python 3.12.1 is left out where tests are skipped: that version alone does
not say how many tests it ran.
"""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from micro_agent.coding.reports import Counts, read_counts
from tests.each import each

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for part in ("seen", "unseen", "later")
    for line in (Path(__file__).parent / "outputs" / f"{part}.jsonl").read_bytes().splitlines()
]


@each("row", ROWS, ids=lambda row: row["name"])
def test_counts_are_those_of_the_project(row: dict[str, Any]) -> None:
    found = read_counts(f"{row['stdout']}\n{row['stderr']}", row["cmd"])
    assert found == Counts(row["passed"], row["failed"])


@each("row", [row for row in ROWS if row["stdout"] or row["stderr"]], ids=lambda row: row["name"])
def test_counts_do_not_depend_on_the_command_s_name_or_the_ends_of_lines(row: dict[str, Any]) -> None:
    text = f"{row['stdout']}\n{row['stderr']}".replace("\n", "\r\n")
    assert read_counts(text, row["cmd"]) == Counts(row["passed"], row["failed"])
    if "noise" not in row["name"]:
        assert read_counts(text) == Counts(row["passed"], row["failed"])


OTHERS = [
    ("", "pytest", None, None),
    ("3 passed files compiled in 2 s\n", "make test", None, None),
    ("I saw 3 passed in 0.1s of them\n", "make test", None, None),
    ("=== 4 passed, 1 rerun in 61.02s (0:01:01) ===", "pytest", 4, 0),
    ("1 failed, 2 passed in 0.12 seconds", "pytest", 2, 1),
    ("test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured\n", "pytest", None, None),
    ("test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured\n3 passed in 0.01s\n", "make test", 6, 0),
    ("Ran 3 tests in 0.1s\n\nOK (skipped=1, expected failures=1)\n", "./manage.py test", 1, 0),
    ("Ran 3 tests in 0.1s\n", "python -m unittest", None, None),
    ("====\nERROR: test_a (t.T)\nRan 0 tests in 0.1s\n\nFAILED (errors=1)\n", "python -m unittest", None, 1),
    ("FAIL: test_a (t.T)\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\n", "python -m unittest", None, 1),
    ("Tests: 3 passed, 3 total\n", "jest", None, None),
    ("Test Files  1 passed (1)\nTests  3 passed (3)\n" * 2, "vitest", 6, 0),
    ("Test Files  1 passed (1)\n   Errors  2 errors\n", "vitest", None, None),
    ('{"Action":"pass","Test":"TestA"}\n{"Action":\n{"Action":3,"Package":"p"}\n', "go test -json", None, None),
    ('{"Action":"pass","Package":"p","Test":7}\n{"Action":"pass","Package":"p"}\n', "go test -json", 1, 0),
    ("{" + '"a":{' * 100_000 + "\n", "go test -json", None, None),
    ("ok  \tp\t(cached)\n\tq\t\tcoverage: 0.0% of statements\n", "go test -cover", None, 0),
]


@each(("output", "cmd", "passed", "failed"), OTHERS)
def test_what_only_looks_like_a_report_is_none(output: str, cmd: str, passed: int | None, failed: int | None) -> None:
    assert read_counts(output, cmd) == Counts(passed, failed)


REPORTS = [
    "3 passed in 0.1s", "== FAILURES ==", "..F [100%]", "Ran 2 tests in 0.1s", "OK", "FAIL\tp\t0.1s", "=== RUN T",
    "Test Files  1 failed (1)", "Tests  no tests", "--- FAIL: TestA (0.00s)", "\x1b[1m", "== test session starts ==",
]  # fmt: skip


@given(st.lists(st.sampled_from(REPORTS) | st.text(max_size=10), max_size=12))
def test_any_output_is_read(lines: list[str]) -> None:
    found = read_counts("\n".join(lines))
    assert found.passed is None or found.passed >= 0
    assert found.failed is None or found.failed >= 0


def test_long_lines_are_read_in_a_moment() -> None:
    """Each is what a pattern that goes back and forth takes hours for."""
    for part in ("1 a ", "= ", "== ", "[ ", "\x1b[", "\x1b]", "1 a, ", "--- PASS: a", "\r", "{", "Tests 1 a | "):
        assert read_counts(part * 50_000) == Counts()
