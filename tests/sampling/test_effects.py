"""A call that changes something and has a word from nowhere is sampled again before it is made, and is made once."""

from typing import Any

import pytest

from micro_agent import MicroAgent, Tool, tool
from micro_agent.effects import Approval
from micro_agent.replay import verify
from micro_agent.rules import BeforeTool, Event, Violation
from micro_agent.run import POLICY_VIOLATION, VALIDATION_ERROR, Mode, Run
from micro_agent.testing import ScriptedLM, call
from tests.sampling.playing import Letters, Says, ask, sampling, weather, without_sampling

TO_LUVIR = "Write Luvir that all is well."


def sent_by(*names: str, mode: Mode = "native", question: str = TO_LUVIR, **options: Any) -> Any:
    """What was sent to whom, the run and the requests, where the model names these one after the other."""
    says, letters = Says(mode), Letters()
    script = [*(says.call("send", {"to": name}) for name in names), says.answer("Done.")]
    run, requests = ask(*script, question=question, mode=mode, tools=[letters.tool, weather], **options)
    assert (run.status, run.answer, len(requests)) == ("completed", "Done.", len(script))
    assert len(set(map(without_sampling, requests[:-1]))) == 1
    return [to for to, _ in letters.sent], run, requests


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("mode", ["native", "json"])
def test_the_one_of_which_all_words_are_known_is_made(mode: Mode, asynchronous: bool) -> None:
    sent, run, _ = sent_by("Luvira", "Luvir", mode=mode, asynchronous=asynchronous)
    assert sent == ["Luvir"]
    assert run.calls[0].chosen == {"index": 1, "agree": 1, "unusable": [], "ungrounded": [0]}
    assert ([step.args for step in run.steps], run.usage.lm_calls, run.usage.tool_calls) == ([{"to": "Luvir"}], 3, 1)


def test_one_of_which_all_words_are_known_is_made_at_once() -> None:
    sent, run, requests = sent_by("Luvir")
    assert (sent, run.calls[0].chosen, sampling(requests)) == (["Luvir"], None, [(None, 0.2)] * 2)


def test_a_further_sample_has_another_seed_and_is_warmer_or_it_would_be_the_same() -> None:
    assert sampling(sent_by("Luvira", "Luvi", "Luv")[2]) == [(None, 0.2), (1, 0.5), (2, 0.7), (None, 0.2)]
    assert sampling(sent_by("Luvira", "Luvi", "Luv", temperature=0.8)[2])[1:3] == [(1, 0.8), (2, 0.8)]


@pytest.mark.parametrize(
    ("names", "made"),
    [
        (["Luvira", "Luvira"], "Luvira"),
        (["Luvira", "Luvi", "Luvi"], "Luvi"),
        (["Luvira", "Luvi", "Luvira"], "Luvira"),
        (["Luvira", "Luvi", "Luvir"], "Luvir"),
    ],
)
def test_what_most_say_is_made(names: list[str], made: str) -> None:
    sent, run, _ = sent_by(*names)
    assert sent == [made]
    assert [step.args["to"] for step in run.steps] == [made]


def differing(*names: str, **options: Any) -> tuple[list[str], Run]:
    """What was sent to whom, and the run, where the replies to the first request name these."""
    letters, says = Letters(), Says("native")
    script = [*(says.call("send", {"to": name}) for name in names), says.answer("I could not.")]
    given: dict[str, Any] = {"question": TO_LUVIR, "tools": [letters.tool], **options}
    run, _ = ask(*script, **given)
    return [to for to, _ in letters.sent], run


