"""The work folder, the file of demos, and what is told on the way."""

import io
from pathlib import Path

import pytest

from micro_agent.demos import CompiledDemos
from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.evaluation.compare import compare
from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.task import Task
from micro_agent.optimize import Bounds, Teller
from micro_agent.optimize.ending import Spent
from micro_agent.optimize.verdict import verdict
from micro_agent.optimize.work import Work, save_demos
from micro_agent.run import Run


def test_each_optimization_has_a_folder_and_the_latest_is_resumed(tmp_path: Path) -> None:
    (tmp_path / "abc-1 (copy)").mkdir()
    first, second = (Work.open(tmp_path, "abc", resume=False) for _ in range(2))
    assert (first.folder.name, second.folder.name) == ("abc-1", "abc-2")
    assert Work.open(tmp_path, "abc", resume=True).folder == second.folder


def test_a_file_that_cannot_be_replaced_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "demos.json"
    path.mkdir()
    with pytest.raises(StorageError, match="cannot read"):
        save_demos(path, CompiledDemos(demos=[]), {})
    (path / "inside").touch()
    assert [one.name for one in tmp_path.iterdir()] == ["demos.json"]


def test_what_stands_in_the_way_is_said_and_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "demos.json").write_text("{}")
    (tmp_path / "demos.json.bak").mkdir()
    with pytest.raises(StorageError, match="cannot write"):
        save_demos(tmp_path / "demos.json", CompiledDemos(demos=[]), {})
    assert sorted(one.name for one in tmp_path.iterdir()) == ["demos.json", "demos.json.bak"]
    assert (tmp_path / "demos.json").read_text() == "{}"


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_a_limit_that_nothing_can_keep_is_refused(limit: float) -> None:
    from micro_agent.cancel import Cancel

    with pytest.raises(ConfigurationError, match="--limit-cost must be more than 0"):
        Bounds(limit_cost=limit, cancel=Cancel())


def test_two_arms_without_a_result_show_nothing() -> None:
    header = Header(dataset="d", dataset_sha256="0", tasks=["t"])
    nothing = compare((header, []), (header, []))
    assert verdict(nothing).why == "not saved: no held-out task was asked in both arms"
    assert verdict(nothing, force=True).keep


@pytest.mark.parametrize(
    ("tasks", "gained", "lost", "kept", "told"),
    [
        (60, 3, 0, True, "saved: better than today, +5.0 points on 60 held-out tasks"),
        (60, 2, 0, False, "not saved: the rate rose, +3.3 points on 60 held-out tasks"),
        (60, 5, 1, False, "more than one task (1.7 points)"),
        (60, 2, 2, False, "not saved: the rate is that of today, +0.0 points"),
        (60, 1, 2, False, "not saved: the rate fell, -1.7 points"),
        (6, 3, 0, True, "saved: better than today, +50.0 points on 6 held-out tasks"),
        (6, 2, 0, False, "more than one task (16.7 points)"),
    ],
)
def test_it_is_saved_when_the_rate_rose_and_at_worst_one_task_is_lost(
    tasks: int, gained: int, lost: int, kept: bool, told: str
) -> None:
    header = Header(dataset="d", dataset_sha256="0", tasks=[f"t{k}" for k in range(tasks)])

    def arm(solved: set[int]) -> list[Result]:
        return [
            Result(
                task=Task(id=f"t{k}", question=f"{k}?", expect_contains=["x"]), run=Run(question=f"{k}?"), wall_s=1,
                checks=[], score=0, success=k in solved,
            )
            for k in range(tasks)
        ]  # fmt: skip

    today = {*range(gained, gained + lost), *range(tasks // 2, tasks)}
    then = {*range(gained), *range(tasks // 2, tasks)}
    compared = compare((header, arm(today)), (header, arm(then)))
    decided = verdict(compared)
    assert (decided.keep, told in decided.why) == (kept, True), decided.why
    allowed = verdict(compared, allow_equal=True)
    assert allowed.keep == (gained >= lost)
    assert allowed.why.startswith("saved because of --allow-equal" if allowed.keep and not kept else decided.why)
    assert verdict(compared, force=True).keep


class Terminal(io.StringIO):
    """A stream with a person at its end."""

    def isatty(self) -> bool:
        return True


def test_training_is_one_live_line_on_a_terminal() -> None:
    stream = Terminal()
    with Teller(stream).training(8) as on_run:
        on_run(Spent(1, 2, 0.5))
        on_run(Spent(2, 4, None))
    assert stream.getvalue().split("\r\x1b[K")[1:] == [
        "Training: 1 runs, at most 8  2 model calls  cost $0.5000",
        "Training: 2 runs, at most 8  4 model calls  cost unknown",
        "Training: 2 runs, at most 8  4 model calls  cost unknown\n",
    ]


def test_elsewhere_it_is_a_line_now_and_then() -> None:
    stream = io.StringIO()
    with Teller(stream).training(8, every_s=0) as on_run:
        on_run(Spent(1, 2, 0.5))
    assert stream.getvalue().splitlines() == ["Training: 1 runs, at most 8  2 model calls  cost $0.5000"] * 2
