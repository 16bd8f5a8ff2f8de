"""Recorded runs driven through today's loop: where nothing has changed, none of them differs."""

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micro_agent import MicroAgent, Run
from micro_agent.cancel import RunInterrupted
from micro_agent.replay import Verdict, verify
from micro_agent.testing import Reply, ScriptedLM, call, calls, decision, error, final, text

if TYPE_CHECKING:
    from tests.replay.conftest import Recorder

PLAIN = "Which letters did you find?"


def one(run: Run, agent: MicroAgent, **options: Any) -> Verdict:
    """The verdict on one run; what it says fits on a screen."""
    (verdict,) = verify([run], agent, **options)
    lines = list(verdict.lines())
    assert len(lines) <= 12
    assert all(len(line) <= 260 for line in lines)
    return verdict


def test_a_run_of_any_kind_replays_as_it_was_recorded(recorded_run: Run, today: MicroAgent) -> None:
    """Also one that was killed, as far as it is on record, wherever the kill landed: after a reply, after a step."""
    verdict = one(recorded_run, today)
    assert "\n".join(verdict.lines()) == f"same  {recorded_run.id}"
    nothing: dict[str, Any] = {"status": "running", "termination_reason": None, "answer": None, "model_answer": None}
    nothing |= {"confirmation": None, "error": None}
    for steps in range(len(recorded_run.steps) + 1):
        replies = max((step.call + 1 for step in recorded_run.steps[:steps] if step.call is not None), default=0)
        cut = {"steps": recorded_run.steps[:steps], "calls": recorded_run.calls[:replies], **nothing}
        assert one(recorded_run.model_copy(update=cut), today).outcome == "same"
    assert one(recorded_run.model_copy(update=nothing), today).outcome == "same"


def test_one_whose_end_could_not_be_stored_replays_as_far_as_it_is_on_record(
    recorder: "Recorder", today: MicroAgent
) -> None:
    run = recorder.ask(PLAIN, recorder.call("lookup", {"number": 1}), recorder.answer())
    end = {"status": "failed", "termination_reason": "storage_error", "answer": None, "model_answer": None}
    full = run.model_copy(update={**end, "error": {"code": "STORAGE_ERROR", "message": "the disk is full"}})
    assert one(full, today).outcome == "same"
    assert one(full.model_copy(update={"steps": [], "calls": full.calls[:1]}), today).outcome == "same"


def test_one_that_was_broken_off_and_resumed_replays(native: "Recorder", today: MicroAgent) -> None:
    """The kill came before its end was written: what was never run stands in the middle of it."""
    agent = native.agent(calls(("shout", {"word": "stop"}), ("lookup", {"number": 1})), text("Done."))
    with pytest.raises(RunInterrupted) as stopped:
        agent.ask(PLAIN)
    run = stopped.value.run
    run.status, run.termination_reason, run.error = "running", None, None
    native.store.start(run).close()
    done = native.store.load(agent.resume(run.id).id)
    assert [step.error for step in done.steps] == ["INTERRUPTED", "NOT_RUN"]
    assert (done.answer, one(done, today).outcome) == ("Done.", "same")


def look_up(number: Any) -> Reply:
    return call("lookup", {"number": number})


def decide(number: Any) -> Reply:
    return decision("lookup", {"number": number})


def do_both(number: Any, word: str) -> Reply:
    return calls(("lookup", {"number": number}), ("shout", {"word": word}))


def send(word: str) -> Reply:
    return decision("send", {"word": word})


WORDS = st.sampled_from(["a", "b", "", "\ud800", "7", '{"tool"', "<think>", "```json\n"])
NUMBERS = st.one_of(st.integers(-2, 2), st.floats(), st.text("12x", max_size=2), st.none(), st.just([1]))
REPLIES = st.one_of(
    st.builds(text, WORDS),
    st.builds(text, WORDS, finish_reason=st.sampled_from(["stop", "length", None, "content_filter"])),
    st.builds(final, WORDS),
    st.builds(call, st.sampled_from(["shout", "no-such", ""]), WORDS),
    NUMBERS.map(look_up),
    st.integers(-2, 2).map(decide),
    st.builds(do_both, NUMBERS, WORDS),
    WORDS.map(send),
    st.just(error(400, "no", code="context_length_exceeded")),
)


@settings(max_examples=12)
@given(script=st.lists(REPLIES, max_size=8), mode=st.sampled_from(["native", "json"]), question=WORDS)
def test_whatever_a_model_says_the_run_replays(script: list[Reply], mode: Any, question: str, everything: Any) -> None:
    tools, agent, store = everything
    made = MicroAgent(tools=tools, lm=ScriptedLM(script, mode=mode), traces=store, confirm="never").ask(question)
    verdict = one(store.load(made.id), agent)
    assert (verdict.outcome, verdict.notes) == ("same", [])
