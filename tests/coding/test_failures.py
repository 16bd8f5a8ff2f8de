"""Failures from what real runners printed about projects with planted ones, and from what only looks like them.

`failing.jsonl` is a part of 252 outputs that were made before the readers were written. Half of them, by a hash of the
name, were not looked at before the readers had been scored on them.
"""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from micro_agent.coding.failures import Failing, condensed, shown_failures
from tests.coding.test_reports import ROWS as COUNTED
from tests.each import each

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "outputs" / "failing.jsonl").read_bytes().splitlines()
]


def found_in(row: dict[str, Any], cmd: str, ends: str = "\n") -> list[Failing]:
    return condensed(f"{row['stdout']}\n{row['stderr']}".replace("\n", ends), cmd, root="/repo")


@each("row", ROWS, ids=lambda row: row["name"])
def test_failures_are_those_that_were_planted(row: dict[str, Any]) -> None:
    found = {one.test: one for one in found_in(row, row["cmd"])}
    assert sorted(found) == sorted(planted["test"] for planted in row["failures"])
    for planted in row["failures"]:
        one = found[planted["test"]]
        assert planted["place"] in (None, one.place), one
        assert planted["said"] is None or any(part in (one.assertion or "") for part in planted["said"].split("|")), one


@each("row", ROWS, ids=lambda row: row["name"])
def test_failures_do_not_depend_on_the_command_s_name_or_the_ends_of_lines(row: dict[str, Any]) -> None:
    assert found_in(row, "make check", "\r\n") == found_in(row, row["cmd"])


UNNAMED = ("-p92-short-tb", "-u38-mixed", "-u39-mixed", "-u310-mixed")
"""They say how many failed, and not which: ``-qq --tb=no``, and unexpected successes before Python 3.11."""


@each("row", COUNTED, ids=lambda row: row["name"])
def test_there_are_as_many_failures_as_the_report_counts(row: dict[str, Any]) -> None:
    if not row["name"].endswith(UNNAMED) and row["failed"] is not None:
        assert len(found_in(row, row["cmd"])) == row["failed"]


