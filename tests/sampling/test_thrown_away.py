"""A reply that comes to nothing is replaced by another to the very same request, before the model is told of it."""

from typing import Any

import pytest

from micro_agent import MicroAgent
from micro_agent.effects import Approval
from micro_agent.models import load_settings
from micro_agent.run import MALFORMED_DECISION, NO_ACTION, POLICY_VIOLATION, VALIDATION_ERROR, Mode
from micro_agent.testing import Reply, ScriptedLM, text
from tests.sampling.playing import (
    Letters,
    Says,
    ask,
    broken,
    not_rome,
    sampling,
    secret,
    texts,
    weather,
    without_sampling,
)

MODES = pytest.mark.parametrize("mode", ["native", "json"])
TOOLS = [weather, broken, secret]
UNREADABLE = text('{"name": "weather", "arguments": {')


def bad(kind: str, says: Says) -> Reply:
    """A reply that comes to nothing."""
    return {
        "unreadable": UNREADABLE,
        "empty": text(""),
        "a type": says.call("weather", {"city": "Oslo", "days": "soon"}),
        "an argument": says.call("weather", {"town": "Oslo"}),
        "unknown tool": says.call("fax", {"city": "Oslo"}),
        "call against a rule": says.call("weather", {"city": "Rome"}),
        "answer against a rule": says.answer("It rains in Rome."),
        "failing tool": says.call("broken", {"city": "Oslo"}),
    }[kind]


KINDS = {
    "unreadable": (MALFORMED_DECISION, "MALFORMED"),
    "empty": (NO_ACTION, "EMPTY"),
    "a type": (VALIDATION_ERROR, "VALIDATION_FAILED"),
    "an argument": (VALIDATION_ERROR, "VALIDATION_FAILED"),
    "unknown tool": (VALIDATION_ERROR, "UNKNOWN_TOOL"),
    "call against a rule": (POLICY_VIOLATION, "POLICY"),
    "answer against a rule": (POLICY_VIOLATION, "POLICY"),
    "failing tool": ("broken", "TOOL_EXCEPTION"),
}


@pytest.mark.parametrize("asynchronous", [False, True])
@MODES
@pytest.mark.parametrize("kind", KINDS)
def test_the_very_same_request_gets_another_sample(kind: str, mode: Mode, asynchronous: bool) -> None:
    says = Says(mode)
    good = [bad(kind, says), says.call("weather", {"city": "Oslo"}), says.answer()]
    run, sent = ask(*good, mode=mode, tools=TOOLS, rules=[not_rome], asynchronous=asynchronous)
    first, second, _ = map(without_sampling, sent)
    assert first == second
    assert sampling(sent) == [(None, 0.2), (1, 0.5), (None, 0.2)]
    assert ([step.tool for step in run.steps], run.steps[0].call, run.answer) == (["weather"], 0, "It is overcast.")


@MODES
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_on_record_with_what_it_came_to_and_nowhere_else(kind: str, mode: Mode) -> None:
    says = Says(mode)
    good = [bad(kind, says), says.call("weather", {"city": "Oslo"}), says.answer()]
    run, sent = ask(*good, mode=mode, tools=TOOLS, rules=[not_rome])
    taken, (thrown,) = run.calls[0], run.calls[0].samples
    assert thrown.fault is not None
    assert (thrown.fault.tool, thrown.fault.error, thrown.fault.ok) == (*KINDS[kind], False)
    assert (taken.fault, taken.settings, thrown.settings) == (None, {"seed": 1, "temperature": 0.5}, {})
    assert (taken.open, thrown.open, thrown.samples, len(run.calls)) == (False, False, [], 2)
    assert len(sent[2].messages) == len(sent[0].messages) + 2  # the call and what it gave
    assert (run.usage.lm_calls, run.usage.input_tokens, run.usage.output_tokens) == (3, 30, 15)
    assert run.usage.tool_calls == (2 if kind == "failing tool" else 1)


@MODES
@pytest.mark.parametrize("kind", KINDS)
def test_after_two_more_the_model_is_told_of_the_last(kind: str, mode: Mode) -> None:
    says = Says(mode)
    last = says.call("weather", {"city": "Oslo", "weeks": 1})
    good = [bad(kind, says), bad(kind, says), last, says.call("weather", {"city": "Oslo"}), says.answer()]
    run, sent = ask(*good, mode=mode, tools=TOOLS, rules=[not_rome])
    assert len(set(map(without_sampling, sent[:3]))) == 1
    assert sampling(sent) == [(None, 0.2), (1, 0.5), (2, 0.7), (None, 0.2), (None, 0.2)]
    assert [(step.tool, step.call) for step in run.steps] == [(VALIDATION_ERROR, 0), ("weather", 1)]
    assert [[one.fault and one.fault.tool for one in (*reply.samples, reply)] for reply in run.calls] == [
        [KINDS[kind][0]] * 2 + [None], [None], [None],
    ]  # fmt: skip
    told = str(sent[3].messages[len(sent[0].messages) :])
    assert "weeks" in told
    assert "Rome" not in told


