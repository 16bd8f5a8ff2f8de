"""Whole runs against a server that speaks Ollama's own API."""

import asyncio

import pytest
from jsonschema import Draft202012Validator

from micro_agent import MicroAgent, Run, configure_lm
from micro_agent.run import Mode
from micro_agent.testing import ModelServer, call, calls, decision, error, final, text

pytestmark = pytest.mark.usefixtures("prose_is_final")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def ask(server: ModelServer, mode: Mode | None = None, *, asynchronous: bool = False) -> Run:
    lm = configure_lm("ollama", "scripted", server.url, fallback=False)
    agent = MicroAgent(tools=[add], lm=lm, mode=mode or "auto", rules=[])
    return asyncio.run(agent.aask("1 + 2?")) if asynchronous else agent.ask("1 + 2?")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_auto_is_json_mode_with_the_schema_as_format(asynchronous: bool) -> None:
    with ModelServer([decision("add", {"a": 1, "b": 2}), final("Three.")]) as server:
        run = ask(server, asynchronous=asynchronous)
        body = server.chats[0].body or {}
    assert (run.status, run.answer, run.mode, run.provider) == ("completed", "Three.", "json", "ollama")
    assert "tools" not in body
    valid = Draft202012Validator(body["format"]).is_valid  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    assert valid({"final": {"answer": "x"}})
    assert not valid({"tool": {"name": "add", "args": {}}})
    assert body["options"]["num_ctx"] > 0


@pytest.mark.parametrize("asynchronous", [False, True])
def test_native_tools_when_asked_for(asynchronous: bool) -> None:
    with ModelServer([calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})), text("Done.")]) as server:
        run = ask(server, "native", asynchronous=asynchronous)
        body = server.chats[1].body or {}
    assert [step.observation for step in run.steps] == [3, 7]
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert [message["content"] for message in body["messages"][3:]] == ["3", "7"]
    assert body["messages"][2]["tool_calls"][0]["function"]["arguments"] == {"a": 1, "b": 2}
    assert "format" not in body


def test_native_mode_that_is_refused_becomes_json_mode() -> None:
    refusal = "registry.ollama.ai/library/scripted:latest does not support tools"
    with ModelServer([error(400, refusal), final("Three.")]) as server:
        run = ask(server, "native")
    assert (run.answer, run.mode, run.calls[0].mode) == ("Three.", "json", "json")


def test_a_server_that_takes_no_schema_gets_none() -> None:
    refusal = "invalid JSON schema in format"
    with ModelServer([error(400, refusal), decision("add", {"a": 1, "b": 2}), final("Three.")]) as server:
        run = ask(server)
        assert ["format" in (request.body or {}) for request in server.chats] == [True, False, False]
    assert run.answer == "Three."


def test_a_cut_off_reply_is_told_apart() -> None:
    with ModelServer([text('{"tool": {"name": "add", "args": {"a": 1', finish_reason="length"), final("3")]) as server:
        run = ask(server)
    assert (run.steps[0].error, run.calls[0].finish_reason) == ("CUT_OFF", "length")


def test_the_price_of_a_model_of_ones_own_is_unknown() -> None:
    with ModelServer([final("3"), call("add", {})]) as server:
        run = ask(server)
    assert (run.usage.input_tokens, run.usage.cost_usd) == (10, None)