OTHERS: list[tuple[str, str, list[Failing]]] = [
    (
        "",
        "pytest", [],
    ),
    (
        "== FAILURES ==\n",
        "pytest", [],
    ),
    (
        "_ no section _\nE   1\n",
        "pytest", [],
    ),
    (
        "==== FAILURES ====\n____ test_a _____x\n_ test_long_name_a _\nE   no\n",
        "pytest", [Failing("test_long_name_a", "no")],
    ),
    (
        "==== FAILURES ====\n_____ t[a.b] _____\n\n/x/y.py:3: E\n",
        "pytest", [Failing("/x/y.py::t[a.b]", "/x/y.py:3: E", "/x/y.py:3")],
    ),
    (
        "=== short test summary info ===\nFAILED a.py::t[x - y] - m - n\n",
        "pytest", [Failing("a.py::t[x - y]", "m - n")],
    ),
    (
        "=== short test summary info ===\nFAILED a.py::t[x - y\n",
        "pytest", [Failing("a.py::t[x - y")],
    ),
    (
        "=== short test summary info ===\nSUBFAIL [m] (i=1) a.py::t - E\n",
        "pytest", [Failing("a.py::t [m] (i=1)", "E")],
    ),
    (
        "======================================================================\n"
        "FAIL: a (t.a)\n",
        "python -m unittest", [Failing("t.a")],
    ),
    (
        "======================================================================\n",
        "python -m unittest", [],
    ),
    (
        "======================================================================\n"
        "FAIL: a (t.T)\n"
        "----------------------------------------------------------------------\n"
        "Traceback (most recent call last):\n"
        "----------------------------------------------------------------------",
        "unittest", [Failing("t.T.a")],
    ),
    (
        "FAIL a.test.js\n  ● t\n\n    no\n\n      at f (node:internal/x:1:2)",
        "jest", [Failing("a.test.js › t", "no")],
    ),
    (
        "FAIL a.test.js\n  ● t\n\n    no\nSummary of all failing tests\n"
        "FAIL a.test.js\n  ● t\n\n    no\n",
        "jest", [Failing("a.test.js › t", "no")],
    ),
    (
        "  ● t\n\n    no\n",
        "jest", [],
    ),
    (
        " FAIL  a.test.ts > t\nError: no\n FAIL  b.test.ts > u\nError: no\n",
        "vitest", [Failing("a.test.ts > t", "Error: no"), Failing("b.test.ts > u", "Error: no")],
    ),
    (
        "⎯⎯⎯ Unhandled Errors ⎯⎯⎯\n\nx\n⎯⎯ Unhandled Rejection ⎯⎯\nError: no\n"
        " ❯ f.ts:3:1\n",
        "vitest", [Failing("Unhandled Rejection", "Error: no", "f.ts:3")],
    ),
    (
        " FAIL  a.test.ts [ a.test.ts ]\nError: no\n  Plugin: p\n"
        "  File: /repo/a.test.ts:1:7\n",
        "vitest", [Failing("a.test.ts", "Error: no\n  Plugin: p", "a.test.ts:1")],
    ),
    (
        "thread 't' panicked at 'one\ntwo', /repo/src/lib.rs:3:9\nfailures:\n    t\n\n"
        "test result: FAILED. 0 passed; 1 failed; 0 ignored\n",
        "cargo test", [Failing("t", "one\ntwo", "src/lib.rs:3")],
    ),
    (
        "thread 't' panicked at 'one\nfailures:\n    t\n\n"
        "test result: FAILED. 0 passed; 1 failed; 0 ignored\n",
        "cargo test", [Failing("t")],
    ),
    (
        "thread 't' panicked at 'one', src/a.rs:3:9\nfailures:\n    t\n\n"
        "test result: FAILED. 0 passed; 1 failed; 0 ignored\n",
        "cargo test", [Failing("t", "one", "src/a.rs:3")],
    ),
    (
        "---- src/a.rs - f (line 7) stdout ----\nno\nfailures:\n"
        "    src/a.rs - f (line 7)\n\ntest result: F",
        "cargo test", [Failing("src/a.rs - f (line 7)", "no", "src/a.rs:7")],
    ),
    (
        "failures:\n    x\nprinted\n    t\ntest result: FAILED",
        "cargo test", [Failing("t")],
    ),
    (
        "error: a\n --> a.rs:1:1\nerror: b\n --> b.rs:1:1\n"
        "error: could not compile `x` (lib)\nerror: could not compile `y`\n",
        "cargo test", [Failing("x", "a", "a.rs:1")],
    ),
    (
        "FAIL\tp [setup failed]\n# p\na.go:1:2: no\nb.go:1:2: no\n",
        "go test", [Failing("p", "no", "a.go:1")],
    ),
    (
        "FAIL\tp\t0.1s\n",
        "go test", [Failing("p")],
    ),
    (
        "=== RUN   TestA\n    odd\n--- FAIL: TestA (0.00s)\nFAIL\tp\t0.1s\n",
        "go test -v", [Failing("p.TestA", "odd")],
    ),
    (
        "panic: no\n\ngoroutine 1 [running]:\nmain.main()\n\t/repo/main.go:3 +0x1\n"
        "FAIL\tp\t0.1s\n",
        "go test", [Failing("p", "panic: no", "main.go:3")],
    ),
    (
        "panic: no\n\ngoroutine 1 [running]:\np.TestB.func1()\n"
        "\t/usr/src/p/x.go:3 +0x1\np.TestB(0x1)\n\t/repo/b.go:4\nFAIL\tp\t0.1s\n",
        "go test", [Failing("p.TestB", "panic: no", "b.go:4")],
    ),
    (
        '{"Action":"build-output","ImportPath":"p","Output":"# p\\na.go:3:1: no\\n"}\n'
        '{"Action":"x"}\n{"a":1}\n'
        '{"Action":"output","Package":"p","Output":"FAIL\\tp [build failed]\\n"}\n',
        "go test -json", [Failing("p", "no", "a.go:3")],
    ),
    (
        "FAIL a.test.js\n  ● Test suite failed to run\n\n    Advice\n\n"
        "    SyntaxError: /repo/a.test.js: Unexpected token (2:8)\n\n",
        "jest", [Failing("a.test.js", "SyntaxError: /repo/a.test.js: Unexpected token", "a.test.js:2")],
    ),
    (
        "panic: no\n\ngoroutine 1 [running]:\np.TestC(...)\n\t/repo/c.go:4\n\n"
        "goroutine 2 [running]:\np.TestD(...)\n\t/repo/d.go:4\nFAIL\tp\t0.1s\n",
        "go test", [Failing("p.TestC", "panic: no", "c.go:4")],
    ),
]  # fmt: skip


