# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Questions that follow others: what stands on the wire, what is on record, and what goes on from there."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micro_agent import Limits, MicroAgent, configure_lm, tool
from micro_agent.errors import ConfigurationError, RunNotFound, StorageError
from micro_agent.models.settings import load_settings
from micro_agent.replay import describe, fork, record_of, verify
from micro_agent.rules import AfterStep, BeforeFinish, Event, Verdict, Warn
from micro_agent.run import CONTEXT_TRIMMED, Run
from micro_agent.testing import ModelServer, Reply, ScriptedLM, call, calls, decision, final, text
from micro_agent.traces import TraceStore

MODES = ("native", "json")


@tool(read_only=True)
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


@tool(read_only=True)
def page(number: int) -> str:
    """Read a page."""
    return f"Page {number}. " + "All work and no play. " * 12


@tool(requires_confirmation=True)
def send(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


TOOLS = [multiply, page, send]


def does(mode: str, name: str, args: dict[str, Any]) -> Reply:
    return call(name, args) if mode == "native" else decision(name, args)


def says(mode: str, answer: Any) -> Reply:
    return text(answer) if mode == "native" else final(answer)


def agent(mode: Any, script: list[Reply], **options: Any) -> tuple[MicroAgent, Any]:
    lm = ScriptedLM(script, mode=mode)
    held: dict[str, Any] = {"rules": [], "tools": TOOLS, "mode": mode, "demos": [], **options}
    return MicroAgent(lm=lm, **held), lm


def spoken(messages: list[Any]) -> list[tuple[str, str]]:
    """Who says what, calls and results as text."""
    return [(message["role"], _said(message)) for message in messages]


def _said(message: dict[str, Any]) -> str:
    made = [f"{c['function']['name']} {c['function']['arguments']}" for c in message.get("tool_calls") or ()]
    return " ".join(filter(None, [message.get("content"), *made]))


def sent(server: ModelServer) -> list[list[dict[str, Any]]]:
    return [(chat.body or {})["messages"] for chat in server.chats]


@pytest.mark.parametrize("wire", ["openai", "ollama"])
@pytest.mark.parametrize("mode", MODES)
def test_earlier_turns_stand_on_the_wire_as_turns(mode: Any, wire: str) -> None:
    script = [does(mode, "multiply", {"a": 3, "b": 4}), says(mode, "It is 12."), says(mode, "Hello Ann.")]
    with ModelServer([*script, says(mode, "You are Ann.")]) as server:
        lm = configure_lm(wire, "scripted", server.openai_url if wire == "openai" else server.url, "none")
        asked = MicroAgent(tools=TOOLS, lm=lm, mode=mode, rules=[], demos=[], finish="text")
        first = asked.ask("What is 3*4?")
        second = asked.ask("I am Ann.", history=first)
        third = asked.ask("Who am I?", history=second)
        requests = sent(server)
    assert (third.answer, third.follows, [run.id for run in third.earlier]) == (
        "You are Ann.", second.id, [first.id, second.id]
    )  # fmt: skip
    told = spoken(requests[-1][1:])
    if mode == "native":
        assert [role for role, _ in told] == ["user", "assistant", "tool", "assistant", "user", "assistant", "user"]
        assert [said for _, said in told[2:]] == ["12", "It is 12.", "I am Ann.", "Hello Ann.", "Who am I?"]
    else:
        assert [role for role, _ in told] == ["user", "assistant"] * 3 + ["user"]
        assert [said for _, said in told[2:]] == [
            "Tool [multiply] output:\n12", '{"final": {"answer": "It is 12."}}', "I am Ann.",
            '{"final": {"answer": "Hello Ann."}}', "Who am I?",
        ]  # fmt: skip
    assert "3" in told[1][1]
    for earlier, later in pairwise(requests):
        assert later[: len(earlier)] == earlier


TURNS = ("says", "does", "asks a lot", "breaks", "stops", "is asked", "warned", "two at once")


def _turn(kind: str, mode: str, number: int) -> list[Reply]:
    works = does(mode, "multiply", {"a": number, "b": 2})
    done = says(mode, f"{number * 2} it is.")
    both = [("multiply", {"a": 1, "b": number}), ("page", {"number": number})]
    return {
        "says": [says(mode, f"Word number {number}.")],
        "does": [works, done],
        "asks a lot": [works, does(mode, "page", {"number": number}), done],
        "breaks": [text('{"tool": {"name": "multiply", "args"') if mode == "json" else call("multiply", {"a": "x"}),
                   works, done],
        "stops": [works, works, works],
        "is asked": [text("Now I will multiply."), text('{"done": false}'), works, text("It is done."),
                     text('{"done": true}')],
        "warned": [works, works, done],
        "two at once": [calls(*both), done] if mode == "native" else [works, done],
    }[kind]  # fmt: skip


def _warns(run: Run, event: Event) -> Verdict | None:
    if isinstance(event, AfterStep) and len(run.steps) == 2:
        return Warn("That was the second step.")
    return Warn("It ends.") if isinstance(event, BeforeFinish) and len(run.answer or run.steps) == 3 else None


@pytest.mark.torture
@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=12, deadline=None)
@given(kinds=st.lists(st.sampled_from(TURNS), min_size=2, max_size=5), length=st.sampled_from([None, 1100]))
def test_each_request_begins_with_the_one_before_and_the_record_shows_it_again(
    mode: Any, kinds: list[str], length: int | None
) -> None:
    run, runs, before, trims = None, list[Run](), [], 0
    for number, kind in enumerate(kinds):
        script = _turn(kind, mode, number)
        asked, lm = agent(
            mode, script, rules=[_warns], finish="ask" if kind == "is asked" else "text", limits=Limits(max_steps=3),
            settings=load_settings().having(**({} if length is None else {"context_length": length})),
        )  # fmt: skip
        run = asked.ask(f"Question {number}?", history=run)
        runs.append(run)
        trimmed = [step for step in run.steps if step.tool == CONTEXT_TRIMMED]
        # A question whether an answer is final is no part of what the next request begins with.
        requests = [lm.messages(n) for n in range(len(lm.requests)) if "final answer? Reply" not in _last(lm, n)]
        trims += len(trimmed)
        for messages in requests:
            assert any(f"Question {number}?" in said for _, said in spoken(messages))
            if messages[: len(before)] != before:
                assert trims > 0
                trims -= 1
            before = messages
        assert run.status == ("stopped" if kind == "stops" else "completed"), run.error
    today, _ = agent(mode, [], rules=[_warns])
    assert [(one.outcome, one.divergence) for one in verify(runs, today)] == [("same", None)] * len(runs)


