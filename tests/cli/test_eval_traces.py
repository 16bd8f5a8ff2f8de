"""`micro-agent eval score` of recorded runs: paired with tasks by their question, and a result file as any other."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent.evaluation.result import Result
from micro_agent.evaluation.results import read_results
from micro_agent.run import LMCall, Run, Usage
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from tests.cli.conftest import Command

TASKS = [
    {"id": "sum", "question": "What is 2+3?", "expect_number": 5, "tags": "sums"},
    {"id": "capital", "question": "What is the capital\nof Japan?", "expect_contains": "Tokyo"},
    {"id": "never", "question": "Who asks this?", "expect_contains": "nobody"},
]


@pytest.fixture
def score(command: "Command") -> "Command":
    """``micro-agent eval score`` beside a file of three tasks."""
    Path("tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in TASKS))
    return partial(command, "eval", "score")


@pytest.fixture
def ran(score: "Command", tmp_path: Path) -> Callable[..., Run]:
    """Writes down a run as `ask` does; the last record of a run is how it stands."""
    store = TraceStore("traces", state_dir=tmp_path / "state")

    def ran(question: str, answer: str | None, **given: Any) -> Run:
        end: dict[str, Any] = {"status": "completed", "termination_reason": "final"}
        call = LMCall(reply={"text": answer}, model="small:1b")
        run = Run(
            question=question, answer=answer, model_answer=answer, provider="ollama", calls=[call],
            usage=Usage(lm_calls=1, cost_usd=0.0, latency_s=0.5), **end | given,
        )  # fmt: skip
        store.append(run)
        return run

    return ran


def results(name: str = "s.jsonl") -> list[Result]:
    return list(read_results(name)[1])


def outcomes(name: str = "s.jsonl") -> set[tuple[str, int, bool]]:
    return {(one.task.id, one.epoch, one.success) for one in results(name)}


SCORE = ["--tasks", "tasks.jsonl", "--out", "s.jsonl"]


def test_recorded_runs_are_scored_by_the_tasks_that_ask_their_questions(score: "Command", ran: Callable[..., Run]):
    right = ran("What is 2+3?", "5")
    ran("What  is 2+3? ", "6")
    ran("What is the capital of Japan?", "Tokyo.")
    ran("Something else?", "5")
    ran("What is 2+3?", "5", follows=right.id)  # in a conversation, another question
    done = score("traces/*.jsonl", *SCORE)
    assert done.code == 0
    assert done.out.startswith("success_rate: 0.667 ")
    assert "n: 3  (2 tasks, 2 epochs, 1 trial without a result)" in done.out
    assert done.err.splitlines() == [
        "3 runs scored: 3 trials of 2 tasks.",
        "2 runs without a task: no task asks the same question.",
        "1 of 3 tasks without a run: never",
        "Results: s.jsonl",
    ]
    assert {outcome[::2] for outcome in outcomes()} == {("sum", True), ("sum", False), ("capital", True)}
    one = next(one for one in results() if one.run.id == right.id)
    assert (one.models, one.trace, one.wall_s, one.run.calls) == (["small:1b"], f"traces/{right.id}.jsonl", None, [])
    assert not list(Path().glob(".*.tmp"))


def test_what_was_scored_is_reported_compared_and_scored_again(
    score: "Command", command: "Command", ran: Callable[..., Run]
):
    ran("What is 2+3?", "6")
    score("traces", *SCORE)
    Path("rubrics.yaml").write_text("pass_score: 0.5\n")
    assert score("traces", "--tasks", "tasks.jsonl", "--json").out.startswith('{"success_rate":')
    (named,) = Path("evals/results").glob("*.jsonl")
    assert read_results(named)[0].rubric.pass_score == 0.5
    assert command("eval", "report", "s.jsonl", "--html", "s.html").code == 0
    page = Path("s.html").read_text()
    assert "500 ms in the run" in page.replace("0.50\N{NO-BREAK SPACE}s", "500 ms")
    assert "on the clock" not in page
    assert "No result yet" in page
    ran("What is 2+3?", "5")
    better = score("traces", "--tasks", "tasks.jsonl", "--rubrics", "rubrics.yaml", "--out", "b.jsonl")
    assert better.code == 0
    compared = command("eval", "compare", str(named), "b.jsonl")
    assert (compared.code, "gained: 1" in compared.out) == (0, True)
    again = score("s.jsonl")
    assert (again.code, again.err.splitlines()[-1]) == (0, "Results: s.rescored.jsonl")
    assert command("eval", "run", "--resume", "s.jsonl").code == 2


def test_a_run_that_did_not_end_is_counted_and_not_scored(score: "Command", ran: Callable[..., Run]):
    ended = ran("What is 2+3?", None, status="confirmation_required", termination_reason="confirmation_required")
    ran("What is 2+3?", "5", id=ended.id)
    ran("What is 2+3?", None, status="confirmation_required", termination_reason="confirmation_required")
    ran("What is 2+3?", None, status="running", termination_reason=None)
    ran("What is 2+3?", None, status="stopped", termination_reason="cancelled")
    ran("What is 2+3?", None, status="stopped", termination_reason="max_steps")
    done = score("traces", *SCORE)
    assert "3 runs that did not end, not scored: " in done.err
    assert {"confirmation_required 1", "running 1", "cancelled 1"} <= set(
        done.err.split("not scored: ")[1].splitlines()[0].removesuffix(".").split(", ")
    )
    assert sorted(one.success for one in results()) == [False, True]


def test_one_file_may_hold_many_runs_and_a_run_counts_once(score: "Command", ran: Callable[..., Run]):
    paused = ran("What is 2+3?", None, status="confirmation_required")
    ran("What is 2+3?", "5")
    whole = "".join(path.read_text() for path in Path("traces").iterdir())
    Path("all.jsonl").write_text(whole + (paused.model_copy(update={"status": "completed"})).model_dump_json() + "\n")
    done = score("all.jsonl", "traces", *SCORE)
    assert done.err.splitlines()[0] == "2 runs scored: 2 trials of 1 task."
    assert outcomes() == {("sum", 0, True), ("sum", 1, False)}
    assert score("all.jsonl", "--tasks", "tasks.jsonl", "--out", "alone.jsonl").code == 0
    assert len(results("alone.jsonl")) == 2


def test_a_question_of_two_tasks_is_a_trial_of_both(score: "Command", ran: Callable[..., Run]):
    with Path("tasks.jsonl").open("a") as file:
        file.write(json.dumps({"id": "strict", "question": "What is 2+3?", "expect_tools": "calculator"}) + "\n")
    ran("What is 2+3?", "5")
    done = score("traces", *SCORE)
    ran("What is the capital of Japan?", "Kyoto")
    ran("Who asks this?", "nobody")
    whole = score("traces", "--tasks", "tasks.jsonl", "--out", "whole.jsonl")
    assert whole.err.splitlines() == ["3 runs scored: 4 trials of 4 tasks.", "Results: whole.jsonl"]
    assert done.err.splitlines()[0] == "1 run scored: 2 trials of 2 tasks."
    assert outcomes() == {("sum", 0, True), ("strict", 0, False)}


def test_what_cannot_be_read_is_said_and_the_rest_goes_on(score: "Command", ran: Callable[..., Run]):
    trace = Path(f"traces/{ran('What is 2+3?', '5').id}.jsonl")
    Path("traces/empty.jsonl").touch()
    with trace.open("a") as file:
        file.write("{}\n" * 11 + '{"id": "cut o')
    done = score("traces", *SCORE)
    assert done.code == 0
    lines = done.err.splitlines()
    assert f"{trace}, line 2: not a run: question: Field required" in lines
    assert lines[10:12] == ["… and 3 more lines without a run", "1 run scored: 1 trial of 1 task."]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["traces"], "name them, --tasks FILE"),
        (["nowhere/*.jsonl", *SCORE], "no trace is named nowhere/*.jsonl"),
        (["traces", "nowhere.jsonl", *SCORE], "no trace is named nowhere.jsonl"),
        (["traces", "--tasks", "tasks.jsonl", "--out", "tasks.jsonl"], "tasks.jsonl is there already"),
        (["traces", *SCORE], "nothing to score: 0 runs scored: 0 trials of 0 tasks. 1 run without a task"),
    ],
)
def test_what_gives_no_figures_is_refused_and_leaves_nothing(
    args: list[str], says: str, score: "Command", ran: Callable[..., Run]
):
    ran("Something else?", "5")
    before = sorted(Path().rglob("*"))
    done = score(*args)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert sorted(Path().rglob("*")) == before


def test_a_trace_in_the_place_of_a_result_file_is_told_apart(
    score: "Command", command: "Command", ran: Callable[..., Run]
):
    trace = f"traces/{ran('What is 2+3?', '5').id}.jsonl"
    shown = command("eval", "report", trace)
    assert (shown.code, "micro-agent eval score FILE --tasks TASKS" in shown.err) == (1, True)
    assert score(trace, *SCORE).code == 0
    assert score("no-such-file.jsonl").code == 1
    Path("words.jsonl").write_text("no line of this is JSON\n")
    assert (score("words.jsonl").code, "is not a result file" in score("words.jsonl").err) == (1, True)