@pytest.mark.parametrize("samples", [1, 3])
def test_where_the_replies_differ_and_it_looks_miscopied_nothing_is_made(samples: int) -> None:
    names = ["Luvira", "Luvi", "Luv", "Luvar", "Luvo", "Luva"][: 3 * (1 + (samples > 1))]
    sent, run = differing(*names, samples=samples)
    assert sent == []
    (step,) = run.steps
    assert (step.tool, step.args, step.error) == (
        VALIDATION_ERROR, {"tool": "send", "args": {"to": "Luvira"}}, "REPLIES_DIFFER",
    )  # fmt: skip
    assert step.observation["message"] == (
        "send was not called. Your replies differ, and nobody said 'luvira' (or is it 'Luvir'?). "
        "Copy words and numbers exactly."
    )
    assert len(run.calls[0].samples) == len(names) - 1


def test_a_replay_refuses_it_as_well() -> None:
    _, run = differing("Luvira", "Luvi", "Luv")
    (verdict,) = verify([run], MicroAgent([Letters().tool], lm=ScriptedLM([]), rules=[], finish="text"))
    assert (run.steps[0].error, verdict.outcome) == ("REPLIES_DIFFER", "same")


@pytest.mark.parametrize("first", [15, -15])
def test_numbers_that_nobody_said_count_as_miscopied(first: int) -> None:
    pieces = iter([first, 16, 17])
    ordered: list[int] = []

    @tool
    def order(count: int) -> str:
        """Order pens."""
        ordered.append(count)
        return "ordered"

    script = [*(call("order", {"count": count}) for count in pieces), Says("native").answer("I could not.")]
    run, _ = ask(*script, question="Order 14 pens.", tools=[order])
    assert (ordered, run.steps[0].error) == ([], "REPLIES_DIFFER")
    assert f"nobody said '{first}'. Copy" in run.steps[0].observation["message"]


def test_words_of_its_own_are_no_slips() -> None:
    """Nobody said them, but they are like no word that was said."""
    letters, says = Letters(), Says("native")
    words = ["I am running behind", "Sorry, delayed", "It takes longer"]
    script = [*(says.call("send", {"to": "Luvir", "words": text}) for text in words), says.answer("Done.")]
    ask(*script, question="Tell Luvir that my train is late.", tools=[letters.tool])
    assert letters.sent == [("Luvir", words[0])]


def test_where_a_person_is_asked_that_one_decides() -> None:
    letters = Letters()
    careful = letters.tool
    careful = Tool(careful.name, careful.description, careful.parameters, careful.handler, requires_confirmation=True)

    def person(question: Any) -> Approval:
        return Approval("approve")

    differing("Luvira", "Luvi", "Luv", tools=[careful], confirm=person)
    assert [to for to, _ in letters.sent] == ["Luvira"]


def test_what_cannot_be_made_is_not_taken_for_it() -> None:
    """Luvira stands nowhere, but the other two do not fit the tool."""
    letters, says = Letters(), Says("native")
    wrong = says.call("send", {"for": "Luvir"})
    run, requests = ask(says.call("send", {"to": "Luvira"}), wrong, wrong, says.answer("Done."), question=TO_LUVIR,
                        tools=[letters.tool])  # fmt: skip
    assert ([to for to, _ in letters.sent], len(requests)) == (["Luvira"], 4)
    assert run.calls[0].chosen == {"index": 0, "agree": 1, "unusable": [1, 2], "ungrounded": [0]}


def test_one_that_a_rule_refuses_is_replaced_for_that_alone() -> None:
    """It has a word from nowhere as well, but would not have been made."""

    def not_luvira(run: Run, event: Event) -> Violation | None:
        called = isinstance(event, BeforeTool) and event.args.get("to") == "Luvira"
        return Violation("not Luvira") if called else None

    sent, run, _ = sent_by("Luvira", "Luvir", rules=[not_luvira])
    assert (sent, [step.args for step in run.steps]) == (["Luvir"], [{"to": "Luvir"}])
    (thrown_away,) = run.calls[0].samples
    assert thrown_away.fault is not None
    assert (thrown_away.fault.tool, thrown_away.fault.observation) == (POLICY_VIOLATION, "not Luvira")


