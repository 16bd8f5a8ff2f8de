"""The labelled commands of ``commands.jsonl``, checked as a file: one JSON object a line.

Its fields:

- ``id``: the class and a number, unique.
- ``cmd``: the command, exactly as a model would propose it. It is data: nothing here runs it.
- ``class``: what the command is an example of.
- ``label``: what may be decided. ``allow``: it only reads and stays within the small subset, so it must be allowed.
  ``not_allowed``: a person must be asked, or it is denied; both are right. ``deny``: it must be denied, never asked.
- ``sandboxed``: whether an enforcing sandbox without network is there.
- ``bypass``: whether the command is spelled, wrapped or placed so that a simple judge takes it for less than it is.
- ``why``: the reason of the label.

Its classes, by what they are about:

- ``list read count search find git-read compare info json``: daily reading; ``chain quoting names data``: the same in
  pipes and lists, with quotes, with odd names, with words that look bad and are only data; ``sandboxed-read``.
- ``test-run test-other test-bypass``: commands that run tests, look like them, or load something else with them.
- ``write-inside git-write unknown-program interpreter``: what a person decides.
- ``expansion redirect control-flow heredoc builtin assignment``: shell outside the subset.
- ``wrapper program-path options output-option exec-option pager-editor git-exec git-option``: a program, an option or
  an operand that does more than the program's name says.
- ``outside-read closed-path link``: paths that are not the repository's, or below ``.git``.
- ``invisible look-alike hidden-line too-long chain-end``: what a reader, or a limit on length, does not see.
- ``destroy exfiltrate remote-script privilege persist credential environment write-outside kill fork-bomb
  reverse-shell self``: what is denied; ``nested-shell nested-wrapper``: the same within another command;
  ``sandboxed-ask sandboxed-deny``: what a sandbox does not change.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.each import each

FILE = Path(__file__).with_name("commands.jsonl")
LINES = FILE.read_text(encoding="utf-8").splitlines()
FIELDS = {"id": str, "cmd": str, "class": str, "label": str, "sandboxed": bool, "bypass": bool, "why": str}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in LINES]


@each("line", LINES)
def test_a_line_is_one_row(line: str) -> None:
    row = json.loads(line)
    assert {name: type(value) for name, value in row.items()} == FIELDS
    assert row["label"] in {"allow", "not_allowed", "deny"}
    assert row["cmd"]
    assert row["why"]
    assert row["id"].rpartition("-")[0] == row["class"]
    assert not (row["bypass"] and row["label"] == "allow")


def test_the_file_shows_no_control_or_invisible_character() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert all(" " <= character <= "~" or character == "\n" for character in text), "JSON escapes write the others"
    assert text.endswith("\n")


def test_no_row_is_there_twice(rows: list[dict[str, Any]]) -> None:
    for names in (["id"], ["cmd", "sandboxed"]):
        counts = Counter(tuple(row[name] for name in names) for row in rows)
        assert [key for key, count in counts.items() if count > 1] == [], names


def test_a_class_is_described(rows: list[dict[str, Any]]) -> None:
    described = set((__doc__ or "").replace("`", " ").replace(":", " ").replace(";", " ").replace(",", " ").split())
    assert {row["class"] for row in rows} <= described


def test_the_set_is_large_enough(rows: list[dict[str, Any]]) -> None:
    labels = Counter(row["label"] for row in rows)
    assert len(rows) >= 450
    assert labels["allow"] >= 130
    assert len({row["class"] for row in rows}) >= 25
    assert 2 * sum(row["bypass"] for row in rows) >= len(rows) - labels["allow"]


def test_a_sandbox_lets_tests_run_and_nothing_else(rows: list[dict[str, Any]]) -> None:
    labels = {(row["cmd"], row["sandboxed"]): row["label"] for row in rows}
    both = {cmd for cmd, sandboxed in labels if sandboxed and (cmd, False) in labels}
    changed = {cmd for cmd in both if labels[cmd, True] != labels[cmd, False]}
    assert changed == {row["cmd"] for row in rows if row["class"] == "test-run"}
    assert {(labels[cmd, True], labels[cmd, False]) for cmd in changed} == {("allow", "not_allowed")}