@each(("output", "cmd", "failures"), OTHERS)
def test_short_outputs(output: str, cmd: str, failures: list[Failing]) -> None:
    assert condensed(output, cmd, root="/repo") == failures


def test_without_a_root_what_was_installed_is_not_the_project_s_own() -> None:
    block = "==== FAILURES ====\n_____ test_a _____\n\nt.py:3: \n\n/lib/python3.11/json/x.py:9: E\n"
    assert condensed(block, "pytest") == [Failing("t.py::test_a", "t.py:3:", "t.py:3")]
    assert condensed(block.replace("t.py:3", "/lib/python3.11/y.py:3"), "pytest")[0].place is None


def test_what_a_model_is_shown_is_bounded() -> None:
    found = [Failing("t" * 1_000, "line\n" * 300, f"{'p' * 1_000}:7"), *[Failing(f"t{n}") for n in range(100)]]
    shown = shown_failures(found)
    assert len(shown) == 10
    assert shown[1] == {"test": "t0", "assertion": None, "place": None}
    assert all(len(str(value)) <= 500 for value in shown[0].values())
    assert shown[0]["place"].endswith("p:7")


PARTS = [
    "==== FAILURES ====", "==== ERRORS ====", "_____ test_a _____", "=== short test summary info ===", "E   x",
    "FAILED a.py::test_a - x", "a.py:3: E", "=" * 70, "-" * 70, "FAIL: a (t.a)", "Traceback (most recent call last):",
    '  File "a.py", line 3, in f', "FAIL a.test.js", "  ● t", " FAIL  a.ts > t", "⎯⎯⎯", " ❯ a.ts:3:1", "failures:",
    "    t",
    "test result: FAILED. ", "---- t stdout ----", "thread 't' panicked at a.rs:3:1:", "error: x",
    "--- FAIL: TestA (0.00s)",
    "FAIL\tp\t0.1s", "panic: x", "# p", "a.go:3:1: x", '{"Action":"output","Output":"x"}', "== test session starts ==",
    "ImportError while loading conftest 'c.py'.", "--- Captured stdout call ---", "== 1 failed in 0.1s ==",
]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=10), max_size=20), st.sampled_from(["", "pytest", "go test"]))
def test_any_output_is_read(lines: list[str], cmd: str) -> None:
    for one in condensed("\n".join(lines), cmd, root="/r"):
        assert one.test
        assert one.place is None or ":" in one.place


LONG = ["a:1:", "_ ", " - ", "(", "[", "] ", "' ", "::", "thread 'a' panicked at '", "SUBFAIL (a", "at (", "/", "FAIL "]


@each("part", [*PARTS, *LONG])
def test_long_lines_are_read_in_a_moment(part: str) -> None:
    """What a pattern that goes back and forth takes hours for."""
    condensed(part * 500)
    condensed(f"{part}\n" * 200)
