"""Events of a run as they come, over both doors and both wires, and what is held back."""

import asyncio
import json
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent import MicroAgent, Run, configure_lm
from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.models.scope import hearing_thoughts
from micro_agent.rules import Amend, BeforeFinish, Event, Verdict
from micro_agent.run import Mode
from micro_agent.streaming import AnswerFilter, AnswerText, Ended, Started, StepTaken, StreamEvent, WithCalls
from micro_agent.testing import ModelServer, Reply, ScriptedLM, call, decision, final, text
from micro_agent.traces import TraceStore

pytestmark = pytest.mark.usefixtures("prose_is_final")

ANSWER = 'It is 3, as one could have "known" – really.\nEnd.'


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def events_of(agent: MicroAgent, asynchronous: bool) -> list[StreamEvent]:
    async def collect() -> list[StreamEvent]:
        return [event async for event in agent.astream("1 + 2?")]

    return asyncio.run(collect()) if asynchronous else list(agent.stream("1 + 2?"))


def said(events: Iterable[StreamEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, AnswerText)]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("provider", ["openai", "ollama"])
@pytest.mark.parametrize("mode", ["native", "json"])
def test_steps_come_first_then_the_answer_in_pieces_then_the_end(mode: Mode, provider: str, asynchronous: bool) -> None:
    args = {"a": 1, "b": 2}
    script = [call("add", args), text(ANSWER)] if mode == "native" else [decision("add", args), final(ANSWER)]
    with ModelServer(script) as server:
        url = server.url if provider == "ollama" else server.openai_url
        lm = configure_lm(provider, "scripted", url, fallback=False)
        events = events_of(MicroAgent(tools=[add], lm=lm, mode=mode, rules=[]), asynchronous)
        assert [request.body and request.body["stream"] for request in server.chats] == [True, True]
    kinds = [type(event) for event in events]
    assert kinds == [Started, StepTaken, *[AnswerText] * (len(kinds) - 3), Ended]
    assert len(kinds) > 4
    assert "".join(said(events)) == ANSWER
    assert isinstance(events[-1], Ended)
    assert events[-1].run.answer == ANSWER
    assert events[0] == Started(events[-1].run.id)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (text("<think>What now?</think>It is 3."), "It is 3."),
        (text(" \nIt is 3. \n"), "It is 3."),
        (text("A [list] of {things} <b>bold</b> `code` Action"), "A [list] of {things} <b>bold</b> `code` Action"),
        (final("In the form of the other mode."), "In the form of the other mode."),
    ],
)
@pytest.mark.parametrize("mode", ["native", "json"])
def test_what_was_sent_is_the_answer_and_nothing_else(mode: Mode, reply: Reply, answer: str) -> None:
    events = list(MicroAgent(tools=[add], lm=ScriptedLM([reply], mode=mode), rules=[]).stream("?"))
    assert "".join(said(events)) == answer


@pytest.mark.parametrize(
    "reply",
    [
        text('{"name": "add", "arguments": {"a": 1, "b": 2}}'),
        decision("add", {"a": 1, "b": 2}),
        text("<think>Let me add.</think>" + decision("add", {"a": 1, "b": 2}).text),
        text('```json\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n```'),
    ],
)
@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_call_in_the_text_is_held_back(mode: Mode, reply: Reply) -> None:
    lm = ScriptedLM([reply, text("Three.")], mode=mode)
    assert "".join(said(MicroAgent(tools=[add], lm=lm, rules=[]).stream("?"))) == "Three."


def test_what_a_rule_adds_to_the_answer_is_sent_too() -> None:
    def amend(run: Run, event: Event) -> Verdict | None:
        return Amend(f"{event.answer} (add: 3)") if isinstance(event, BeforeFinish) else None

    lm = ScriptedLM([text("It is three.")])
    assert "".join(said(MicroAgent(tools=[add], lm=lm, rules=[amend]).stream("?"))) == "It is three. (add: 3)"


def test_an_answer_that_a_rule_replaced_is_not_mixed_with_what_was_sent() -> None:
    def amend(run: Run, event: Event) -> Verdict | None:
        return Amend("Something else altogether.") if isinstance(event, BeforeFinish) else None

    events = list(MicroAgent(tools=[add], lm=ScriptedLM([text("It is three.")]), rules=[amend]).stream("?"))
    assert "".join(said(events)) == "It is three."
    assert isinstance(events[-1], Ended)
    assert events[-1].run.answer == "Something else altogether."


@pytest.mark.parametrize("asynchronous", [False, True])
def test_leaving_the_iteration_cancels_the_run(asynchronous: bool, store: TraceStore) -> None:
    lm = ScriptedLM([call("add", {"a": n, "b": 2}) for n in range(6)])
    agent = MicroAgent(tools=[add], lm=lm, rules=[], traces=store)

    async def leave() -> None:
        events = agent.astream("?")
        async for _ in events:
            break

    if asynchronous:
        asyncio.run(leave())
    else:
        for _ in agent.stream("?"):
            break
    run = store.load(next(store.ids()))
    assert (run.status, run.termination_reason) == ("stopped", "cancelled")
    assert store.open_runs() == []
    assert len(lm.requests) < 6


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_cannot_begin_raises_where_the_events_are_read(asynchronous: bool, store: TraceStore) -> None:
    store.state_dir.write_text("a file", encoding="utf-8")
    with pytest.raises(StorageError):
        events_of(MicroAgent(tools=[add], lm=ScriptedLM([]), rules=[], traces=store), asynchronous)


