"""Whole runs against a server that speaks OpenAI's API."""

import asyncio
import json

import pytest
from jsonschema import Draft202012Validator

from micro_agent import MicroAgent, Run, configure_lm
from micro_agent.run import Mode
from micro_agent.testing import ModelServer, Reply, call, calls, cut, decision, error, final, malformed, raw, text

pytestmark = pytest.mark.usefixtures("prose_is_final")

NO_TOOLS = 'json: unknown field "tools"'


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def ask(server: ModelServer, mode: Mode | None = None, *, asynchronous: bool = False) -> Run:
    lm = configure_lm("openai", "scripted", server.openai_url, fallback=False)
    agent = MicroAgent(tools=[add], lm=lm, mode=mode or "auto", rules=[])
    return asyncio.run(agent.aask("1 + 2?")) if asynchronous else agent.ask("1 + 2?")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_auto_is_native_tools_on_the_wire_and_results_as_tool_messages(asynchronous: bool) -> None:
    with ModelServer([call("add", {"a": 1, "b": 2}, id="c7"), text("Three.")]) as server:
        run = ask(server, asynchronous=asynchronous)
        first, second = (request.body or {} for request in server.chats)
    assert (run.status, run.answer, run.mode) == ("completed", "Three.", "native")
    (function,) = (one["function"] for one in first["tools"])
    assert (function["name"], function["description"]) == ("add", "Add two numbers.")
    assert function["parameters"]["required"] == ["a", "b"]
    assert second["messages"][-1] == {"role": "tool", "tool_call_id": "c7", "content": "3"}
    assert "response_format" not in first


@pytest.mark.parametrize("asynchronous", [False, True])
def test_json_mode_constrains_the_reply_with_the_schema_of_a_decision(asynchronous: bool) -> None:
    with ModelServer([decision("add", {"a": 1, "b": 2}), final("Three.")]) as server:
        run = ask(server, "json", asynchronous=asynchronous)
        body = server.chats[0].body or {}
    assert (run.status, run.answer, run.mode) == ("completed", "Three.", "json")
    assert "tools" not in body
    schema = body["response_format"]["json_schema"]["schema"]
    valid = Draft202012Validator(schema).is_valid  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    assert valid({"tool": {"name": "add", "args": {"a": 1, "b": 2}}})
    assert not valid({"tool": {"name": "add", "args": {"a": 1}}})
    assert '"name": "add"' in json.dumps(schema) or '"const": "add"' in json.dumps(schema)


def test_a_server_that_refuses_tools_is_used_in_json_mode_by_later_runs_too() -> None:
    with ModelServer([error(400, NO_TOOLS), decision("add", {"a": 1, "b": 2}), final("3"), final("three")]) as server:
        lm = configure_lm("openai", "scripted", server.openai_url, fallback=False)
        agent = MicroAgent(tools=[add], lm=lm, rules=[])
        one, two = agent.ask("1 + 2?"), agent.ask("1 + 2?")
        assert ["tools" in (request.body or {}) for request in server.chats] == [True, False, False, False]
    assert (one.answer, one.mode, two.answer, two.mode) == ("3", "json", "three", "json")


@pytest.mark.parametrize(
    "reply",
    [
        raw({"choices": [{"message": {"role": "assistant", "content": "Three."}}]}),
        raw({"choices": [{"message": {"content": [{"type": "text", "text": "Three."}]}, "finish_reason": ""}]}),
        raw({"choices": [{"message": {"content": "Three.", "function_call": {}}, "finish_reason": "eos"}]}),
    ],
)
def test_odd_shapes_of_an_answer_are_read(reply: Reply) -> None:
    with ModelServer([reply]) as server:
        run = ask(server)
    assert (run.status, run.answer) == ("completed", "Three.")
    assert (run.calls[0].input_tokens, run.usage.output_tokens) == (None, None)


def test_odd_shapes_of_a_call_are_read() -> None:
    legacy = {"content": None, "function_call": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
    with ModelServer(
        [raw({"choices": [{"message": legacy}]}), call("add", '{"a": "1", "b": 3}', id=""), text("4")]
    ) as server:
        run = ask(server)
    assert [step.observation for step in run.steps] == [3, 4]
    assert len({step.call_id for step in run.steps}) == 2


@pytest.mark.parametrize("reply", [raw({}), raw({"choices": []}), raw({"choices": [{"message": {"content": None}}]})])
def test_a_reply_without_anything_in_it_is_an_empty_one(reply: Reply) -> None:
    with ModelServer([reply, text("Three.")]) as server:
        run = ask(server)
    assert (run.status, run.steps[0].tool) == ("completed", "⛔️no_action")


@pytest.mark.parametrize("first", [cut(), malformed(), error(500, "oops", retry_after=0)])
def test_what_is_lost_on_the_way_is_asked_again_or_told(first: Reply) -> None:
    with ModelServer([first, text("Three.")]) as server:
        run = ask(server)
    assert run.status in ("completed", "failed")
    if run.status == "completed":
        assert (run.answer, run.calls[0].retries) == ("Three.", 1)
    else:
        assert run.error is not None
        assert (run.termination_reason, run.error["code"]) == ("lm_error", "BAD_REPLY")


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_without_its_last_brackets_is_made_unless_the_tokens_ran_out(stream: bool) -> None:
    on_event = print if stream else None
    half = call("add", '{"a": 1, "b": 2', usage=(10, 9))
    with ModelServer([half, text("Three.")]) as server:
        lm = configure_lm("openai", "m", server.openai_url, fallback=False, max_tokens=10)
        run = MicroAgent(tools=[add], lm=lm, rules=[], finish="text").ask("1 + 2?", on_event=on_event)
    assert [(step.tool, step.args) for step in run.steps] == [("add", {"a": 1, "b": 2})]
    assert [one["kind"] for one in run.calls[0].repairs] == ["closing_brackets"]
    with ModelServer([half.with_(usage=(10, 10)), text("Three.")]) as server:
        lm = configure_lm("openai", "m", server.openai_url, fallback=False, max_tokens=10)
        run = MicroAgent(tools=[add], lm=lm, rules=[], finish="text").ask("1 + 2?", on_event=on_event)
        assert [(request.body or {})["max_tokens"] for request in server.chats] == [10, 20]
    assert [(step.error, run.calls[0].finish_reason) for step in run.steps] == [("CUT_OFF", "length")]


def test_a_key_is_on_no_record() -> None:
    with ModelServer([error(401, "Incorrect API key provided: sk-verysecret123")]) as server:
        lm = configure_lm("openai", "m", server.openai_url, "sk-verysecret123", fallback=False)
        run = MicroAgent(tools=[add], lm=lm, rules=[]).ask("?")
    assert run.error is not None
    assert run.error["code"] == "AUTH"
    assert "verysecret" not in run.model_dump_json()


def test_a_streamed_reply_with_several_calls_is_the_same_run() -> None:
    script = [calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})), text("Done.")]
    with ModelServer(script) as one, ModelServer(script) as two:
        plain = ask(one)
        lm = configure_lm("openai", "scripted", two.openai_url, fallback=False)
        streamed = MicroAgent(tools=[add], lm=lm, rules=[]).ask("1 + 2?", on_event=lambda event: None)
    assert [(s.tool, s.args, s.observation) for s in plain.steps] == [
        (s.tool, s.args, s.observation) for s in streamed.steps
    ]
    assert (plain.answer, plain.usage.input_tokens) == (streamed.answer, streamed.usage.input_tokens)
