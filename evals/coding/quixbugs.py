"""A checkout of QuixBugs as coding tasks: one for each program, with its test cases as hidden tests.

    git clone https://github.com/jkoppel/QuixBugs
    python evals/coding/quixbugs.py QuixBugs > quixbugs.jsonl
    micro-agent eval run --tasks quixbugs.jsonl --rubrics evals/coding/rubrics.yaml

Read are ``python_programs/NAME.py``, the program with its one bug; ``json_testcases/NAME.json``, a line for each case:
the arguments and what comes back; and ``correct_python_programs/NAME.py``, for the plan of the scripted model. A
program whose cases are no such lines (those that work on graphs and lists of nodes) is left out and named on standard
error.
"""

import argparse
import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.coding.repository import TEST_CMD, Repository
from micro_agent.evaluation.task import Task

_FOLDERS = ("python_programs", "json_testcases", "correct_python_programs")
_LARGEST = 1_000_000
_SHOWN = 2
"""So many cases are in the test that the agent sees; all of them are in the hidden one."""
_TEST = """import json
import unittest
from pathlib import Path

from {name} import {name}

CASES = json.loads(Path(__file__).with_suffix(".json").read_text())


class {title}Test(unittest.TestCase):
    def test_cases(self):
        for given, expected in CASES:
            with self.subTest(given=given):
                found = {name}(*given)
                if hasattr(found, "__next__"):
                    found = list(found)
                self.assertEqual(json.loads(json.dumps(found)), expected)
"""


def tasks_of(checkout: Path) -> Iterator[Task | str]:
    """A task for each program, in the order of their names; for one that is left out the reason, in one line.

    Raises:
        ConfigurationError: It is no checkout of QuixBugs.
    """
    for folder in _FOLDERS:
        if not (checkout / folder).is_dir():
            raise ConfigurationError(f"{checkout} is no checkout of QuixBugs: there is no folder {folder} in it")
    programs = sorted(path for path in (checkout / _FOLDERS[0]).glob("*.py") if path.stem.isidentifier())
    if not programs:
        raise ConfigurationError(f"{checkout / _FOLDERS[0]} holds no program: check the checkout is complete")
    for program in programs:
        try:
            yield _task(checkout, program.stem)
        except ValueError as error:
            yield f"{program.stem} is left out: {error}"


def _task(checkout: Path, name: str) -> Task:
    wrong = _text(checkout / _FOLDERS[0] / f"{name}.py")
    right = _text(checkout / _FOLDERS[2] / f"{name}.py")
    cases = _cases(checkout / _FOLDERS[1] / f"{name}.json")
    test = _TEST.format(name=name, title=name.title().replace("_", ""))
    path = f"{name}.py"
    files = {
        path: wrong, "tests/__init__.py": "", f"tests/test_{name}.py": test,
        f"tests/test_{name}.json": json.dumps(cases[:_SHOWN]),
    }  # fmt: skip
    edit = _edit(path, _without_docstring(wrong), _without_docstring(right), wrong)
    return Task(
        id=f"quixbugs-{name}", tags=["bug", "quixbugs"],
        question=f"The function {name} in {path} has a bug on one line, or a line is missing. Find it and fix it.",
        repository=Repository(files=files),
        expect_hidden={f"tests/test_{name}.py": test, f"tests/test_{name}.json": json.dumps(cases)},
        expect_changed=[path], expect_gates=True,
        plan={"search": f"def {name}", "read": [path], "edits": [edit], "test": TEST_CMD,
              "answer": f"The bug in {name} is fixed."},
    )  # fmt: skip


def _text(path: Path) -> str:
    if not path.is_file():
        raise ValueError(f"there is no {path.parent.name}/{path.name}")
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path.parent.name}/{path.name} is larger than {_LARGEST} bytes")
    return path.read_text(encoding="utf-8")


def _cases(path: Path) -> list[Any]:
    """The arguments and the result of each case."""
    found: list[Any] = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path.name}, line {number}: not JSON: {error}") from error
        if not isinstance(case, list) or len(cast("list[Any]", case)) != 2:
            raise ValueError(f"{path.name}, line {number}: not a list of arguments and a result")
        given, expected = cast("list[Any]", case)
        found.append([given if isinstance(given, list) else [given], expected])
    if not found:
        raise ValueError(f"{path.name} holds no case")
    return found


def _without_docstring(source: str) -> str:
    """The program without the text in it that tells what it does: the two versions word that differently."""
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise ValueError(f"not Python 3: line {error.lineno}") from error
    lines = source.splitlines(keepends=True)
    for node in reversed(body):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            del lines[node.lineno - 1 : node.end_lineno]
    return "".join(lines).strip() + "\n"


def _edit(path: str, wrong: str, right: str, whole: str) -> dict[str, str]:
    """The change from the one to the other: the lines that differ, with as many around as make them unique."""
    if wrong == right:
        raise ValueError("the two versions do not differ")
    old, new = wrong.splitlines(keepends=True), right.splitlines(keepends=True)
    head = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - head
    tail = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    while True:
        target = "".join(old[head : len(old) - tail])
        if target and whole.count(target) == 1:
            return {"path": path, "target": target, "replacement": "".join(new[head : len(new) - tail])}
        if not head and not tail:
            raise ValueError("the place that differs cannot be told from others")
        head, tail = max(0, head - 1), max(0, tail - 1)


def main() -> int:
    """Print the tasks as lines of JSON, and what is left out on standard error."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, metavar="DIR", help="a checkout of QuixBugs")
    made = 0
    try:
        for task in tasks_of(parser.parse_args().checkout):
            if isinstance(task, str):
                print(task, file=sys.stderr)
                continue
            print(task.model_dump_json(exclude_none=True, exclude_defaults=True))
            made += 1
    except ConfigurationError as error:
        print(f"quixbugs.py: {error}", file=sys.stderr)
        return 2
    print(f"{made} tasks", file=sys.stderr)
    return 0 if made else 1


if __name__ == "__main__":
    sys.exit(main())
