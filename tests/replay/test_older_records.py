"""Records of versions that rendered a request otherwise, or told its end in other words: they replay as they are."""

from collections.abc import Sequence

import pytest

from micro_agent import MicroAgent, Run, configure_lm
from micro_agent.models.settings import Settings
from micro_agent.replay import verify
from micro_agent.testing import ModelServer, Reply, ScriptedLM, text
from micro_agent.wires import JsonWire

SPACED = '{ "tool" : {"args":{"expression":"6*7"}, "name":"calculator"} }\n'
REPLIES = [text(SPACED), text('{"final" :{"answer":"It is 41."}}'), text('{"final": {"answer": "It is 42."}}')]
QUESTION = "What is 6*7, and what is 1+1?"


def recorded(replies: Sequence[Reply] = REPLIES) -> Run:
    return MicroAgent(lm=ScriptedLM(list(replies), mode="json")).ask(QUESTION)


def outcome(run: Run) -> list[str]:
    (verdict,) = verify([run], MicroAgent(lm=ScriptedLM([])))
    return list(verdict.lines())


def test_replies_that_were_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version before wrote each reply in its own spelling; a record without the mark is replayed so."""
    today = recorded()
    with monkeypatch.context() as version:
        version.setattr(JsonWire, "as_written", False)
        older = recorded()
    assert [call.request.get("replies") for call in (older.calls[0], today.calls[0])] == [None, "as_written"]
    assert older.calls[0].request["sha256"] == today.calls[0].request["sha256"]
    assert older.calls[1].request["sha256"] != today.calls[1].request["sha256"]
    assert outcome(older) == [f"same  {older.id}"]
    assert outcome(today) == [f"same  {today.id}"]
    marked = [call.model_copy(update={"request": {**call.request, "replies": "as_written"}}) for call in older.calls]
    assert "request 2" in "\n".join(outcome(older.model_copy(update={"calls": marked})))


def test_a_run_that_two_versions_made(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [*REPLIES[:1], text(SPACED.replace("6*7", "1+1")), text('{"final": {"answer": "42 and 2."}}')]
    with monkeypatch.context() as version:
        version.setattr(JsonWire, "as_written", False)
        older = recorded(both)
    today = recorded(both)
    calls = [older.calls[0], older.calls[1], today.calls[2]]
    mixed = today.model_copy(update={"calls": calls})
    assert outcome(mixed) == [f"same  {today.id}"]


def test_a_form_of_schemas_that_is_not_known_is_that_of_the_tool() -> None:
    run = recorded()
    odd = [call.model_copy(update={"request": {**call.request, "schemas": "of the future"}}) for call in run.calls]
    assert outcome(run.model_copy(update={"calls": odd})) == [f"same  {run.id}"]


def test_an_overflow_that_was_told_in_other_words() -> None:
    with ModelServer([text("Never said.")]) as server:
        lm = configure_lm("openai", "scripted", server.openai_url, fallback=False)
        run = MicroAgent(lm=lm, settings=Settings(context_length=512)).ask("Summarize: " + "and so on " * 400)
    assert (run.termination_reason, run.calls) == ("context_overflow", [])
    older = run.model_copy(update={"error": {**(run.error or {}), "message": "Too long (OLLAMA_NUM_CTX on Ollama)."}})
    assert outcome(older) == [f"same  {run.id}"]
