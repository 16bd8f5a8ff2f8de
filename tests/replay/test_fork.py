"""Going on live from the middle of a recorded run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent import Limits, MicroAgent, Run
from micro_agent.errors import ConfigurationError
from micro_agent.models import load_settings
from micro_agent.replay import fork, verify
from micro_agent.rules import AfterStep, Event, Stop
from micro_agent.run import CONFIRMATION_REQUIRED, CONTEXT_TRIMMED, WARNING, Step
from micro_agent.testing import ScriptedLM, call, calls, decision, error, final, text

if TYPE_CHECKING:
    from tests.replay.conftest import Recorder

PLAIN = "Which letters did you find?"


@pytest.fixture
def three(recorder: "Recorder") -> Run:
    """Three look-ups, then the answer."""
    asked = [recorder.call("lookup", {"number": number}) for number in (1, 2, 3)]
    return recorder.ask(PLAIN, *asked, recorder.answer())


def observed(run: Run) -> list[Any]:
    return [step.observation for step in run.steps]


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_fork_begins_with_the_first_steps_and_goes_on_live(
    at: int, recorder: "Recorder", three: Run, today: MicroAgent
) -> None:
    agent = recorder.agent(recorder.call("shout", {"word": "b"}), recorder.answer("Otherwise."))
    made = fork(three, at, agent)
    assert (made.status, made.answer, made.parent) == ("completed", "Otherwise.", three.id)
    assert made.id != three.id
    assert made.steps[:at] == three.steps[:at]
    assert made.calls[:at] == three.calls[:at]
    assert observed(made)[at:] == ["B"]
    assert (made.usage.lm_calls, made.usage.tool_calls) == (at + 2, at + 1)
    assert made.usage.input_tokens == 10 * (at + 2)
    assert recorder.store.load(made.id) == made
    (verdict,) = verify([made], today)
    assert (verdict.outcome, verdict.notes) == ("same", [])


def test_the_model_sees_the_steps_that_were_copied(native: "Recorder") -> None:
    run = native.ask(PLAIN, call("lookup", {"number": 1}, id="c1"), call("lookup", {"number": 2}), text("Done."))
    lm = ScriptedLM([text("So.")])
    fork(run, 1, MicroAgent(tools=[], lm=lm, rules=[]))
    said = lm.messages(0)
    assert [message["role"] for message in said[-3:]] == ["user", "assistant", "tool"]
    assert said[-1]["content"] == '{"found": 2}'


def test_a_fork_may_go_on_in_the_other_mode(recorder: "Recorder", three: Run, today: MicroAgent) -> None:
    other: Any = "json" if recorder.mode == "native" else "native"
    lm = ScriptedLM([decision("lookup", {"number": 9}), final("So.")], mode=other)
    tools = list(today._setup.tools.values())  # pyright: ignore[reportPrivateUsage]
    made = fork(three, 2, MicroAgent(tools=tools, lm=lm, traces=recorder.store))
    assert [(made_call.mode) for made_call in made.calls] == [recorder.mode] * 2 + [other] * 2
    (verdict,) = verify([recorder.store.load(made.id)], today)
    assert verdict.outcome == "same"


def test_a_fork_on_a_model_with_another_context_replays(recorder: "Recorder", today: MicroAgent) -> None:
    """What was copied was shown to another model, cut for another context: it is taken as given."""
    pages = [recorder.call("page", {"number": number}) for number in range(9)]
    lengths = [load_settings().model_copy(update={"context_length": length}) for length in (4000, 6000)]
    limits = Limits(max_steps=20)
    run = recorder.ask(PLAIN, *pages, recorder.answer(), settings=lengths[0], limits=limits)
    assert CONTEXT_TRIMMED in [step.tool for step in run.steps]
    for at in (2, len(run.steps)):
        for settings in lengths:
            made = fork(run, at, recorder.agent(*pages, recorder.answer(), settings=settings))
            assert made.status == "completed"
            (verdict,) = verify([recorder.store.load(made.id)], today)
            assert "\n".join(verdict.lines()) == f"same  {made.id}"


def test_tools_that_were_used_before_the_fork_need_not_be_there(recorder: "Recorder", three: Run) -> None:
    lm = ScriptedLM([recorder.answer("So.")], mode=recorder.mode)
    made = fork(three, 1, MicroAgent(tools=[], rules=[], lm=lm))
    (verdict,) = verify([made], MicroAgent(tools=[], rules=[]))
    assert verdict.outcome == "same"


def test_calls_of_a_reply_that_come_after_the_step_are_made_anew(native: "Recorder", today: MicroAgent) -> None:
    asked = calls(("lookup", {"number": 1}), ("shout", {"word": "a"}), ("lookup", {"number": 3}))
    run = native.ask(PLAIN, asked, text("Done."))
    made = fork(run, 1, native.agent(text("So.")))
    assert observed(made) == [{"found": 2}, "A", {"found": 6}]
    assert [step.call for step in made.steps] == [0, 0, 0]
    (verdict,) = verify([made], today)
    assert verdict.outcome == "same"


def test_what_the_loop_said_about_the_last_step_is_kept_with_it(recorder: "Recorder", today: MicroAgent) -> None:
    same = [recorder.call("lookup", {"number": 1})] * 4
    run = recorder.ask(PLAIN, *same, recorder.answer())
    assert run.steps[3].tool == WARNING
    made = fork(run, 3, recorder.agent(recorder.answer()))
    assert [step.tool for step in made.steps] == ["lookup"] * 3 + [WARNING]
    (verdict,) = verify([made], today)
    assert verdict.outcome == "same"


def test_a_run_that_was_stopped_by_a_limit_goes_on_under_another(recorder: "Recorder", today: MicroAgent) -> None:
    asked = [recorder.call("lookup", {"number": number}) for number in range(2)]
    run = recorder.ask(PLAIN, *asked, limits=Limits(max_steps=2))
    with pytest.raises(ConfigurationError, match=r"the limits leave nothing to do after step 2: .*max_steps is 2"):
        fork(run, 2, recorder.agent())
    made = fork(run, 2, recorder.agent(recorder.answer()), limits=Limits(max_steps=3))
    assert (made.status, made.limits["max_steps"]) == ("completed", 3)
    (verdict,) = verify([made], today)
    assert verdict.outcome == "same"


def test_the_limits_are_those_of_the_run_if_none_are_given(recorder: "Recorder") -> None:
    run = recorder.ask(PLAIN, recorder.call("lookup", {"number": 1}), recorder.answer(), limits=Limits(max_steps=2))
    made = fork(run, 1, recorder.agent(recorder.call("lookup", {"number": 2})))
    assert (made.termination_reason, len(made.steps)) == ("max_steps", 2)


def stops(run: Run, event: Event) -> Stop | None:
    """A rule that stops every run after its first step."""
    return Stop("enough", "It is enough.") if isinstance(event, AfterStep) else None


def test_where_there_is_no_going_on_it_says_why(native: "Recorder", three: Run) -> None:
    for at in (-1, 4):
        with pytest.raises(ConfigurationError, match="has 3 steps: it can be forked at 0 to 3"):
            fork(three, at, native.agent())
    limited = native.ask(PLAIN, calls(("lookup", {"number": 1}), ("lookup", {"number": 2})), limits=Limits(max_steps=1))
    with pytest.raises(ConfigurationError, match=r"step 2 of run \w+ was never run: fork it at 1 or before"):
        fork(limited, 2, native.agent())
    stuck = native.ask("What is 6*7?", *[text(str(number)) for number in range(6)])
    assert stuck.termination_reason == "policy"
    with pytest.raises(ConfigurationError, match=r"was stopped at step \d \(policy\): fork it before"):
        fork(stuck, len(stuck.steps), native.agent())
    stopped = native.ask(PLAIN, call("lookup", {"number": 1}), rules=[stops])
    with pytest.raises(ConfigurationError, match=r"was stopped at step 2 \(enough\)"):
        fork(stopped, 1, native.agent())
    strange = three.model_copy(update={"limits": {"max_fun": 3}})
    with pytest.raises(ConfigurationError, match="limits that this version does not know"):
        fork(strange, 1, native.agent())


def test_a_fork_that_was_killed_is_resumed(recorder: "Recorder", three: Run, today: MicroAgent) -> None:
    """Its journal starts with a run that has steps already; the kill came before its first reply."""
    agent = recorder.agent(recorder.call("shout", {"word": "b"}), recorder.answer("Otherwise."))
    from micro_agent.replay.branch import begin

    killed = begin(three, 2)
    killed.parent, killed.mode = three.id, recorder.mode
    recorder.store.start(killed).close()
    assert [run.id for run in recorder.store.open_runs()] == [killed.id]
    done = agent.resume(killed.id)
    assert (done.answer, done.parent, observed(done)) == ("Otherwise.", three.id, [{"found": 2}, {"found": 4}, "B"])
    assert done.usage.lm_calls == 4
    (verdict,) = verify([recorder.store.load(killed.id)], today)
    assert verdict.outcome == "same"


def test_a_fork_that_pauses_is_resumed(native: "Recorder", three: Run) -> None:
    agent = native.agent(call("send", {"word": "b"}), text("Sent."))
    paused = fork(three, 1, agent)
    assert paused.status == "confirmation_required"
    from micro_agent.effects import Approval

    done = agent.resume(paused.id, Approval("approve"))
    assert (done.answer, done.parent, done.usage.lm_calls) == ("Sent.", three.id, 3)


def test_a_fork_can_pause_where_its_parent_paused(native: "Recorder", today: MicroAgent) -> None:
    run = native.ask(PLAIN, call("send", {"word": "a"}))
    assert [step.tool for step in run.steps] == [CONFIRMATION_REQUIRED]
    made = fork(run, 1, native.agent())
    assert (made.status, len(made.steps)) == ("confirmation_required", 1)
    (verdict,) = verify([native.store.load(made.id)], today)
    assert verdict.outcome == "same"


def test_what_happens_in_a_fork_is_told(native: "Recorder", three: Run) -> None:
    steps: list[Step] = []
    fork(three, 1, native.agent(call("lookup", {"number": 7}), text("Done.")), on_step=steps.append)
    assert [step.observation for step in steps] == [{"found": 14}]


def test_a_fork_fails_as_any_run(native: "Recorder", three: Run, tmp_path: Path) -> None:
    made = fork(three, 1, native.agent(error(401, "who are you?")))
    assert (made.status, made.termination_reason, made.parent) == ("failed", "lm_error", three.id)
    assert len(made.steps) == 1