def _last(lm: Any, number: int) -> str:
    return spoken(lm.messages(number))[-1][1]


@pytest.mark.parametrize("mode", MODES)
def test_typed_answers_of_earlier_turns_stand_as_they_were_given(mode: Any) -> None:
    gives = call("submit", {"total": 12}) if mode == "native" else final({"total": 12})
    asked, lm = agent(mode, [gives, gives], signature="question -> total: int")
    first = asked.ask("3*4?")
    second = asked.ask("Again?", history=first)
    assert second.outputs == {"total": 12}
    told = spoken(lm.messages(1))[-3:]
    if mode == "native":
        assert told == [("assistant", 'submit {"total":12}'), ("tool", "Accepted."), ("user", "Again?")]
    else:
        assert told[1:] == [("assistant", '{"final": {"total": 12}}'), ("user", "Accepted.\n\nAgain?")]


@pytest.mark.parametrize("mode", MODES)
def test_a_turn_without_an_answer_is_told_as_such(mode: Any) -> None:
    works = does(mode, "multiply", {"a": 3, "b": 4})
    asked, lm = agent(mode, [works, says(mode, "It was 12.")])
    first = asked.ask("What is 3*4?", limits=Limits(max_steps=1))
    assert first.status == "stopped"
    assert asked.ask("Well?", history=first).answer == "It was 12."
    assert spoken(lm.messages(1))[-2:] == [("assistant", "(no reply)"), ("user", "Well?")]


def test_calls_of_all_turns_have_ids_of_their_own() -> None:
    asked, lm = agent("native", [call("multiply", {"a": 1, "b": 2}, id="x"), text("2")] * 2)
    second = asked.ask("Again?", history=asked.ask("1*2?"))
    assert second.steps[0].call_id != "x"
    ids = [one["id"] for message in lm.messages(3) for one in message.get("tool_calls") or ()]
    assert len(set(ids)) == 2


@pytest.mark.parametrize("mode", MODES)
def test_limits_usage_and_rules_are_of_one_turn(mode: Any) -> None:
    works = does(mode, "multiply", {"a": 3, "b": 4})
    asked, _ = agent(mode, [works, says(mode, "12")] * 2, limits=Limits(max_steps=2))
    second = asked.ask("And now?", history=asked.ask("3*4?"))
    assert (second.status, len(second.steps), second.usage.lm_calls, second.usage.tool_calls) == ("completed", 1, 2, 1)


MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "What is 3*4?"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "multiply", "arguments": '{"a": 3, "b": 4}'}}]},
    {"role": "tool", "tool_call_id": "a", "content": "12"},
    {"role": "assistant", "content": "It is 12."},
    {"role": "user", "content": [{"type": "text", "text": "I am Ann."}]},
    {"role": "user", "content": "Are you there?"},
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_messages_are_a_history(mode: Any, store: TraceStore) -> None:
    asked, lm = agent(mode, [says(mode, "Yes."), says(mode, "Ann.")], traces=store)
    first = asked.ask("Hello?", history=MESSAGES)
    second = asked.ask("Who am I?", history=first)
    told = [said for _, said in spoken(lm.messages(1))]
    yes = "Yes." if mode == "native" else '{"final": {"answer": "Yes."}}'
    assert told[-7:] == ["I am Ann.", "(no reply)", "Are you there?", "(no reply)", "Hello?", yes, "Who am I?"]
    assert any("12" in said for said in told[:-7])
    assert lm.messages(1)[: len(lm.messages(0))] == lm.messages(0)
    assert (first.follows, len(first.history), second.history) == (None, 6, [])
    again = [store.load(run.id) for run in (first, second)]
    assert [one.outcome for one in verify(again, asked)] == ["same", "same"]
    assert "History: 3 turns that no run was made for" in list(describe(again[0]))


def test_what_the_model_said_in_pieces_is_one_message() -> None:
    asked, lm = agent("native", [text("Yes.")])
    pieces = [{"role": "assistant", "content": said} for said in ("Let me see.", "", "I multiply.")]
    called = {**MESSAGES[1], "content": "Now:"}
    asked.ask("Sure?", history=[MESSAGES[0], *pieces, called, MESSAGES[2], MESSAGES[3]])
    assert spoken(lm.messages(0))[2:] == [
        ("assistant", 'Let me see.\n\nI multiply.\n\nNow: multiply {"a":3,"b":4}'),
        ("tool", "12"),
        ("assistant", "It is 12."),
        ("user", "Sure?"),
    ]


@pytest.mark.parametrize("mode", MODES)
def test_a_history_of_dspy_has_turns_by_the_names_of_fields(mode: Any) -> None:
    signature = "question, chat: dspy.History -> answer"
    asked, lm = agent(mode, [says(mode, "Ann."), says(mode, "Ann!")], signature=signature)
    turns = dspy.History(messages=[{"question": "I am Ann.", "answer": "Hello."}, {"question": "Hm."}])
    prediction = asked(question="Who am I?", chat=turns)
    assert prediction.answer == "Ann."
    told = [said for _, said in spoken(lm.messages(0))][-5:]
    hello = "Hello." if mode == "native" else '{"final": {"answer": "Hello."}}'
    assert told == ["I am Ann.", hello, "Hm.", "(no reply)", "Who am I?"]
    assert prediction.run.inputs == {"question": "Who am I?"}
    assert asked.ask("Who am I?", history=turns).answer == "Ann!"
    assert lm.messages(1) == lm.messages(0)


@pytest.mark.parametrize("mode", MODES)
def test_a_history_of_dspy_has_typed_outputs(mode: Any) -> None:
    gives = call("submit", {"total": 5}) if mode == "native" else final({"total": 5})
    asked, lm = agent(mode, [gives], signature="a: int, b: int -> total: int")
    turns = dspy.History(messages=[{"a": 1, "b": 2, "total": 3}])
    assert asked.ask(a=2, b=3, history=turns).outputs == {"total": 5}
    told = spoken(lm.messages(0))[-3:]
    if mode == "native":
        assert told == [("assistant", 'submit {"total":3}'), ("tool", "Accepted."), ("user", "a: 2\n\nb: 3")]
    else:
        assert told[1:] == [("assistant", '{"final": {"total": 3}}'), ("user", "Accepted.\n\na: 2\n\nb: 3")]


def test_an_input_that_is_called_history_stays_one() -> None:
    asked, lm = agent("native", [text("War.")], signature="question, history: str -> answer")
    given: Any = "A war."
    run = asked.ask("What was there?", history=given)
    assert (run.history, run.inputs["history"]) == ([], "A war.")
    assert spoken(lm.messages(0))[-1][1] == "question: What was there?\n\nhistory: A war."


USER = {"role": "user", "content": "Hi."}
CALLS = {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "name": "multiply", "args": {}}]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "1"}


