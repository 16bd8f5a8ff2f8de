"""When the model is asked if its text is its final answer, what is sent, and what every reply to that leads to."""

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest

from micro_agent import Limits, MicroAgent, Run, configure_lm
from micro_agent.cancel import Cancel
from micro_agent.context.tokens import estimate
from micro_agent.models.settings import Settings
from micro_agent.replay import fork, verify
from micro_agent.run import FINISH_ASKED, Mode
from micro_agent.run.finishing import QUESTION
from micro_agent.streaming import AnswerText
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, error, final, text
from micro_agent.traces import TraceStore

DONE, GO_ON = text('{"done": true}'), text('{"done": false}')


def look(place: str) -> str:
    """Look somewhere.

    Args:
        place: Where.
    """
    return f"nothing in {place}"


LOOK = call("look", {"place": "here"})


def agent(server: ModelServer, mode: Mode = "native", **options: Any) -> MicroAgent:
    wire, url = ("openai", server.openai_url) if mode == "native" else ("ollama", server.url)
    lm = configure_lm(wire, "m", url, "none", settings=Settings())
    given: dict[str, Any] = {"tools": [look], "rules": [], "demos": [], **options}
    return MicroAgent(lm=lm, mode=mode, **given)


def asked(*replies: Reply, mode: Mode = "native", **options: Any) -> tuple[Run, list[dict[str, Any]]]:
    with ModelServer([*replies], models=["m"]) as server:
        run = agent(server, mode, **options).ask("Where is it?")
        return run, [chat.body or {} for chat in server.chats]


def questions(run: Run) -> list[tuple[Any, str]]:
    return [(step.args.get("done"), step.observation) for step in run.steps if step.tool == FINISH_ASKED]


@pytest.mark.parametrize(
    ("reply", "done"),
    [
        ('{"done": true}', True),
        ('```json\n{"done": false}\n```', False),
        ("<think>Is it?</think>{'done': False}", False),
        ("done: true", True),
        ("False", False),
        ("Yes, it is final.", None),
        ('{"done": true} or {"done": false}', None),
        ("", None),
        ('{"name": "look", "arguments": {"place": "there"}}', False),
    ],
)
def test_every_reply_to_the_question_is_read(reply: str, done: bool | None) -> None:
    def script(request: Received) -> Reply:
        if request.asks_if_final:
            return text(reply)
        return text("It is there.") if "go on" in str(request.messages[-1]["content"]) else text("I see.")

    with ModelServer(script, models=["m"]) as server:
        run = agent(server).ask("Where is it?")
    assert (run.status, questions(run)[0][0], run.usage.tool_calls) == ("completed", done, 0)
    assert run.answer == ("It is there." if done is False else "I see.")
    assert run.finished_by == ("asked" if done else "prose")


@pytest.mark.parametrize(("said", "answer"), [("", "Nowhere."), (None, "I look."), ('{"done": true}', "I look.")])
def test_a_text_that_names_a_tool_which_has_not_run_is_final_only_with_a_clear_yes(
    said: str | None, answer: str
) -> None:
    texts = iter(["I look.", "Nowhere."])

    def script(request: Received) -> Reply:
        if request.asks_if_final:
            return error(400, "no") if said is None else text(said)
        return text(next(texts))

    with ModelServer(script, models=["m"]) as server:
        run = agent(server).ask("Where is it?")
    assert (run.status, run.answer) == ("completed", answer)


def test_a_call_on_the_wire_in_the_place_of_a_reply_says_go_on_and_is_not_made() -> None:
    def script(request: Received) -> Reply:
        return LOOK if request.asks_if_final else text("I look.")

    with ModelServer(script, models=["m"]) as server:
        run = agent(server).ask("Where is it?")
    assert (run.answer, run.usage.tool_calls, run.finished_by) == ("I look.", 0, "prose")
    assert questions(run) == [(False, "Then go on.")] * 2  # more often nobody is asked