@pytest.mark.parametrize(("then", "made"), [("Luvir", ["Luvir"]), ("Luvi", [])])
def test_an_answer_does_not_take_its_place(then: str, made: list[str]) -> None:
    letters, says = Letters(), Says("native")
    script = [says.call("send", {"to": "Luvira"}), says.answer("I did."), says.call("send", {"to": then})]
    run, _ = ask(*script, says.answer("Done."), question=TO_LUVIR, tools=[letters.tool])
    assert ([to for to, _ in letters.sent], run.answer) == (made, "Done.")


def test_a_call_that_cannot_be_made_is_replaced_first() -> None:
    letters, says = Letters(), Says("native")
    script = [says.call("send", {"for": "Luvira"}), says.call("send", {"to": "Luvir"}), says.answer("Done.")]
    run, _ = ask(*script, question=TO_LUVIR, tools=[letters.tool])
    assert [to for to, _ in letters.sent] == ["Luvir"]
    (thrown,) = run.calls[0].samples
    assert thrown.fault is not None
    assert thrown.fault.tool == VALIDATION_ERROR


def test_a_call_that_only_reads_is_made_at_once() -> None:
    run, requests = ask(Says("native").call("weather", {"city": "Bergen"}), Says("native").answer())
    assert (run.steps[0].args, len(requests), run.calls[0].chosen) == ({"city": "Bergen"}, 2, None)


def test_beside_one_that_changes_something_it_counts() -> None:
    letters, says = Letters(), Says("native")
    first = says.both(("weather", {"city": "Bergen"}), ("send", {"to": "Luvir"}))
    second = says.both(("weather", {"city": "Oslo"}), ("send", {"to": "Luvir"}))
    run, _ = ask(first, second, says.answer("Done."), question="Write Luvir of Oslo.", tools=[letters.tool, weather])
    assert [step.args for step in run.steps] == [{"city": "Oslo"}, {"to": "Luvir"}]
    assert len(letters.sent) == 1


def test_the_person_is_asked_about_the_one_that_was_chosen() -> None:
    asked: list[Any] = []
    letters, says = Letters(), Says("native")

    def person(question: Any) -> Approval:
        asked.append(question.args)
        return Approval("approve")

    careful = letters.tool
    careful = Tool(careful.name, careful.description, careful.parameters, careful.handler, requires_confirmation=True)
    script = [says.call("send", {"to": name}) for name in ("Luvira", "Luvir")]
    ask(*script, says.answer("Done."), question=TO_LUVIR, tools=[careful], confirm=person)
    assert (asked, [to for to, _ in letters.sent]) == ([{"to": "Luvir"}], ["Luvir"])


def test_one_that_fails_is_told_and_the_others_are_not_made() -> None:
    says, letters = Says("native"), Letters()
    script = [says.call("send", {"to": "nobody"}), says.call("send", {"to": "nobody"}), says.answer("Done.")]
    run, requests = ask(*script, question=TO_LUVIR, tools=[letters.tool])
    assert ([step.error for step in run.steps], len(letters.sent), len(requests)) == (["TOOL_EXCEPTION"], 1, 3)


def test_none_is_asked_for_where_nobody_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESAMPLES", "0")
    assert sent_by("Luvira")[0] == ["Luvira"]


def test_a_tool_that_nobody_has_changes_nothing() -> None:
    run, _ = ask(call("post", {"to": "Luvira"}), call("post", {"to": "Luvira"}), call("weather", {"city": "Oslo"}),
                 Says("native").answer(), question="Oslo?")  # fmt: skip
    assert [one.fault is not None for one in run.calls[0].samples] == [True, True]


def test_a_call_whose_words_the_person_wrote_somewhere_is_known() -> None:
    @tool
    def note(text: str) -> str:
        """Write a note."""
        return text

    run, requests = ask(call("note", {"text": "all is well"}), Says("native").answer("Done."), question=TO_LUVIR,
                        tools=[note])  # fmt: skip
    assert ([step.tool for step in run.steps], len(requests)) == (["note"], 2)
