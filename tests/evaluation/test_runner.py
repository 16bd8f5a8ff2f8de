"""The runner: every trial once, what was paid for is kept, and an eval that makes no sense ends early."""
# pyright: reportUnknownMemberType=false

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

from micro_agent import Limits, MicroAgent, configure_lm
from micro_agent.cancel import Cancel
from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.evaluation.result import Header, Result, Rubric
from micro_agent.evaluation.results import ResultFile, read_results
from micro_agent.evaluation.runner import Ending, Trial, agent_ask, remaining, run_trials, trials
from micro_agent.evaluation.task import Task
from micro_agent.run import Run, Usage
from micro_agent.testing import ModelServer, ScriptedLM, call, final, text
from micro_agent.traces import TraceStore

RUBRIC = Rubric()


def tasks(count: int) -> list[Task]:
    return [Task(id=f"t{n}", question=f"What is {n}+1?", expect_contains=[str(n + 1)]) for n in range(count)]


def todo(count: int, epochs: int = 1) -> Iterator[Trial]:
    return trials(tasks(count), epochs, 0, seeded=epochs > 1)


def answered(trial: Trial, cancel: Cancel, *, cost: float | None = 0.0) -> Run:
    number = trial.task.id[1:]
    usage = Usage(lm_calls=1, cost_usd=cost)
    said = str(int(number) + 1)
    return Run(question=trial.task.question, answer=said, model_answer=said, status="completed", usage=usage)


def failed(trial: Trial, code: str, *, lm_calls: int = 0) -> Run:
    error = {"code": code, "message": f"{trial.task.id} had {code}"}
    usage = Usage(lm_calls=lm_calls)
    return Run(question="?", status="failed", termination_reason="lm_error", error=error, usage=usage)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[ResultFile]:
    header = Header(dataset="t.yaml", dataset_sha256="0" * 64, tasks=[task.id for task in tasks(20)])
    with ResultFile.create(tmp_path / "results.jsonl", header) as file:
        yield file


def read(file: ResultFile) -> list[Result]:
    return list(read_results(file.path)[1])


def test_epochs_follow_each_other_and_have_seeds_of_their_own():
    plan = [(trial.key, trial.seed) for trial in trials(tasks(2), 2, 40, seeded=True)]
    assert plan == [(("t0", 0), 40), (("t1", 0), 40), (("t0", 1), 41), (("t1", 1), 41)]
    assert [trial.seed for trial in trials(tasks(2), 1, 40, seeded=False)] == [None, None]


def test_agents_are_asked_scored_and_written_down(file: ResultFile, store: TraceStore):
    lm = ScriptedLM([call("calculator", {"expression": "0+1"}), text("It is 1."), text("Is it 5?")])
    ask = agent_ask(lambda seed: MicroAgent(lm=lm, rules=[], confirm="never", limits=Limits(max_time=60)))
    seen: list[Result] = []
    ending = run_trials(todo(2), ask, file, RUBRIC, store=store, on_result=seen.append)
    assert ending == Ending("done")
    one, two = read(file)
    assert [one, two] == seen
    assert [(r.key, r.success, r.score, r.seed) for r in seen] == [
        (("t0", 0), True, 1, None),
        (("t1", 0), False, 0, None),
    ]
    trace = store.load(one.run.id)
    assert one.trace == str(store.path(one.run.id))
    assert (len(trace.calls), one.run.calls, one.run.steps) == (2, [], trace.steps)
    assert one.models == [trace.calls[0].model]
    assert one.wall_s is not None
    assert one.wall_s >= one.run.usage.latency_s > 0
    assert list(store.open_runs()) == []


def test_every_trial_is_asked_once_whatever_the_number_of_threads(file: ResultFile):
    at_once = Barrier(8, timeout=20)

    def ask(trial: Trial, cancel: Cancel) -> Run:
        if trial.epoch == 0:
            at_once.wait()
        return answered(trial, cancel)

    assert run_trials(todo(8, epochs=2), ask, file, RUBRIC, concurrency=8).reason == "done"
    assert sorted(r.key for r in read(file)) == sorted((f"t{n}", epoch) for n in range(8) for epoch in range(2))
    assert {(r.epoch, r.seed) for r in read(file)} == {(0, 0), (1, 1)}
    assert file.path.read_text().count("\n") == 17