@pytest.mark.parametrize("mode", ["native", "json"])
def test_the_question_stands_behind_the_conversation_and_no_call_can_answer_it(mode: Mode) -> None:
    step = LOOK if mode == "native" else text('{"tool": {"name": "look", "args": {"place": "here"}}}')
    replies = [text("Ich sehe nach."), GO_ON, step, text("Nirgends."), DONE]
    run, bodies = asked(*replies, mode=mode)
    assert (run.answer, run.finished_by, run.usage.lm_calls, len(run.calls)) == ("Nirgends.", "asked", 5, 3)
    ordinary = [bodies[at]["messages"] for at in (0, 2, 3)]
    for before, after in pairwise(ordinary):
        assert after[: len(before)] == before
    for at, before in ((1, ordinary[0]), (4, ordinary[2])):
        body = bodies[at]
        assert body["messages"][: len(before)] == before
        assert [one["content"] for one in body["messages"][len(before) :]] == [replies[at - 1].text, QUESTION]
        schema = body["format"] if mode == "json" else body["response_format"]["json_schema"]["schema"]
        assert schema["required"] == ["done"]
        assert body.get("tools") == bodies[0].get("tools")
        assert body.get("tool_choice") == ("none" if mode == "native" else None)
    assert bodies[2]["messages"][-1]["content"] == "Then go on."
    assert estimate(QUESTION) <= 60


def test_a_final_in_json_mode_is_asked_about_only_before_any_tool() -> None:
    step = text('{"tool": {"name": "look", "args": {"place": "here"}}}')
    late, _ = asked(step, final("Nowhere."), mode="json")
    assert (late.finished_by, late.usage.lm_calls, questions(late)) == ("final", 2, [])
    early, _ = asked(final("I look now."), GO_ON, step, final("Nowhere."), mode="json")
    assert (early.answer, early.finished_by) == ("Nowhere.", "final")
    assert questions(early) == [(False, "Then go on.")]


def test_nobody_is_asked_without_tools_or_where_the_limits_are_reached() -> None:
    alone, _ = asked(text("A good day."), tools=[])
    assert (alone.finished_by, alone.steps, alone.usage.lm_calls) == ("prose", [], 1)
    spent, _ = asked(text("A good day."), limits=Limits(max_tokens=15))
    assert (spent.answer, spent.finished_by, spent.usage.lm_calls) == ("A good day.", "prose", 1)


def test_a_model_that_thinks_may_think_about_the_question() -> None:
    _, plain = asked(text("Nowhere."), DONE)
    _, thinks = asked(text("Nowhere.", reasoning="Is it here?"), DONE)
    assert (plain[1].get("max_tokens"), thinks[1].get("max_tokens")) == (10, plain[0].get("max_tokens"))


def test_the_question_is_not_counted_as_a_step() -> None:
    run, _ = asked(text("I look."), GO_ON, LOOK, text("Nowhere."), DONE, limits=Limits(max_steps=2))
    assert (run.answer, len(run.steps)) == ("Nowhere.", 3)


def test_text_is_the_answer_where_the_agent_or_the_server_says_so() -> None:
    run, _ = asked(text("I look."), finish="text")
    assert (run.answer, run.finish, run.finished_by, run.steps) == ("I look.", "text", "prose", [])
    assert MicroAgent([look], ScriptedLM([text("I look.")]), rules=[]).ask("?").finish == "text"
    wished = MicroAgent([look], ScriptedLM([text("I look."), GO_ON, text("No."), DONE]), rules=[], finish="ask")
    assert wished.ask("?").answer == "No."


