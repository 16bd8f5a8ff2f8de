"""Workers: they ask as threads do, what is lost with one is asked again, one that differs from the driver is none."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from micro_agent.cancel import Cancel
from micro_agent.errors import ConfigurationError, MicroAgentError, StorageError
from micro_agent.evaluation.result import Damage, Header, Rubric
from micro_agent.evaluation.results import ResultFile, read_results
from micro_agent.evaluation.runner import Ending, run_with
from micro_agent.evaluation.task import Task
from micro_agent.evaluation.trials import Trial, trials
from micro_agent.evaluation.workers.code import digests
from micro_agent.evaluation.workers.crew import CrewExecutor
from micro_agent.evaluation.workers.ray_crew import RayCrew
from micro_agent.evaluation.workers.tried import Tried
from micro_agent.evaluation.workers.worker import Setup
from micro_agent.run import Run, Usage
from micro_agent.traces import TraceStore
from tests.evaluation.local_crew import LocalCrew

ASKED = list[str]()
HANGING = Event()


@pytest.fixture(autouse=True)
def _nothing_was_asked() -> None:  # pyright: ignore[reportUnusedFunction]
    ASKED.clear()
    HANGING.clear()


@dataclass(frozen=True)
class Asking:
    """Answers at once; what is given says what else it does."""

    given: str

    def ask(self, trial: Trial, cancel: Cancel) -> Run:
        ASKED.append(trial.task.id)
        if self.given == "defect":
            raise ValueError(f"it broke, and {os.environ['PLANTED_KEY']} with it")
        if self.given == "refused":
            raise MicroAgentError("it cannot")
        if self.given == "waits":
            ended = cancel.wait(30)
            return run(trial, "stopped", termination_reason="cancelled" if ended else None)
        if self.given == "hangs":
            HANGING.wait(30)
        if self.given == "unreached":
            return run(trial, "failed", error={"code": "NO_SERVER", "message": "no server"}, usage=Usage())
        return run(trial, "completed")

    def damages_of(self, run: Run) -> list[Damage]:
        return [Damage(call=0, name="cut", before={}, after={})]

    def close(self) -> None:
        ASKED.append("closed")


def run(trial: Trial, status: Any, **more: Any) -> Run:
    answer = str(int(trial.task.id[1:]) + 1)
    known: dict[str, Any] = {"answer": answer, "model_answer": answer, "usage": Usage(lm_calls=1, cost_usd=0.25)}
    return Run(question=trial.task.question, status=status, **{**known, **more})


def make(given: str) -> Asking:
    if given == "tools":
        raise ConfigurationError("the tools are not there")
    return Asking(given)


def setup(given: str = "", **more: Any) -> Setup:
    known: dict[str, Any] = {"code": digests(()), "modules": (), "traces": None}
    return Setup(make, given, Rubric(), folder=str(Path.cwd()), **{**known, **more})


def todo(count: int) -> Iterator[Trial]:
    return trials(
        [Task(id=f"t{n}", question="?", expect_contains=[str(n + 1)]) for n in range(count)], 1, 0, seeded=False
    )


@pytest.fixture
def file(tmp_path: Path) -> Iterator[ResultFile]:
    header = Header(dataset="t.yaml", dataset_sha256="0" * 64, tasks=[f"t{n}" for n in range(20)])
    with ResultFile.create(tmp_path / "results.jsonl", header) as file:
        yield file


def names(file: ResultFile) -> list[str]:
    return sorted(result.task.id for result in read_results(file.path)[1])


def asked(crew: LocalCrew, file: ResultFile, count: int, **more: Any) -> Ending:
    return run_with(CrewExecutor(crew), todo(count), file, **more)


def test_a_bounded_number_is_in_flight_and_all_is_written_by_the_driver(file: ResultFile, store: TraceStore):
    taken, written = 0, list[Tried]()

    def plan() -> Iterator[Trial]:
        nonlocal taken
        for trial in todo(9):
            taken += 1
            assert taken - len(written) <= 4
            yield trial

    crew = LocalCrew(setup(traces=str(store.directory)))
    assert run_with(CrewExecutor(crew), plan(), file, store=store, on_tried=written.append) == Ending("done")
    results = list(read_results(file.path)[1])
    assert sorted(result.task.id for result in results) == [f"t{n}" for n in range(9)]
    assert all(result.success and result.damages[0].name == "cut" for result in results)
    assert {result.trace for result in results} == {str(store.path(result.run.id)) for result in results}
    assert all(store.load(result.run.id).answer == result.run.answer for result in results)
    assert [one.result for one in written] == [None] * 9
    assert (crew.most, file.cost_usd, ASKED.count("closed")) == (4, 2.25, 2)


def test_what_is_lost_with_a_worker_is_asked_again_and_recorded_once(file: ResultFile):
    died = list[str]()

    def dies(trial: Trial) -> bool:
        died.append(trial.task.id)
        return died.count(trial.task.id) <= int(trial.task.id[1:]) % 3

    assert asked(LocalCrew(setup(), dies=dies), file, 9).reason == "done"
    assert names(file) == [f"t{n}" for n in range(9)]
    assert file.path.read_text().count("\n") == 10
    assert sorted(ASKED) == ["closed"] * 2 + sorted(f"t{n}" for n in range(9) for _ in range(n % 3 + 1))


def test_a_trial_that_kills_its_workers_ends_the_eval(file: ResultFile):
    crew = LocalCrew(setup(), dies=lambda trial: trial.task.id == "t1")
    with pytest.raises(MicroAgentError, match=r"that asked task t1 \(epoch 0\) died, 5 in all; .* it was killed"):
        asked(crew, file, 20)
    assert ASKED.count("t1") == 5
    assert "t1" not in names(file)


def test_nothing_lost_is_asked_again_once_the_limit_on_the_cost_is_reached(file: ResultFile):
    crew = LocalCrew(setup(), workers=1, per_worker=1, dies=lambda trial: ASKED.count("t1") in (1, 2))
    assert asked(crew, file, 9, limit_cost=0.5).reason == "limit_cost"
    assert (names(file), ASKED) == (["t0", "t1"], ["t0", "t1", "t1", "t1", "closed"])
    assert asked(LocalCrew(setup("unreached")), file, 3).reason == "unreached"


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        ("tools", ConfigurationError, "the tools are not there"),
        ("refused", MicroAgentError, "it cannot"),
        ("defect", MicroAgentError, r"a defect[\S\s]*ValueError: it broke, and \[env:PLANTED_KEY\] with it"),
    ],
)
def test_what_a_worker_cannot_do_ends_the_eval_in_one_masked_line(
    given: str, kind: type[Exception], told: str, file: ResultFile, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PLANTED_KEY", "sk-planted-0123456789")
    with pytest.raises(MicroAgentError, match=f"the worker on .*: {told}") as caught:
        asked(LocalCrew(setup(given)), file, 9)
    assert type(caught.value) is kind
    assert len([name for name in ASKED if name != "closed"]) <= 4


def test_a_worker_that_runs_other_code_is_refused(file: ResultFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pack").mkdir()
    for name in ("own.py", "pack/__init__.py", "pack/one.py"):
        (tmp_path / name).write_text("A = 1\n")
    modules = ("own.py", "pack", "pack.one", "pack.not_there", "not_there.one", "not_there.py", "sys")
    before = digests(modules)
    assert len({before[f"the tools {name}"] for name in ("own.py", "pack", "pack.one")}) == 3
    (tmp_path / "pack" / "one.py").write_text("A = 2\n")
    told = "it is not set up as the driver is: the tools pack is [0-9a-f]+ there, [0-9a-f]+ here; the tools pack.one is"
    with pytest.raises(ConfigurationError, match=told):
        asked(LocalCrew(setup(code=before, modules=modules)), file, 3)
    other = {**digests(()), "Python": "3.10"}
    with pytest.raises(ConfigurationError, match=r"Python is 3\.\d+ there, 3\.10 here"):
        asked(LocalCrew(replace(setup(code=other), folder="/not/there")), file, 3)
    assert set(ASKED) <= {"closed"}


def test_runs_under_way_leave_no_result_after_a_cancel_and_one_that_hangs_is_left(file: ResultFile):
    cancel = Cancel()
    crew = LocalCrew(setup("waits"))

    def plan() -> Iterator[Trial]:
        for number, trial in enumerate(todo(9)):
            if number == 3:
                cancel.set()
            yield trial

    assert run_with(CrewExecutor(crew), plan(), file, cancel=cancel) == Ending("cancelled")
    assert crew.cancelled
    ASKED.clear()
    assert asked(LocalCrew(setup()), file, 9, cancel=cancel) == Ending("cancelled")
    later = Cancel()

    def hanging() -> Iterator[Trial]:
        yield from todo(1)
        while not ASKED:
            Event().wait(0.01)
        later.set()
        yield from todo(2)

    assert run_with(CrewExecutor(LocalCrew(setup("hangs"))), hanging(), file, cancel=later) == Ending("cancelled")
    HANGING.set()
    assert names(file) == []


def test_a_result_that_cannot_be_written_ends_the_eval(file: ResultFile):
    file.close()
    with pytest.raises(StorageError, match="is closed"):
        asked(LocalCrew(setup()), file, 9)


def test_the_crew_of_ray_is_imported_without_ray(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ModuleNotFoundError, match="ray"), RayCrew(setup(), address=None, workers=1, per_worker=1):
        pass