def test_trials_are_taken_when_their_turn_comes(file: ResultFile):
    taken, written = 0, 0

    def plan() -> Iterator[Trial]:
        nonlocal taken
        for trial in todo(20):
            taken += 1
            assert taken - written <= 3
            yield trial

    def count(_: Result) -> None:
        nonlocal written
        written += 1

    assert run_trials(plan(), answered, file, RUBRIC, concurrency=3, on_result=count).reason == "done"
    assert written == 20


def test_what_is_left_of_an_eval_is_asked_and_errors_again_on_demand(file: ResultFile):
    def ask(trial: Trial, cancel: Cancel) -> Run:
        return failed(trial, "TIMEOUT") if trial.task.id == "t1" else answered(trial, cancel)

    run_trials(todo(3), ask, file, RUBRIC)
    assert [trial.key for trial in remaining(todo(4), file)] == [("t3", 0)]
    again = list(remaining(todo(4), file, retry_errors=True))
    assert [trial.key for trial in again] == [("t1", 0), ("t3", 0)]
    run_trials(again, answered, file, RUBRIC)
    assert [(r.task.id, r.run.status) for r in read(file)] == [(f"t{n}", "completed") for n in range(4)]
    assert list(remaining(todo(4), file, retry_errors=True)) == []


def test_what_is_raised_ends_the_eval_and_the_others_are_kept(file: ResultFile):
    both, asked = Barrier(2, timeout=20), list[str]()

    def ask(trial: Trial, cancel: Cancel) -> Run:
        asked.append(trial.task.id)
        both.wait()
        if trial.task.id == "t1":
            raise ConfigurationError("there is no model")
        return answered(trial, cancel)

    with pytest.raises(ConfigurationError, match="there is no model"):
        run_trials(todo(2), ask, file, RUBRIC, concurrency=2)
    assert [r.task.id for r in read(file)] == ["t0"]


@pytest.mark.parametrize("fails_later", [False, True])
def test_the_first_error_is_raised_and_nothing_starts_after_it(fails_later: bool, file: ResultFile):
    both, asked = Barrier(2, timeout=20), list[str]()

    def ask(trial: Trial, cancel: Cancel) -> Run:
        asked.append(trial.task.id)
        both.wait()
        while trial.task.id == "t1" and len(eval_threads()) == 2:
            Event().wait(0.01)
        if trial.task.id == "t1":
            return answered(trial, cancel)
        raise ConfigurationError(f"{trial.task.id} cannot be asked")

    def refuse(_: Result) -> None:
        if fails_later:
            raise ValueError("later")

    with pytest.raises(ConfigurationError, match="t0 cannot be asked"):
        run_trials(todo(5), ask, file, RUBRIC, concurrency=2, on_result=refuse)
    assert sorted(asked) == ["t0", "t1"]


def eval_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("eval-")]


def test_a_result_that_cannot_be_written_ends_the_eval(file: ResultFile, tmp_path: Path):
    (tmp_path / "traces").write_text("in the way")
    with pytest.raises(StorageError, match="cannot open the trace"):
        run_trials(todo(2), answered, file, RUBRIC, store=TraceStore(tmp_path / "traces"))
    file.close()
    with pytest.raises(StorageError, match="is closed"):
        run_trials(todo(2), answered, file, RUBRIC)
    assert read(file) == []


def test_no_trial_starts_once_the_limit_on_the_cost_is_reached(file: ResultFile):
    def ask(trial: Trial, cancel: Cancel) -> Run:
        return answered(trial, cancel, cost=0.25)

    ending = run_trials(todo(9), ask, file, RUBRIC, limit_cost=0.75)
    assert ending == Ending("limit_cost", "0.75 USD were spent; the limit is 0.75 USD")
    assert [r.task.id for r in read(file)] == ["t0", "t1", "t2"]
    left = list(remaining(todo(4), file))
    assert run_trials(left, ask, file, RUBRIC, limit_cost=0.75).reason == "limit_cost"
    assert len(read(file)) == 3
    assert run_trials(left, ask, file, RUBRIC, limit_cost=1.0).reason == "done"
    assert run_trials([], ask, file, RUBRIC, limit_cost=0.75).reason == "done"


def test_a_limit_on_an_unknown_cost_cannot_be_held(file: ResultFile):
    def ask(trial: Trial, cancel: Cancel) -> Run:
        return answered(trial, cancel, cost=None)

    ending = run_trials(todo(3), ask, file, RUBRIC, limit_cost=5)
    assert ending.reason == "limit_cost"
    assert "the limit of 5 USD cannot be held: set the prices" in ending.message
    assert len(read(file)) == 1


