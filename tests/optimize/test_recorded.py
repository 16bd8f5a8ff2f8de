"""Recorded runs as training examples: successful ones, and nothing of what is held out."""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from micro_agent import MicroAgent, Run
from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.task import Task
from micro_agent.optimize.recorded import Recorded, recorded, task_of
from micro_agent.testing import Reply, ScriptedLM, call, text
from micro_agent.traces import TraceStore

TOOLS = ("calculator", "now")
SUM = [call("calculator", {"expression": "17*3"}), text("That makes 51.")]


def asked(store: TraceStore, question: str, *script: Reply, **agent: Any) -> Run:
    return MicroAgent(lm=ScriptedLM(script), traces=store, **agent).ask(question)


def found(store: TraceStore, held_out: Sequence[Task] = ()) -> Recorded:
    return recorded(f"{store.directory}/*.jsonl", tools=TOOLS, held_out=held_out)


def test_a_run_becomes_a_task_that_expects_what_it_shows(store: TraceStore) -> None:
    run = asked(store, "What is 17*3?", *SUM)
    ((task, same),) = found(store).examples
    assert same == run
    assert task == task_of(run)
    assert (task.question, task.expect_tools, task.expect_observed) == ("What is 17*3?", ["calculator"], ["calculator"])
    plain = asked(store, "Who wrote Hamlet?", text("Shakespeare."))
    assert (task_of(plain).expect_tools, task_of(plain).expect_observed) == ([], None)


def test_the_value_of_an_own_tool_is_expected_where_the_answer_tells_it(store: TraceStore) -> None:
    def price(what: str) -> dict[str, str]:
        """The price."""
        return {"value": "7 euros"}

    script = [call("price", {"what": "tea"}), text("It costs 7 euros.")]
    assert task_of(asked(store, "Which price?", *script, tools=[price])).expect_observed == ["price"]
    script = [call("price", {"what": "tea"}), text("Cheap.")]
    assert task_of(asked(store, "Which price?", *script, tools=[price])).expect_observed is None


def test_what_is_left_out_is_counted_and_said(store: TraceStore) -> None:
    asked(store, "What is 17*3?", *SUM)
    asked(store, " what is 17*3? ", *SUM)
    asked(store, "What is 2*3?", call("calculator", {"expression": "2*3"}), text("That makes 51."))
    asked(store, "What is 4*3?", text("12"), call("calculator", {"expression": "4*3"}), text("That makes 12."))
    asked(store, "What is 5*3?", call("calculator", {"expression": "5*3"}), text("That makes 15."))

    def price() -> int:
        """The price."""
        return 7

    asked(store, "Which price?", call("price", {}), text("7"), tools=[price])
    MicroAgent(lm=ScriptedLM(SUM), traces=store).ask("17*3?", history=[{"role": "user", "content": "Hi."}])
    broken = json.loads(store.path(asked(store, "Who wrote Hamlet?", text("Shakespeare.")).id).read_text())
    del broken["calls"][0]["decision"]["final"]
    (store.directory / "broken.jsonl").write_text(json.dumps(broken))
    (store.directory / "silent.jsonl").write_text(json.dumps({**broken, "question": "Who?", "calls": []}))
    (store.directory / "empty.jsonl").write_text("")
    (store.directory / "torn.jsonl").write_text('{"id": "')
    held_out = [Task(id="t", question="What is 5*3?", expect_contains=["15"])]
    learned = found(store, held_out=held_out)
    assert {run.question.strip().lower() for _, run in learned.examples} == {"what is 17*3?"}
    assert learned.told() == (
        "1 recorded runs to learn from (left out: 1 asked after other turns, 1 damaged, "
        "1 of a question that is held out, 1 of the same question, 2 unreadable, 2 unsuccessful, "
        "1 with nothing to show, 1 with tools that are not there, 1 without replies)"
    )


def test_the_latest_record_of_a_file_counts(store: TraceStore) -> None:
    run = asked(store, "What is 17*3?", *SUM)
    store.append(run.model_copy(update={"status": "stopped"}))
    assert found(store).told() == "0 recorded runs to learn from (left out: 1 unsuccessful)"


def test_a_pattern_that_matches_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no file matches"):
        recorded(f"{tmp_path}/*.jsonl", tools=TOOLS)


@pytest.mark.torture
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(
        st.sampled_from(["steps", "calls", "status", "model_answer", "question"]),
        st.recursive(st.none() | st.text() | st.integers() | st.just("completed"), lambda inner: st.lists(inner)),
    ),
    st.lists(st.fixed_dictionaries({
        "reply": st.dictionaries(st.sampled_from(["text", "tool_calls"]), st.integers() | st.text() | st.none()),
        "decision": st.dictionaries(
            st.sampled_from(["final", "tool_calls"]), st.text() | st.none() | st.lists(st.just("x"))
        ),
    })),
)  # fmt: skip
def test_no_record_makes_it_fail(fields: dict[str, Any], calls: list[Any]) -> None:
    record = {"question": "Who?", "status": "completed", "model_answer": "He.", "calls": calls, **fields}
    steps = [{"tool": "⚠️warning", "call": 5}]
    with TemporaryDirectory() as folder:
        Path(folder, "a.jsonl").write_text(json.dumps(record))
        Path(folder, "b.jsonl").write_text(json.dumps({**record, "steps": steps}))
        learned = recorded(f"{folder}/*.jsonl", tools=TOOLS)
    assert len(learned.examples) + learned.skipped.total() == 2