@pytest.mark.parametrize(
    ("history", "told"),
    [
        ("Hi.", "history is of type str: pass a Run, a list of messages"),
        (5, "history is of type int"),
        ([5], "a message of the history is not an object"),
        ([{"role": "system", "content": "Be kind."}], "has the role 'system', .*pass system= to the agent"),
        ([{"role": "robot", "content": "Hi."}], "has the role 'robot', not user, assistant, tool"),
        ([{"role": "assistant", "content": "Hi."}], "message 1 .* a history begins with the user"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "holds something else than text"),
        ([{"role": "user", "content": 5}], "holds something else than text"),
        ([USER, RESULT], "result of a call that does not stand before it"),
        ([USER, CALLS], "the result of call 'a' is missing at the end"),
        ([USER, CALLS, USER], "the result of call 'a' is missing before message 3"),
        ([USER, CALLS, RESULT, CALLS], "a tool call with the id 'a', as one before it"),
        ([USER, {"role": "assistant", "tool_calls": [{"id": "a", "name": "x", "args": "{"}]}], "without an id, a name"),
        ([USER, {"role": "assistant", "tool_calls": [{"id": 1, "name": "x", "args": {}}]}], "without an id, a name"),
        ([USER, {"role": "assistant", "tool_calls": [5]}], "without an id, a name"),
        ([USER, {"question": "What?"}], "has the role None"),
    ],
)
def test_what_is_not_a_history_is_refused(history: Any, told: str) -> None:
    asked, lm = agent("native", [])
    with pytest.raises(ConfigurationError, match=told):
        asked.ask("Hm?", history=history)
    assert lm.requests == []


def test_a_turn_of_dspys_history_has_an_input() -> None:
    asked, _ = agent("native", [])
    with pytest.raises(TypeError, match=r"has no input \(question\), only answer"):
        asked.ask("Hm?", history=[{"answer": "Yes."}])


def test_no_history_is_none() -> None:
    asked, lm = agent("native", [text("Yes."), text("No.")])
    assert (asked.ask("Hm?", history=None).answer, asked.ask("Hm?", history=[]).answer) == ("Yes.", "No.")
    assert lm.messages(0) == lm.messages(1)


def test_a_run_that_has_not_ended_is_not_followed() -> None:
    asked, _ = agent("native", [call("send", {"to": "Ann"})])
    paused = asked.ask("Mail Ann.")
    with pytest.raises(ConfigurationError, match="has not ended"):
        asked.ask("And?", history=paused)


def test_the_record_names_the_run_that_is_followed(store: TraceStore, tmp_path: Path) -> None:
    asked, lm = agent("native", [text("Hello Ann."), text("Ann."), text("Ann!"), text("Yes.")], traces=store)
    first = asked.ask("I am Ann.")
    second = asked.ask("Who am I?", history=first)
    record = json.loads(store.path(second.id).read_text())
    assert record["follows"] == first.id
    assert "earlier" not in record
    loaded = store.load(second.id)
    assert [run.question for run in loaded.earlier] == ["I am Ann."]
    assert store.load(second.id, earlier=False).earlier == ()
    lines = list(describe(record_of(store.path(second.id))))
    at = lines.index(f"Follows: run {first.id}")
    assert lines[at + 1 : at + 3] == ["  1. I am Ann. -> Hello Ann.", "Question: Who am I?"]
    assert asked.ask("Sure?", history=loaded).follows == second.id
    assert spoken(lm.messages(2))[-5:-1] == [
        ("user", "I am Ann."), ("assistant", "Hello Ann."), ("user", "Who am I?"), ("assistant", "Ann.")
    ]  # fmt: skip
    saved = Run.load(second.save(tmp_path / "run.json"))
    assert ([run.id for run in saved.earlier], saved.earlier[0].answer) == ([first.id], "Hello Ann.")
    assert asked.ask("Sure?", history=saved).answer == "Yes."


