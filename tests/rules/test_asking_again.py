"""Asking again: what each kind of bad reply is answered with, once and for ever, in both modes, over the wire."""

import json
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from micro_agent import Limits, MicroAgent, Run, configure_lm
from micro_agent.rules import BeforeTool, Event, Rule, Verdict, Violation, default_rules
from micro_agent.rules.asking_again import ASKING, FRUITLESS, IN_A_ROW, Kind, Row
from micro_agent.run import FINISH_ASKED, Mode
from micro_agent.testing import ModelServer, Reply, ScriptedLM, call, calls, decision, final, text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "asking-again.md"
QUESTION = "What is 2*(3+5)?"
GOOD: dict[str, Any] = {"expression": "2*(3+5)"}


def no_tools(run: Run, event: Event) -> Verdict | None:
    """Forbids every call."""
    return Violation("No tools today.") if isinstance(event, BeforeTool) else None


def right(mode: Mode) -> Reply:
    return call("calculator", GOOD) if mode == "native" else decision("calculator", GOOD)


def both(native: Reply, in_json: Reply | None = None) -> Callable[[Mode], Reply]:
    return lambda mode: native if mode == "native" or in_json is None else in_json


BAD: dict[Kind, Callable[[Mode], Reply]] = {
    "malformed": both(
        call("calculator", '{"expression": 2*8'), text('{"tool": {"name": "calculator", "args": {"expression": 2*')
    ),
    "empty": both(text("")),
    "empty_after_results": both(text("", reasoning="Hm.")),
    "cut_off": both(
        call("calculator", '{"expression": "2*', finish_reason="length"), text("Let me see", finish_reason="length")
    ),
    "refused": both(text("", finish_reason="content_filter")),
    "ambiguous": both(
        text(json.dumps([{"name": "calculator", "arguments": {"expression": str(n)}} for n in range(33)]))
    ),
    "quoted": both(text('for n in [1, 2]:\n    print(calculator(expression="16"))')),
    "unknown_tool": both(call("calculater", GOOD), decision("calculater", GOOD)),
    "bad_arguments": both(call("calculator", {"expr": "2*8"}), decision("calculator", {"expr": "2*8"})),
    "answer_against_rule": both(text("It is 16."), final("It is 16.")),
    "call_against_rule": right,
}
"""What the model says, for ever, for each kind that is asked again."""
USED: dict[Kind, Callable[[Mode], Reply]] = {
    "call_beside_final": both(
        call("calculator", GOOD, text="It is 15."),
        text(json.dumps({"tool": {"name": "calculator", "args": GOOD}, "final": {"answer": "It is 15."}})),
    ),
    "text_beside_calls": both(
        call("calculator", GOOD, text="Let me calculate."),
        text("Let me calculate. " + json.dumps({"tool": {"name": "calculator", "args": GOOD}})),
    ),
    "one_bad_call": both(calls(("calculator", GOOD), ("calculator", {"expr": "1"}))),
}
"""The same for the kinds of which the reply is used."""
MODES: tuple[Mode, ...] = ("native", "json")
EACH = pytest.mark.parametrize(("kind", "mode"), [(kind, mode) for kind in BAD for mode in MODES])


def script(kind: Kind, mode: Mode, times: int) -> list[Reply]:
    before = [right(mode)] if kind == "empty_after_results" else []
    return [*before, *[BAD[kind](mode)] * times]


def asked(replies: list[Reply], mode: Mode, kind: Kind | None = None) -> tuple[Run, list[dict[str, Any]]]:
    """The run over a real server and the bodies of its requests."""
    rules: list[Rule] = [no_tools] if kind == "call_against_rule" else default_rules()
    with ModelServer(replies) as server:
        lm = configure_lm("openai", "scripted", server.openai_url)
        run = MicroAgent(lm=lm, mode=mode, rules=rules).ask(QUESTION)
        return run, [request.body or {} for request in server.chats]


def test_every_kind_is_tried() -> None:
    # In tests/making, where the model is asked a question first, and in tests/sampling, with several replies.
    elsewhere: set[Kind] = {"call_in_text", "replies_differ"}
    assert {*BAD, *USED} | elsewhere == set(ASKING)
    assert {kind for kind, row in ASKING.items() if row.marker} == {*BAD} | elsewhere


@EACH
def test_a_model_that_never_does_better_is_stopped_and_never_asked_the_same_twice(kind: Kind, mode: Mode) -> None:
    row = ASKING[kind]
    run, bodies = asked(script(kind, mode, 6), mode, kind)
    assert (run.status, run.termination_reason, run.answer) == ("stopped", row.stops, None)
    bad = run.steps[1:] if kind == "empty_after_results" else run.steps
    assert [(step.tool, step.error, step.ok) for step in bad] == [(row.marker, row.code, False)] * IN_A_ROW
    assert len(bodies) == IN_A_ROW + (kind == "empty_after_results")
    assert all(one != other for one, other in combinations(bodies, 2))