@pytest.mark.parametrize(
    ("temperature", "sent"),
    [
        (0.0, [0.0, 0.3, 0.6, 0.0]),
        (0.2, [0.2, 0.5, 0.7, 0.2]),
        (0.7, [0.7] * 4),
        (0.8, [0.8] * 4),
        (1.3, [1.3] * 4),
    ],
)
def test_it_gets_warmer_up_to_a_point_and_never_colder(temperature: float, sent: list[float]) -> None:
    _, requests = ask(*[text("")] * 3, text("Done."), temperature=temperature)
    assert sampling(requests) == list(zip((None, 1, 2, None), sent, strict=True))


def test_each_reply_has_its_own_tries() -> None:
    says = Says("native")
    oslo, bergen = says.call("weather", {"city": "Oslo"}), says.call("weather", {"city": "Bergen"})
    script = [text(""), UNREADABLE, oslo, text(""), bergen, text(""), text(""), text("Done.")]
    run, sent = ask(*script, question="Oslo and Bergen?")
    assert texts(run) == [["", UNREADABLE.text], [""], ["", ""]]
    assert [seed for seed, _ in sampling(sent)] == [None, 1, 2, None, 4, None, 6, 7]
    assert ([step.args["city"] for step in run.steps], run.answer) == (["Oslo", "Bergen"], "Done.")


def test_what_was_thrown_away_is_no_step_towards_the_end() -> None:
    """Three the same in a row end a run, two that go in circles get a hint: not those that nobody was told of."""
    says = Says("native")
    script = [part for _ in range(5) for part in (UNREADABLE, UNREADABLE, says.call("weather", {"city": "Oslo"}))]
    run, _ = ask(*script, text("Done."))
    assert (run.status, len(run.steps), run.usage.lm_calls) == ("completed", 5, 16)


def test_a_tool_with_effects_that_fails_is_not_tried_again() -> None:
    letters = Letters()
    run, sent = ask(Says("native").call("send", {"to": "nobody"}), text("Done."), question="Write nobody.",
                    tools=[letters.tool])  # fmt: skip
    assert (letters.sent, len(sent), texts(run)) == ([("nobody", "")], 2, [[], []])
    assert [(step.tool, step.error) for step in run.steps] == [("send", "TOOL_EXCEPTION")]


@MODES
def test_one_of_several_calls_that_fails_is_told(mode: Mode) -> None:
    says = Says(mode)
    both = says.both(("broken", {"city": "Oslo"}), ("weather", {"city": "Oslo"}))
    run, sent = ask(both, says.answer(), mode=mode, tools=TOOLS)
    assert ([step.tool for step in run.steps], len(sent)) == (["broken", "weather"], 2)


def test_of_several_calls_the_first_is_refused_unseen_and_a_later_one_is_told() -> None:
    says = Says("native")
    fine, wrong = ("weather", {"city": "Oslo"}), ("weather", {"town": "Oslo"})
    run, sent = ask(says.both(wrong, fine), says.both(fine, wrong), text("Done."))
    assert [step.tool for step in run.steps] == ["weather", VALIDATION_ERROR]
    assert without_sampling(sent[0]) == without_sampling(sent[1])
    assert (len(sent), len(run.calls[0].samples)) == (3, 1)


def test_a_reply_that_was_cut_off_is_told_at_once_and_gets_more_room() -> None:
    run, sent = ask(text("Let me think about", finish_reason="length"), text("Done."))
    assert ([step.error for step in run.steps], texts(run)) == (["CUT_OFF"], [[], []])
    assert [(one.body or {})["max_tokens"] for one in sent] == [1024, 2048]


@pytest.mark.parametrize("word", ["approve", "reject"])
def test_a_call_about_which_a_person_was_asked_is_not_replaced(word: Any) -> None:
    asked: list[Any] = []

    def person(question: Any) -> Approval:
        asked.append(question.args)
        return Approval(word)

    run, sent = ask(Says("native").call("secret", {"city": "Oslo"}), text("Done."), tools=TOOLS, confirm=person)
    assert (asked, len(sent), texts(run)) == ([{"city": "Oslo"}], 2, [[], []])
    assert [step.error for step in run.steps] == ["TOOL_EXCEPTION" if word == "approve" else "APPROVAL_REJECTED"]


def test_a_call_that_waits_for_a_person_is_in_force() -> None:
    lm = ScriptedLM([text(""), Says("native").call("secret", {"city": "Oslo"}), text("Done.")])
    agent = MicroAgent([secret], lm=lm, rules=[])
    paused = agent.ask("A secret of Oslo?")
    assert (paused.status, texts(paused), len(lm.requests)) == ("confirmation_required", [[""]], 2)
    run = agent.resume(paused, Approval("approve"))
    assert (run.answer, texts(run)) == ("Done.", [[""], []])


@MODES
def test_none_is_sampled_again_where_nobody_wants_it(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESAMPLES", "0")
    says = Says(mode)
    run, sent = ask(UNREADABLE, says.call("broken", {}), says.answer(), mode=mode, tools=TOOLS)
    assert [step.tool for step in run.steps] == [MALFORMED_DECISION, "broken"]
    assert sampling(sent) == [(None, 0.2)] * 3
    assert texts(run) == [[], [], []]


def test_the_settings_say_how_often() -> None:
    settings = load_settings().having(resamples=1)
    run, _ = ask(*[text("")] * 3, text("Done."), settings=settings)
    assert ([step.tool for step in run.steps], texts(run)) == ([NO_ACTION], [[""], [""]])
    assert run.sampling["resamples"] == 1