def test_a_model_that_is_not_there_raises_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_PROVIDER", "ollama")
    monkeypatch.setenv("LLM_FALLBACK", "0")
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    with pytest.raises(ConfigurationError):
        list(MicroAgent(tools=[add], rules=[]).stream("?"))


def fed(pieces: list[str], mode: Mode) -> str:
    sent: list[str] = []
    answers = AnswerFilter(lambda: mode, sent.append)
    for piece in pieces:
        answers.feed(piece)
    return "".join(sent)


TEXTS = st.text(max_size=30) | st.text(alphabet='a{["<`\\\\"\n Action:😀\ud83d', max_size=30)


@given(st.lists(TEXTS, max_size=5))
def test_prose_however_cut_is_sent_from_its_beginning(pieces: list[str]) -> None:
    assert "".join(pieces).strip().startswith(fed(pieces, "native"))


@given(answer=TEXTS, size=st.integers(1, 7), ascii_only=st.booleans())
def test_the_answer_in_a_decision_is_sent_as_it_reads_however_it_is_cut(
    answer: str, size: int, ascii_only: bool
) -> None:
    whole = json.dumps({"final": {"answer": answer}}, ensure_ascii=ascii_only)
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    sent: Any = fed(pieces, "json")
    assert sent == answer.strip() or (answer.strip().startswith(sent) and "\ud83d" in answer)


MARK = re.compile(r"[{\[<]|```|Action:|(?:``?|A|Ac|Act|Acti|Actio|Action)$")
ESCAPED = [*"aé😀 \n{", "\\\\", '\\"', "\\n", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\ude00", "\\\\u12"]


@given(st.lists(TEXTS, max_size=8))
def test_prose_is_sent_up_to_what_may_be_a_call_however_it_is_cut(pieces: list[str]) -> None:
    whole = "".join(pieces)
    mark = MARK.search(whole)
    assert fed(pieces, "native") == whole[: mark.start() if mark else None].strip()


@given(st.lists(st.sampled_from(ESCAPED), max_size=12), st.sampled_from(["", '"', '"}}', '"}} and more']), st.data())
def test_a_decision_is_sent_the_same_whole_or_in_pieces(parts: list[str], end: str, data: st.DataObject) -> None:
    whole = ' { "final":\n{"answer" : "' + "".join(parts) + end
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)))))
    pieces = [whole[a:b] for a, b in pairwise([0, *cuts, len(whole)])]
    sent = fed(pieces, "json")
    assert sent == fed([whole], "json")
    if end:
        assert sent == json.loads(f'"{"".join(parts)}"', strict=False).strip()


@given(st.lists(st.text(alphabet='{}":final swer\\u', max_size=6), max_size=8))
def test_what_is_no_answer_sends_nothing_in_pieces_either(pieces: list[str]) -> None:
    whole = '{"tool' + "".join(pieces)
    assert fed(["{", '"tool', *pieces], "json") == fed([whole], "json") == ""


@pytest.mark.parametrize(("head", "mode"), [("", "native"), ('{"final":{"answer":"', "json"), ("{", "json")])
def test_a_long_reply_in_small_pieces_is_not_read_again_with_each(head: str, mode: Mode) -> None:
    """Where each piece looks at all of the text, this takes minutes."""
    assert fed([head, *["word \n"] * 60_000], mode) == ("" if head == "{" else ("word \n" * 60_000).strip())


@pytest.mark.parametrize("mark", ["```json", "Action: add"])
def test_a_mark_that_comes_in_pieces_is_held_back_from_its_first_letter(mark: str) -> None:
    assert fed(list(mark), "native") == ""
    assert fed(["Now ", *mark], "native") == "Now"


def test_a_decision_that_is_no_json_sends_nothing() -> None:
    assert fed(['{"final": {"answer": "a\\x', 'b"}}'], "json") == ""


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_who_wants_to_hears_when_a_tool_begins_and_what_the_model_thinks(provider: str, asynchronous: bool) -> None:
    heard: list[Any] = []
    with ModelServer([call("add", {"a": 1, "b": 2}), text("3", reasoning="One more.")]) as server:
        url = server.url if provider == "ollama" else server.openai_url
        agent = MicroAgent(tools=[add], lm=configure_lm(provider, "scripted", url), rules=[])
        with hearing_thoughts(heard.append):
            on_event = WithCalls(heard.append)
            if asynchronous:
                asyncio.run(agent.aask("1 + 2?", on_event=on_event))
            else:
                agent.ask("1 + 2?", on_event=on_event)
    started, begins, step, *rest, ended = heard
    assert (started.run_id, begins.run.id) == (ended.run.id, ended.run.id)
    assert (begins.call, begins.tool, begins.args, begins.call_id) == (0, "add", {"a": 1, "b": 2}, step.step.call_id)
    assert "".join(one for one in rest if isinstance(one, str)) == "One more."