@EACH
def test_a_model_that_does_better_is_answered_in_the_form_of_its_mode(kind: Kind, mode: Mode) -> None:
    rest = [] if kind == "empty_after_results" else [right(mode)]
    rest = [final("There is none.")] if kind == "call_against_rule" else [*rest, final("16")]
    run, bodies = asked([*script(kind, mode, 1), *rest], mode, kind)
    assert run.status == "completed"
    first = 2 if kind == "empty_after_results" else 1
    told = bodies[first]["messages"][-1]["content"]
    assert told not in [message["content"] for message in bodies[first - 1]["messages"]]
    if kind not in ("answer_against_rule", "call_against_rule"):
        assert ('"final"' in told or "Reply with {" in told) == (mode == "json")
    if kind in ("malformed", "cut_off", "unknown_tool", "bad_arguments") and (mode == "native" or kind != "cut_off"):
        assert re.search(r'calculator\W+(with|"args").*expression\W+<text>', told)


SAID = {
    "empty": "An empty reply.",
    "empty_after_results": "Answer the question with the results above.",
    "cut_off": "Be shorter.",
    "refused": "the content filter of the server stopped the reply. Use other words.",
    "ambiguous": "Make one decision only.",
    "quoted": "A call that is shown and not made.",
    "unknown_tool": "calculater",
    "bad_arguments": "expr",
    "answer_against_rule": "Policy: this question needs the calculator tool.",
    "call_against_rule": "Policy: No tools today.",
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", SAID)
def test_the_concrete_fault_is_said(kind: Kind, mode: Mode) -> None:
    _, bodies = asked(script(kind, mode, 3), mode, kind)
    assert SAID[kind] in "\n".join(message["content"] or "" for message in bodies[-1]["messages"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["call_beside_final", "text_beside_calls"])
def test_a_call_counts_whatever_stands_beside_it(kind: Kind, mode: Mode) -> None:
    run, _ = asked([USED[kind](mode), final("16")], mode)
    assert (run.status, run.answer, [step.tool for step in run.steps]) == ("completed", "16", ["calculator"])
    assert run.usage.lm_calls == 2


def test_of_several_calls_on_the_wire_the_good_ones_run() -> None:
    run, bodies = asked([USED["one_bad_call"]("native"), text("16")], "native")
    assert [(step.tool, step.error) for step in run.steps] == [
        ("calculator", None),
        (ASKING["bad_arguments"].marker, "VALIDATION_FAILED"),
        (FINISH_ASKED, None),
    ]
    assert [message["role"] for message in bodies[1]["messages"][-2:]] == ["tool", "tool"]


@pytest.mark.parametrize("bad", [call("calculater", GOOD), call("calculator", {"expr": "1"})])
def test_a_bad_call_on_the_wire_of_json_mode_is_told_the_form_of_that_mode(bad: Reply) -> None:
    _, bodies = asked([bad, right("json"), final("16")], "json")
    told = json.loads(bodies[1]["messages"][-1]["content"].partition("\n")[2])
    assert told["expected"] == 'Reply with {"tool": {"name": "calculator", "args": {"expression": "<text>"}}}'


def test_of_several_calls_in_text_none_runs_when_one_is_bad() -> None:
    listed: list[dict[str, Any]] = [{"name": "calculator", "arguments": GOOD}, {"name": "nope", "arguments": {}}]
    run, _ = asked([text(json.dumps(listed)), final("16")], "json")
    assert run.usage.tool_calls == 0
    assert run.steps[0].error == "UNKNOWN_TOOL"


@pytest.mark.parametrize("mode", MODES)
def test_prose_where_a_tool_is_required_is_told_the_very_call(mode: Mode) -> None:
    _, bodies = asked(script("answer_against_rule", mode, 3), mode)
    second = bodies[2]["messages"][-1]["content"]
    assert ('{"tool": {"name": "calculator", "args": {"expression": "<the arithmetic>"}}}' in second) == (
        mode == "json"
    )
    assert ('Do not answer now. Call calculator with {"expression": "<the arithmetic>"}.' in second) == (
        mode == "native"
    )


def test_slips_of_many_kinds_end_a_run_a_little_later() -> None:
    slips = [text("It is 16."), text(""), text("It is 16"), text(""), text("16")]
    lm = ScriptedLM([*slips, right("native"), text("16")])
    run = MicroAgent(lm=lm, limits=Limits(max_steps=20)).ask(QUESTION)
    assert (run.status, run.termination_reason, run.usage.lm_calls) == ("stopped", "policy", FRUITLESS)
    assert run.error is not None
    assert run.error["message"].startswith("5 replies in a row came to nothing; the last: an answer without")
    other = MicroAgent(lm=ScriptedLM([*slips[:4], right("native"), text("16")])).ask(QUESTION)
    assert (other.status, other.answer) == ("completed", "16")


def test_the_end_says_what_was_wrong_last() -> None:
    run, _ = asked(script("bad_arguments", "native", 3), "native")
    assert run.error is not None
    assert run.error["message"].startswith("3 replies in a row came to nothing; the last: missing required argument")


def shown(kind: str, row: Row) -> str:
    """A row of the table as the page has it."""
    step = f"`{row.marker}` `{row.code}`" if row.marker else "none"
    told = f"*(what was seen)* {row.asked}" if row.asked else "nothing"
    changes = ", ".join(f"`{change}`" for change in row.changes) or "nothing"
    stops = f"`{row.stops}`" if row.stops else "never"
    return f"| `{kind}`: {row.what} | {row.repaired} | {told} | {step} | {changes} | {stops} |"


def test_the_page_shows_the_table() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| `\w+`:", line)]
    assert rows == [shown(kind, row) for kind, row in ASKING.items()]


def test_the_page_names_the_numbers() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert f"IN_A_ROW` ({IN_A_ROW})" in page
    assert f"FRUITLESS` ({FRUITLESS})" in page
