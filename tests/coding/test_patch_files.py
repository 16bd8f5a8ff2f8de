"""The labelled diffs and paths hold what they say; what judges them is tested elsewhere.

`patches/cases.jsonl` has one case a line:

- ``id``, unique; ``class``, what is tried; ``why``, the reason of the label, with the words ``Plain git accepts it``
  where `git apply` alone takes a diff that it should not take, or makes the wrong thing of it.
- ``label``: ``good``, applied as it is; ``repairable``, an error of weak models that leaves one sensible reading;
  ``bad``, refused because it is broken or has several readings; ``hostile``, refused because of what it reaches for.
- ``files``: the repository before, each path with its text, or ``{"text", "mode"}`` (``"755"``), or ``{"link"}`` with
  its target.
- ``diff``: what the model sent.
- ``after``: what good and repairable ones make of the files that change, complete; ``null`` for a file that goes. All
  other files stay as they are.

A refused diff changes nothing at all, inside or outside. Some hostile ones aim at ``../outside.txt`` with the text
``secret`` and a newline: it should be there when they are tried.

`paths.jsonl` has one path a row: ``id``, ``path``, ``mode`` (``read`` or ``write``), ``label`` (``allowed`` or
``forbidden``), ``class`` and ``why``. They are judged in the repository that `paths_fixture.json` describes, and
``{root}``, ``{outside}`` and ``{state}`` in them, as in the targets of links, stand for folders of that name, which lie
side by side with ``root-other``; ``root`` is the repository and ``state`` the agent's own. An entry of the fixture is a
file (``text``, or ``size`` in bytes with whatever content; ``mode``), a ``directory``, a ``link`` with its target, a
``hardlink`` to a path, or a ``fifo``. What is read and allowed is there; a new file may want new folders.
"""

import json
import os
import stat
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.coding.labelled import PATHS, build, filled_in, read_rows
from tests.each import each

AT_LEAST = {"good": 35, "repairable": 30, "bad": 25, "hostile": 20}
FIELDS = ["id", "class", "label", "files", "diff", "why"]
ROW = ["id", "path", "mode", "label", "class", "why"]
GIT = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


CASES = read_rows("patches/cases.jsonl")


def with_label(*labels: str) -> list[dict[str, Any]]:
    return [case for case in CASES if case["label"] in labels]


def name_of(case: dict[str, Any]) -> str:
    return case["id"]


def put(folder: Path, files: dict[str, Any]) -> None:
    """Write the files of a good case: texts, some of them with a mode."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((content if isinstance(content, str) else content["text"]).encode())
        path.chmod(0o644 if isinstance(content, str) else int(content["mode"], 8))


def found(folder: Path) -> dict[str, Any]:
    """The files of a folder as a case writes them."""
    files: dict[str, Any] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            text, is_executable = path.read_bytes().decode(), path.stat().st_mode & stat.S_IXUSR
            files[str(path.relative_to(folder))] = {"text": text, "mode": "755"} if is_executable else text
    return files


def apply(folder: Path, case: dict[str, Any], *options: str) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "apply", "--whitespace=nowarn", f"--directory={folder.name}", *options]
    return subprocess.run(command, cwd=folder.parent, env=GIT, input=case["diff"].encode(), capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", tmp_path], env=GIT, check=True)
    return tmp_path


def test_there_are_enough_diffs_and_each_is_there_once() -> None:
    counts = Counter(case["label"] for case in CASES)
    assert counts.keys() == AT_LEAST.keys()
    assert {label: counts[label] for label, least in AT_LEAST.items() if counts[label] < least} == {}
    assert max(Counter(case["id"] for case in CASES).values()) == 1
    same = Counter(json.dumps([case["files"], case["diff"]]) for case in CASES)
    assert [case for case, times in same.items() if times > 1] == []


@each("case", CASES, ids=name_of)
def test_a_case_has_its_fields(case: dict[str, Any]) -> None:
    is_applied = case["label"] in {"good", "repairable"}
    assert sorted(case) == sorted(FIELDS + ["after"] * is_applied)
    assert case["id"].startswith(f"{case['label']}-")
    assert case["class"]
    assert case["why"]
    assert case["files"]
    if is_applied:
        assert case["after"]
        assert [path for path, text in case["after"].items() if case["files"].get(path) == text] == []


def test_a_good_diff_is_what_git_makes_of_it(repository: Path) -> None:
    wrong: list[str] = []
    for number, case in enumerate(with_label("good")):
        folder = repository / f"case{number}"
        folder.mkdir()
        put(folder, case["files"])
        done = apply(folder, case, *["--unidiff-zero"] * (case["class"] == "no context"))
        expected = {path: text for path, text in {**case["files"], **case["after"]}.items() if text is not None}
        if done.returncode or found(folder) != expected:
            wrong.append(f"{case['id']}: {done.stderr.decode()}")
    assert wrong == []


def test_what_git_says_of_the_others_is_noted(repository: Path) -> None:
    wrong: list[str] = []
    for number, case in enumerate(with_label("repairable")):
        folder = repository / f"case{number}"
        folder.mkdir()
        put(folder, case["files"])
        is_misread = not apply(folder, case).returncode and found(folder) != {
            path: text for path, text in {**case["files"], **case["after"]}.items() if text is not None
        }
        if is_misread != ("Plain git accepts it" in case["why"]):
            wrong.append(case["id"])
    assert wrong == []


def test_there_are_enough_paths_and_each_is_there_once() -> None:
    labels = Counter(row["label"] for row in PATHS)
    assert labels.keys() == {"allowed", "forbidden"}
    assert labels["allowed"] + labels["forbidden"] >= 120
    assert labels["allowed"] >= labels["forbidden"]
    assert max(Counter(row["id"] for row in PATHS).values()) == 1
    assert max(Counter((row["path"], row["mode"]) for row in PATHS).values()) == 1


@each("row", PATHS, ids=name_of)
def test_a_path_has_its_fields(row: dict[str, Any]) -> None:
    assert sorted(row) == sorted(ROW)
    assert row["mode"] in {"read", "write"}
    assert row["class"]
    assert row["why"]


def test_the_paths_are_what_they_are_said_to_be(tmp_path: Path) -> None:
    names = build(tmp_path)
    root = tmp_path / "root"
    wrong: list[str] = []
    for row in PATHS:
        path = root / filled_in(row["path"], names)
        if row["label"] == "allowed":
            is_inside = path.resolve().is_relative_to(root)
            is_fit = path.is_file() if row["mode"] == "read" else not path.is_symlink() and not path.is_dir()
            if not (is_inside and is_fit):
                wrong.append(row["id"])
        elif row["class"] in {"absolute outside", "links out"} and path.resolve().is_relative_to(root):
            wrong.append(row["id"])
    assert wrong == []