def test_ten_runs_in_a_row_without_a_model_end_the_eval(file: ResultFile):
    def ask(trial: Trial, cancel: Cancel) -> Run:
        number = int(trial.task.id[1:])
        return answered(trial, cancel) if number == 4 else failed(trial, "AUTH" if number % 2 else "NO_SERVER")

    ending = run_trials(todo(20), ask, file, RUBRIC)
    assert ending == Ending("unreached", "10 runs in a row never reached a model: t14 had NO_SERVER")
    assert len(read(file)) == 15


@pytest.mark.parametrize(
    ("code", "lm_calls", "reason"),
    [
        ("MODEL_NOT_FOUND", 0, "unreached"),
        ("NO_SERVER", 1, "done"),
        ("MOCK_REFUSED", 0, "done"),
        ("TIMEOUT", 0, "done"),
    ],
)
def test_an_eval_in_which_no_model_answered_is_no_eval(code: str, lm_calls: int, reason: str, file: ResultFile):
    ending = run_trials(todo(3), lambda trial, _: failed(trial, code, lm_calls=lm_calls), file, RUBRIC)
    assert ending.reason == reason
    assert len(read(file)) == 3
    if reason == "unreached":
        assert ending.message == "no run reached a model: t2 had MODEL_NOT_FOUND"


def test_a_run_that_is_cancelled_leaves_no_result(file: ResultFile, store: TraceStore):
    cancel = Cancel()

    def script(request: Any) -> Any:
        if "5+1" in request.messages[-1]["content"]:
            cancel.set()
            return call("calculator", {"expression": "5+1"})
        return text("It is 1.")

    lm = ScriptedLM(script)
    ask = agent_ask(lambda seed: MicroAgent(lm=lm, rules=[]))
    assert run_trials(todo(9), ask, file, RUBRIC, store=store, cancel=cancel) == Ending("cancelled")
    assert [r.task.id for r in read(file)] == [f"t{n}" for n in range(5)]
    assert len(list(store.ids())) == 5
    assert run_trials(todo(1), ask, file, RUBRIC, cancel=cancel) == Ending("cancelled")


def test_a_run_that_hangs_is_not_waited_for_after_a_cancel(file: ResultFile):
    cancel, let_go = Cancel(), Event()
    seen: list[Result] = []

    def ask(trial: Trial, given: Cancel) -> Run:
        if trial.task.id == "t1":
            let_go.wait(0.3)
            given.set()
            let_go.wait(30)
        return answered(trial, given)

    assert run_trials(todo(5), ask, file, RUBRIC, cancel=cancel, on_result=seen.append) == Ending("cancelled")
    let_go.set()
    for thread in eval_threads():
        thread.join(30)
    assert [r.task.id for r in seen] == ["t0"]
    assert [r.task.id for r in read(file)] == ["t0"]


def test_ctrl_c_without_a_handler_cancels_the_runs_and_goes_on_up(file: ResultFile):
    cancel = Cancel()

    def ask(trial: Trial, given: Cancel) -> Run:
        os.kill(os.getpid(), signal.SIGINT)
        assert given.wait(30)
        return answered(trial, given)

    with pytest.raises(KeyboardInterrupt):
        run_trials(todo(5), ask, file, RUBRIC, cancel=cancel)
    assert cancel.is_set()


def test_there_is_at_least_one_thread(file: ResultFile):
    with pytest.raises(ConfigurationError, match="concurrency must be at least 1, not 0"):
        run_trials(todo(1), answered, file, RUBRIC, concurrency=0)


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_each_epoch_sends_its_seed_and_no_seed_sends_none(provider: str, file: ResultFile):
    with ModelServer([text("1") if provider == "openai" else final("1")], repeat=True) as server:
        url = server.openai_url if provider == "openai" else server.url
        lm = configure_lm(provider, "scripted", url, fallback=False)
        ask = agent_ask(lambda seed: MicroAgent(lm=lm if seed is None else lm.copy(seed=seed), rules=[]))
        run_trials(trials(tasks(1), 3, 7, seeded=True), ask, file, RUBRIC)
        run_trials(todo(1), ask, file, RUBRIC)
        bodies = [chat.body or {} for chat in server.chats]
    sent = [(body if provider == "openai" else body["options"]).get("seed") for body in bodies]
    assert sent == [7, 8, 9, None]
