"""QuixBugs as coding tasks, from a checkout that is made up here: ours has two programs, and some that are left out."""

import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from micro_agent.evaluation.coding.places import written
from micro_agent.evaluation.coding.repository import Change
from micro_agent.evaluation.datasets import load_tasks
from tests.evaluation.test_coding_tasks import in_turn

SCRIPT = Path(__file__).resolve().parents[2] / "evals" / "coding" / "quixbugs.py"
COUNT = 'def countdown(n):\n    while n {sign} 0:\n        yield n\n        n -= 1\n\n\n"""\n{words}\n"""\n'
LARGER = "def larger(a, b):\n    return a if a {sign} b else b\n"
CASES = "[[3], [3, 2, 1]]\n\n[1, [1]]\n[[0], []]\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "QuixBugs"
    written({
        "python_programs/countdown.py": COUNT.format(sign=">=", words="Counts."),
        "correct_python_programs/countdown.py": COUNT.format(sign=">", words="Counts down."),
        "json_testcases/countdown.json": CASES,
        "python_programs/larger.py": LARGER.format(sign="<"),
        "correct_python_programs/larger.py": LARGER.format(sign=">"),
        "json_testcases/larger.json": "[[1, 2], 2]\n[[5, 3], 5]\n",
        "python_programs/nodes.py": "def nodes(n):\n    return n\n",
        "python_programs/odd.py": "def odd(n):\n    return n\n",
        "correct_python_programs/odd.py": "def odd(n):\n    return n % 2\n",
        "json_testcases/odd.json": "[[1], 1]\n{}\n",
        "python_programs/same.py": LARGER.format(sign="<"),
        "correct_python_programs/same.py": LARGER.format(sign="<"),
        "json_testcases/same.json": "[[1, 2], 2]\n",
        "python_programs/old.py": "print 5\n",
        "correct_python_programs/old.py": "print(5)\n",
        "json_testcases/old.json": "[[], null]\n",
    }, root)  # fmt: skip
    return root


Made = Callable[[Path], tuple[int, str, list[str]]]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Made:
    """What the script says of a folder: its exit code, standard output, the lines of standard error."""

    def run(folder: Path) -> tuple[int, str, list[str]]:
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(folder)])
        with pytest.raises(SystemExit) as left:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        out, err = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return left.value.code, out, err.splitlines()

    return run


def test_a_checkout_becomes_tasks_that_can_be_solved(checkout: Path, tmp_path: Path, made: Made):
    code, out, said = made(checkout)
    assert code == 0, said
    assert said == [
        "nodes is left out: there is no correct_python_programs/nodes.py",
        "odd is left out: odd.json, line 2: not a list of arguments and a result",
        "old is left out: not Python 3: line 1",
        "same is left out: the two versions do not differ",
        "2 tasks",
    ]
    (tmp_path / "q.jsonl").write_text(out)
    tasks = load_tasks(tmp_path / "q.jsonl").tasks
    assert [task.id for task in tasks] == ["quixbugs-countdown", "quixbugs-larger"]
    folders: dict[str, Path] = {}
    for task in tasks:
        assert task.repository is not None
        assert task.expect_hidden is not None
        assert task.plan is not None
        files = task.repository.contents()
        fixed = files
        for edit in task.plan["edits"]:
            fixed = Change.model_validate(edit).applied(fixed)
        for state, contents in {"found": files, "fixed": fixed}.items():
            folders[f"{task.id} {state}"] = tmp_path / f"{task.id}-{state}"
            written({**contents, **task.expect_hidden}, folders[f"{task.id} {state}"])
    assert in_turn(folders) == {name: name.endswith("found") for name in folders}
    shown = tasks[1].repository
    assert shown is not None
    assert json.loads(shown.files["tests/test_larger.json"]) == [[[1, 2], 2], [[5, 3], 5]]


def test_what_is_no_checkout_is_named(checkout: Path, tmp_path: Path, made: Made):
    assert made(tmp_path)[::2] == (
        2, [f"quixbugs.py: {tmp_path} is no checkout of QuixBugs: there is no folder python_programs in it"],
    )  # fmt: skip
    for path in (checkout / "python_programs").glob("*.py"):
        path.unlink()
    code, _, said = made(checkout)
    assert (code, "holds no program" in said[0]) == (2, True)