def test_a_server_that_refuses_a_schema_beside_tools_is_asked_in_plain_words_from_then_on() -> None:
    def script(request: Received) -> Reply:
        body = request.body or {}
        if not request.asks_if_final:
            return text("Nowhere.")
        return error(400, "cannot use a grammar with tools") if "response_format" in body else DONE

    with ModelServer(script, models=["m"]) as server:
        made = agent(server)
        assert [made.ask("?").finished_by for _ in range(2)] == ["asked", "asked"]
        plain = [chat.body or {} for chat in server.chats if chat.asks_if_final]
    assert ["response_format" in body for body in plain] == [True, False, False]
    assert [body.get("tool_choice") for body in plain] == ["none", None, None]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_answer_stands_where_the_question_fails(asynchronous: bool) -> None:
    def script(request: Received) -> Reply:
        return error(400, "broken") if request.asks_if_final else text("Nowhere.")

    with ModelServer(script, models=["m"]) as server:
        made = agent(server)
        run = asyncio.run(made.aask("?")) if asynchronous else made.ask("?")
    assert [verdict.outcome for verdict in verify([run], made)] == ["same"]
    assert (run.status, run.answer, run.finished_by) == ("completed", "Nowhere.", "prose")
    assert questions(run) == [(None, "The answer stands.")]
    assert "broken" in run.steps[0].args["not_asked"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_answer_stands_where_the_question_does_not_fit(asynchronous: bool) -> None:
    said = "word " * 2500
    with ModelServer([text(said)], models=["m"]) as server:
        lm = configure_lm("ollama", "m", server.url, settings=Settings(ollama_num_ctx=2048))
        made = MicroAgent([look], lm, "native", [], demos=[])
        run = asyncio.run(made.aask("Where?")) if asynchronous else made.ask("Where?")
    assert (run.status, run.finished_by) == ("completed", "prose")
    assert "does not fit" in run.steps[0].args["not_asked"]


def test_cancelling_ends_the_run_while_the_model_is_asked() -> None:
    cancel = Cancel()

    def script(request: Received) -> Reply:
        if request.asks_if_final:
            cancel.set()
            return error(503, "later")
        return text("Nowhere.")

    with ModelServer(script, models=["m"]) as server:
        made = agent(server)
        run = made.ask("?", cancel=cancel)
    assert [verdict.outcome for verdict in verify([run], made)] == ["same"]
    assert (run.status, run.termination_reason, run.answer, run.finished_by) == ("stopped", "cancelled", None, None)


def test_the_reply_to_the_question_is_not_streamed() -> None:
    with ModelServer([text("I look."), GO_ON, text("Nowhere."), DONE], models=["m"]) as server:
        said = [event.text for event in agent(server).stream("?") if isinstance(event, AnswerText)]
    assert "".join(said) == "I look.Nowhere."


def test_an_asked_run_is_verified_forked_and_resumed(store: TraceStore) -> None:
    replies = [text("I look."), GO_ON, LOOK, text("Nowhere."), DONE]
    with ModelServer([*replies, text("Somewhere."), DONE], models=["m"]) as server:
        made = agent(server, traces=store)
        run = made.ask("Where is it?")
        (verdict,) = verify([run], made)
        assert (verdict.outcome, verdict.notes) == ("same", [])
        forked = fork(run, 2, made)
        assert (forked.answer, [step.tool for step in forked.steps]) == (
            "Somewhere.", [FINISH_ASKED, "look", FINISH_ASKED],
        )  # fmt: skip
        assert [verdict.outcome for verdict in verify([forked], made)] == ["same"]


def test_a_record_without_the_question_differs() -> None:
    with ModelServer([text("Nowhere."), DONE], models=["m"]) as server:
        made = agent(server)
        run = made.ask("Where is it?")
    run.steps.clear()
    (verdict,) = verify([run], made)
    assert verdict.divergence is not None
    assert verdict.divergence.got == "the model is asked whether its answer is final"


@pytest.mark.parametrize("cut", [False, True])
def test_killed_around_the_question_the_run_goes_on(store: TraceStore, cut: bool) -> None:
    with ModelServer([text("Nowhere."), DONE, DONE], models=["m"]) as server:
        made = agent(server, traces=store)
        journal = store.start(Run(question="Where is it?", finish="ask", mode="native"))
        run = made.ask("Where is it?")
        journal.replied(run.calls[0])
        if not cut:
            journal.step(run.steps[0])
        journal.close()
        done = made.resume(journal.run.id)
        requests = sum(chat.asks_if_final for chat in server.chats)
    assert (done.answer, done.finished_by) == ("Nowhere.", "asked")
    assert (len(done.steps), requests) == (1, 2 if cut else 1)
    assert json.loads(done.steps[0].args["reply"]) == {"done": True}
