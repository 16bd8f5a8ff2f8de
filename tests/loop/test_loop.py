"""The loop, through the agent: decisions become steps, rules and limits hold, every call is answered once."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from micro_agent import Limits, MicroAgent, Run, tool
from micro_agent.effects import Act, Approval, Confirm, Failure, Plan
from micro_agent.loop.agent_loop import AgentLoop
from micro_agent.rules import (
    AfterStep,
    Amend,
    BeforeFinish,
    BeforeTool,
    Event,
    Rule,
    Stop,
    Verdict,
    Violation,
    Warn,
    repetition,
)
from micro_agent.run import (
    MALFORMED_DECISION,
    NO_ACTION,
    POLICY_VIOLATION,
    REPETITION,
    VALIDATION_ERROR,
    WARNING,
    LMCall,
    Mode,
)
from micro_agent.testing import Reply, ScriptedLM, call, calls, decision, final, malformed, text
from micro_agent.tools import Outcome


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail() -> int:
    """Fail."""
    raise RuntimeError("broken")


def ask(
    script: list[Reply], *, rules: list[Rule] | None = None, limits: Limits | None = None, mode: Mode = "native"
) -> tuple[Run, Any]:
    """The run of a script, and the model with its requests."""
    lm = ScriptedLM(script, mode=mode)
    return MicroAgent(tools=[add, fail], lm=lm, rules=rules or [], limits=limits).ask("What is 1 + 2?"), lm


def once(event_type: type, verdict: Verdict) -> Rule:
    """A rule that has its say at the first such event of a run."""

    def rule(run: Run, event: Event) -> Verdict | None:
        said = any(step.tool in (POLICY_VIOLATION, WARNING) for step in run.steps)
        return verdict if isinstance(event, event_type) and not said else None

    return rule


def always(event_type: type, verdict: Verdict) -> Rule:
    def rule(run: Run, event: Event) -> Verdict | None:
        return verdict if isinstance(event, event_type) else None

    return rule


def tools_of(run: Run) -> list[str]:
    return [step.tool for step in run.steps]


def test_an_answer_ends_the_run() -> None:
    run, _ = ask([text("Three.")])
    assert (run.status, run.termination_reason, run.answer, run.model_answer) == (
        "completed",
        "final",
        "Three.",
        "Three.",
    )
    assert (run.steps, run.usage.lm_calls, run.usage.tool_calls) == ([], 1, 0)


def test_a_tool_step_has_everything_that_was_asked_and_seen() -> None:
    run, lm = ask([call("add", {"a": "1", "b": 2}, id="abc"), text("3")])
    (step,) = run.steps
    assert (step.tool, step.args, step.observation, step.call, step.call_id) == ("add", {"a": 1, "b": 2}, 3, 0, "abc")
    assert step.ok
    assert step.error is None
    assert step.latency_s is not None
    assert [one["path"] for one in step.coercions] == ["a"]
    assert run.usage.tool_calls == 1
    assert (run.usage.input_tokens, run.usage.output_tokens, run.usage.cost_usd) == (20, 10, None)
    assert lm.messages(1)[-1] == {"role": "tool", "tool_call_id": "abc", "content": "3"}


def test_a_tool_that_fails_is_an_observation() -> None:
    run, _ = ask([call("fail", {}), text("It fails.")])
    assert run.status == "completed"
    assert (run.steps[0].ok, run.steps[0].error) == (False, "TOOL_EXCEPTION")
    assert run.usage.tool_calls == 1


def test_several_calls_become_steps_in_order_and_each_id_is_answered_before_anything_else() -> None:
    run, lm = ask([calls(("add", {"a": 1, "b": 2}), ("nope", {}), ("add", {"a": "x"}), ("fail", {})), text("3")])
    assert tools_of(run) == ["add", VALIDATION_ERROR, VALIDATION_ERROR, "fail"]
    assert [step.error for step in run.steps] == [None, "UNKNOWN_TOOL", "VALIDATION_FAILED", "TOOL_EXCEPTION"]
    assert {step.call for step in run.steps} == {0}
    asked, *answers = lm.messages(1)[2:]
    assert [one["id"] for one in asked["tool_calls"]] == [one["tool_call_id"] for one in answers]
    assert [one["role"] for one in answers] == ["tool"] * 4


def test_every_step_is_said_to_the_model_once() -> None:
    _, lm = ask([call("add", {"a": n, "b": 2}, id=f"x{n}") for n in range(3)] + [text("4")])
    said = lm.messages(3)
    assert [one["role"] for one in said] == ["system", "user"] + ["assistant", "tool"] * 3
    assert [one["tool_call_id"] for one in said if one["role"] == "tool"] == ["x0", "x1", "x2"]


def test_the_model_recovers_from_arguments_that_do_not_fit() -> None:
    run, lm = ask([call("add", {"a": 1}), call("ad", {}), call("add", {"a": 1, "b": 2}), text("3")])
    assert (run.status, tools_of(run)) == ("completed", [VALIDATION_ERROR, VALIDATION_ERROR, "add"])
    assert run.steps[0].args == {"tool": "add", "args": {"a": 1}}
    assert "missing required argument 'b'" in lm.messages(1)[-1]["content"]
    assert '"closest": ["add"]' in lm.messages(2)[-1]["content"]


@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_violation_before_a_tool_is_told_and_the_tool_not_run(mode: Mode) -> None:
    said = call if mode == "native" else decision
    run, lm = ask(
        [said("fail", {}), said("add", {"a": 1, "b": 2}), text("3")],
        rules=[once(BeforeTool, Violation("Not this tool."))],
        mode=mode,
    )
    assert (run.status, tools_of(run)) == ("completed", [POLICY_VIOLATION, "add"])
    assert (run.steps[0].error, run.usage.tool_calls) == ("POLICY", 1)
    assert lm.messages(1)[-1]["content"] == "Policy: Not this tool."


@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_violation_before_finishing_is_told_and_the_run_goes_on(mode: Mode) -> None:
    run, lm = ask(
        [text("Three."), text("It is three.")], rules=[once(BeforeFinish, Violation("Use add first."))], mode=mode
    )
    assert (run.answer, tools_of(run)) == ("It is three.", [POLICY_VIOLATION])
    assert run.steps[0].args == {"answer": "Three."}
    said, told = lm.messages(1)[-2:]
    assert said["content"] == ("Three." if mode == "native" else '{"final": {"answer": "Three."}}')
    assert told == {"role": "user", "content": "Policy: Use add first."}


@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_bad_call_is_told_with_the_same_code_in_both_modes(mode: Mode) -> None:
    say = call if mode == "native" else decision
    script = [say("add", {"a": 1}), say("nope", {}), say("add", {"a": 1, "b": 2}), final("3")]
    run, lm = ask(script, mode=mode)
    assert tools_of(run) == [VALIDATION_ERROR, VALIDATION_ERROR, "add"]
    assert [step.error for step in run.steps] == ["VALIDATION_FAILED", "UNKNOWN_TOOL", None]
    assert "'b'" in lm.messages(1)[-1]["content"]
    assert "'nope'" in lm.messages(2)[-1]["content"]


@pytest.mark.parametrize("mode", ["native", "json"])
def test_three_bad_calls_in_a_row_end_the_run(mode: Mode) -> None:
    say = call if mode == "native" else decision
    run, lm = ask([say("nope", {"n": n}) for n in range(4)], mode=mode)
    assert (run.status, run.termination_reason) == ("stopped", "malformed")
    assert len(lm.requests) == 3


def test_three_violations_in_a_row_end_the_run() -> None:
    run, lm = ask([text("3")] * 4, rules=[always(BeforeFinish, Violation("Use add first."))])
    assert (run.status, run.termination_reason, run.answer, run.model_answer) == ("stopped", "policy", None, None)
    assert run.error is not None
    assert "Use add first." in run.error["message"]
    assert len(lm.requests) == 3


def test_a_tool_step_between_violations_starts_the_count_again() -> None:
    script = [text("3"), text("3"), call("add", {"a": 1, "b": 2}), text("3"), text("3"), text("no")]
    run, _ = ask(script, rules=[always(BeforeFinish, Violation("No."))], limits=Limits(max_steps=9))
    assert run.termination_reason == "policy"
    assert tools_of(run) == [POLICY_VIOLATION] * 2 + ["add"] + [POLICY_VIOLATION] * 3


def test_bad_calls_made_at_once_count_as_one_refused_decision() -> None:
    run, _ = ask([calls(("add", {}), ("add", {}), ("add", {})), call("add", {"a": 1, "b": 2}), text("3")])
    assert (run.status, run.usage.tool_calls) == ("completed", 1)


def test_warnings_are_told_and_stop_nothing() -> None:
    run, lm = ask([call("add", {"a": 1, "b": 2}), text("3")], rules=[once(BeforeTool, Warn("Careful."))])
    assert (run.status, tools_of(run)) == ("completed", [WARNING, "add"])
    assert lm.messages(1)[-2:] == [
        {"role": "tool", "tool_call_id": run.steps[1].call_id, "content": "3"},
        {"role": "user", "content": "Note: Careful."},
    ]


def test_a_warning_before_finishing_is_on_record() -> None:
    run, _ = ask([text("3")], rules=[once(BeforeFinish, Warn("Unproven."))])
    assert (run.answer, tools_of(run)) == ("3", [WARNING])


@pytest.mark.parametrize("verdict", [Warn("Look again."), Violation("Look again.")])
def test_what_a_rule_says_after_a_step_is_told(verdict: Verdict) -> None:
    run, lm = ask([call("add", {"a": 1, "b": 2}), text("3")], rules=[once(AfterStep, verdict)])
    assert tools_of(run) == ["add", WARNING]
    assert lm.messages(1)[-1] == {"role": "user", "content": "Note: Look again."}


@pytest.mark.parametrize(
    ("event", "steps"),
    [(BeforeTool, ["add", "add"]), (BeforeFinish, []), (AfterStep, ["add", POLICY_VIOLATION, "add"])],
)
def test_a_rule_can_stop_the_run(event: type, steps: list[str]) -> None:
    script = [text("3")] if event is BeforeFinish else [calls(("add", {"a": 1, "b": 2}), ("add", {"a": 2, "b": 2}))]
    run, _ = ask(script, rules=[always(event, Stop("gate", "The gate is shut."))])
    assert (run.status, run.termination_reason, run.answer) == ("stopped", "gate", None)
    assert run.error == {"code": "gate", "message": "The gate is shut."}
    assert tools_of(run) == steps
    assert [step.error for step in run.steps if step.is_tool][-1:] == ["NOT_RUN"] * bool(steps)


def test_the_worst_verdict_has_the_word() -> None:
    rules = [
        always(BeforeFinish, Warn("w")),
        always(BeforeFinish, Violation("v")),
        always(BeforeFinish, Stop("s", "stop")),
    ]
    assert ask([text("3")], rules=rules)[0].termination_reason == "s"
    assert ask([text("3")] * 3, rules=rules[:2])[0].termination_reason == "policy"


def test_an_amended_answer_leaves_the_models_own_on_record() -> None:
    run, _ = ask([text("About 3.")], rules=[always(BeforeFinish, Amend("About 3. (add: 3)"))])
    assert (run.answer, run.model_answer) == ("About 3. (add: 3)", "About 3.")


@pytest.mark.parametrize("mode", ["native", "json"])
def test_an_unreadable_reply_is_shown_to_the_model_with_what_was_expected(mode: Mode) -> None:
    broken = '{"tool": {"name": "add", "args": {"a": 1'
    run, lm = ask([text(broken), text(""), text("3")], mode=mode)
    assert tools_of(run) == [MALFORMED_DECISION, NO_ACTION]
    assert run.calls[0].decision is None
    assert run.calls[0].error is not None
    said, told = lm.messages(1)[-2:]
    assert said == {"role": "assistant", "content": broken}
    assert told["content"].startswith("Format: ")
    assert run.calls[0].error["seen"] in told["content"]
    assert run.calls[0].error["expected"] in told["content"]
    assert [one["content"] for one in lm.messages(2)[-2:]] == ["(no reply)", f"Format: {run.steps[1].observation}"]
    assert run.answer == "3"


def test_three_unreadable_replies_in_a_row_end_the_run() -> None:
    run, lm = ask([text(""), text('{"name": "add", "arguments": {'), text("")])
    assert (run.status, run.termination_reason, run.answer) == ("stopped", "malformed", None)
    assert len({tuple(map(str, lm.messages(k))) for k in range(3)}) == 3


def test_a_reply_that_the_token_limit_cut_off_is_told_apart_and_never_run() -> None:
    run, lm = ask([call("add", '{"a": 1, "b": 2', finish_reason="length"), text("I")])
    assert run.steps[0].error == "CUT_OFF"
    assert run.calls[0].finish_reason == "length"
    assert "token limit cut off" in lm.messages(1)[-1]["content"]
    assert run.usage.tool_calls == 0


def test_a_reply_that_a_content_filter_stopped_is_no_answer() -> None:
    run, _ = ask([text("", finish_reason="content_filter")] * 3)
    assert (run.status, run.answer) == ("stopped", None)
    assert "content filter" in run.steps[0].observation


def test_max_steps_counts_tool_steps_violations_and_unreadable_replies_alike() -> None:
    script = [call("add", {"a": 1, "b": 2}), text(""), call("nope", {}), text("too late")]
    run, _ = ask(script, limits=Limits(max_steps=3))
    assert (run.status, run.termination_reason, run.answer, run.model_answer) == ("stopped", "max_steps", None, None)
    assert run.usage.lm_calls == 3
    assert run.steps[0].observation == 3


def test_calls_that_a_limit_cuts_off_are_answered_as_not_run() -> None:
    run, _ = ask([calls(*[("add", {"a": i, "b": 2}) for i in range(3)])], limits=Limits(max_steps=2))
    assert [step.error for step in run.steps] == [None, None, "NOT_RUN"]
    assert "max_steps" in run.steps[2].observation["message"]
    assert run.usage.tool_calls == 2


@pytest.mark.parametrize(
    ("limits", "usage", "reason"),
    [
        (Limits(max_tokens=15), (10, 5), "max_tokens"),
        (Limits(max_tokens=100), None, "max_tokens"),
        (Limits(max_cost=1.0), (10, 5), "max_cost"),
    ],
)
def test_a_limit_that_is_reached_or_cannot_be_held_stops_the_run(
    limits: Limits, usage: tuple[int, int] | None, reason: str
) -> None:
    run, _ = ask([call("add", {"a": 1, "b": 2}, usage=usage), text("3")], limits=limits)
    assert (run.status, run.termination_reason, run.answer) == ("stopped", reason, None)
    assert run.error is not None
    assert ("unknown" in run.error["message"]) == (reason == "max_cost" or usage is None)


def test_an_unknown_count_stays_unknown() -> None:
    run, _ = ask([call("add", {"a": 1, "b": 2}, usage=None), text("3")])
    assert (run.usage.input_tokens, run.usage.output_tokens, run.usage.cost_usd) == (None, None, None)


def test_the_same_call_with_the_same_result_is_warned_about_and_then_stopped() -> None:
    run, _ = ask([call("add", {"a": 1, "b": 2})] * 6, rules=[repetition.check], limits=Limits(max_steps=9))
    assert (run.status, run.termination_reason) == ("stopped", "repetition")
    assert tools_of(run) == ["add"] * 3 + [WARNING, "add", WARNING, "add", REPETITION]


def test_ids_that_a_model_gives_twice_are_told_apart() -> None:
    run, lm = ask([call("add", {"a": 1, "b": 2}, id="x"), call("add", {"a": 2, "b": 2}, id="x"), text("4")])
    assert len({step.call_id for step in run.steps}) == 2
    assert lm.messages(2)[-1] == {"role": "tool", "tool_call_id": run.steps[1].call_id, "content": "4"}


def test_a_driver_that_answers_with_nonsense_is_told() -> None:
    effects = AgentLoop(Run(question="?"), {}, [], Limits()).effects()
    assert isinstance(next(effects), Plan)
    with pytest.raises(AssertionError, match="a driver answered with"):
        effects.send(Outcome(None, ok=True, error=None, latency_s=0.0))


def test_a_driver_that_does_not_approve_has_refused() -> None:
    run = Run(question="?")
    plus = tool(requires_confirmation=True)(add)
    effects = AgentLoop(run, {"add": plus}, [], Limits(max_steps=1)).effects()
    next(effects)
    asked = {"tool_calls": [{"name": "add", "args": {"a": 1, "b": 2}, "call_id": "x"}]}
    assert isinstance(effects.send(LMCall(reply={}, decision=asked)), Confirm)
    with pytest.raises(StopIteration):
        effects.send(Approval("reject", feedback="Not now."))
    assert [step.error for step in run.steps] == ["APPROVAL_REJECTED"]


def test_a_tool_that_was_under_way_when_the_run_ended_keeps_what_is_known_of_it() -> None:
    run = Run(question="?")
    plus = tool(add)
    effects = AgentLoop(run, {"add": plus}, [], Limits(max_steps=1)).effects()
    next(effects)
    asked = {"tool_calls": [{"name": "add", "args": {"a": 1, "b": 2}, "call_id": "x"}]}
    assert isinstance(effects.send(LMCall(reply={}, decision=asked)), Act)
    known = Outcome({"error": "INTERRUPTED"}, ok=False, error="INTERRUPTED", latency_s=0.1)
    with pytest.raises(StopIteration):
        effects.send(Failure("cancelled", {"code": "CANCELLED"}, "stopped", known))
    assert [step.error for step in run.steps] == ["INTERRUPTED"]
    assert run.termination_reason == "cancelled"


JUNK = st.one_of(st.none(), st.booleans(), st.floats(), st.text(max_size=8), st.lists(st.integers(), max_size=2))
ARGS = st.one_of(
    st.fixed_dictionaries({"a": st.integers(), "b": st.integers()}),
    st.dictionaries(st.text(max_size=4), JUNK, max_size=3),
    st.text(max_size=20),
    st.sampled_from(['{"a": 1, "b": "\\ud800"}', '{"a": NaN, "b": 1e999}', "[" * 500, '{"a": ' * 200, "null"]),
)
NAMES = st.one_of(st.sampled_from(["add", "fail", "Add", "nope", ""]), st.text(max_size=6))
WORDS = st.one_of(
    st.text(max_size=30), st.sampled_from(["\ud800", "<think>a", "</think>", '{"final": {"answer": "x"}}'])
)
REPLIES = st.one_of(
    st.builds(call, NAMES, ARGS, id=st.sampled_from([None, "", "x", "y"]), text=WORDS),
    st.lists(st.tuples(NAMES, ARGS), min_size=1, max_size=4).map(lambda named: calls(*named)),
    st.builds(text, WORDS, finish_reason=st.sampled_from(["stop", "length", "content_filter", None])),
    st.builds(decision, NAMES, st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)),
    st.builds(final, st.text(max_size=9)),
    st.just(malformed()),
)


@given(
    script=st.lists(REPLIES, max_size=7),
    question=st.text(max_size=9, alphabet=st.characters()),
    mode=st.sampled_from(["native", "json"]),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_a_model_says_the_run_ends_and_every_call_is_answered_once(
    script: list[Reply], question: str, mode: Mode
) -> None:
    agent = MicroAgent(tools=[add, fail], lm=ScriptedLM([*script, text("Done.")], mode=mode), rules=[repetition.check])
    run = agent.ask(question)
    assert run.status in ("completed", "stopped", "failed")
    assert run.termination_reason
    assert (run.answer is not None) == (run.status == "completed")
    asked = Counter(
        (index, one["call_id"])
        for index, one_call in enumerate(run.calls)
        for one in (one_call.decision or {}).get("tool_calls", ())
    )
    answered = Counter((step.call, step.call_id) for step in run.steps if step.call_id and step.tool != WARNING)
    assert asked == answered
    assert set(asked.values()) <= {1}
    assert run.usage.lm_calls == len(run.calls)