@pytest.mark.parametrize("mode", MODES)
def test_a_fork_has_the_turns_before(mode: Any, store: TraceStore) -> None:
    works = does(mode, "multiply", {"a": 3, "b": 4})
    asked, lm = agent(mode, [says(mode, "Hi."), works, says(mode, "12"), says(mode, "Twelve.")], traces=store)
    second = asked.ask("3*4?", history=asked.ask("Hello."))
    forked = fork(store.load(second.id), 1, asked)
    assert (forked.answer, forked.follows, forked.parent) == ("Twelve.", second.follows, second.id)
    assert lm.messages(3) == lm.messages(2)
    assert [one.outcome for one in verify([store.load(forked.id)], asked)] == ["same"]


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_was_resumed_has_the_turns_before(mode: Any, store: TraceStore) -> None:
    script = [says(mode, "Hi."), does(mode, "send", {"to": "Ann"}), says(mode, "Sent."), says(mode, "Yes.")]
    asked, lm = agent(mode, script, traces=store)
    paused = asked.ask("Mail Ann.", history=asked.ask("Hello."))
    assert [run.question for run in store.peek(paused.id).earlier] == ["Hello."]
    store.decide(paused.id, "approve")
    resumed = asked.resume(paused.id)
    assert (resumed.answer, [run.question for run in resumed.earlier]) == ("Sent.", ["Hello."])
    assert lm.messages(2)[: len(lm.messages(1))] == lm.messages(1)
    assert asked.ask("Done?", history=resumed).answer == "Yes."
    assert [one.outcome for one in verify([store.load(paused.id)], asked)] == ["same"]


def test_where_a_run_before_is_missing_nothing_goes_on(store: TraceStore) -> None:
    asked, _ = agent("native", [text("1"), text("2"), call("send", {"to": "Ann"}), text("3")], traces=store)
    first = asked.ask("1?")
    second = asked.ask("2?", history=first)
    paused = asked.ask("Mail Ann.", history=second)
    store.path(first.id).unlink()
    loaded = store.load(second.id)
    assert loaded.answer == "2"
    with pytest.raises(ConfigurationError, match=f"follows run {first.id}, and not all runs before it are on record"):
        asked.ask("3?", history=loaded)
    with pytest.raises(ConfigurationError, match="not all runs before it are on record"):
        fork(loaded, 0, asked)
    [verdict] = verify([loaded], asked)
    assert (verdict.outcome, verdict.reason) == ("not_replayed", str(verdict.reason))
    assert "put their traces back" in str(verdict.reason)
    store.decide(paused.id, "approve")
    with pytest.raises(ConfigurationError, match="not all runs before it are on record"):
        asked.resume(paused.id)
    assert store.peek(paused.id).status == "running"
    with pytest.raises(RunNotFound):
        store.load(first.id)


def test_what_is_not_an_id_is_followed_nowhere(store: TraceStore, tmp_path: Path) -> None:
    asked, _ = agent("native", [text("1")], traces=store)
    run = asked.ask("1?")
    path = store.path(run.id)
    path.write_text(path.read_text().replace('"follows":null', '"follows":"../../etc/passwd"'))
    with pytest.raises(StorageError, match="not a run: follows"):
        store.load(run.id)


def test_a_circle_on_record_is_no_conversation(store: TraceStore) -> None:
    asked, _ = agent("native", [text("1")], traces=store)
    run = asked.ask("1?")
    run.follows = run.id
    store.append(run)
    assert store.load(run.id).earlier == ()


def test_what_another_model_counted_is_not_believed() -> None:
    first, _ = agent("native", [text("Hi.", usage=(1400, 5))])
    lm = ScriptedLM([text("Yes.")], mode="native")
    second = MicroAgent(tools=TOOLS, lm=lm, rules=[], settings=load_settings().having(context_length=1500))
    earlier = first.ask("Hello.")
    earlier.model = "another"
    assert second.ask("Well?", history=earlier).answer == "Yes."


@pytest.mark.torture
@pytest.mark.parametrize("mode", MODES)
def test_fifty_turns_fit_a_short_context_and_what_is_cut_is_on_record(mode: Any) -> None:
    script: list[Reply] = []
    for number in range(50):
        script += [does(mode, "page", {"number": number})] * (number % 3 == 0)
        script += [says(mode, f"Answer {number}: " + "a word and another one " * 8)]
    asked, lm = agent(mode, script, settings=load_settings().having(context_length=4096))
    run, request, cuts = None, [], 0
    for number in range(50):
        run = asked.ask(f"Question {number}: " + "what is this about? " * 5, history=run)
        assert str(run.answer).startswith(f"Answer {number}: ")
        cuts += sum(step.tool == CONTEXT_TRIMMED for step in run.steps)
        request = lm.messages(len(lm.requests) - 1)
        assert any(f"Question {number}: " + ("what is this about? " * 5).strip() in said for _, said in spoken(request))
        assert run.calls[-1].request["tokens"] <= 4096 - 1024
    assert 2 <= cuts <= 10
    told = "\n".join(said for _, said in spoken(request))
    assert "- asked: Question 3" in told
    assert "earlier turns are left out" in told
    assert "Earlier turns were cut here to fit the context" in told
