"""The prefix cache of a server is hit at every step: on the wire, each request begins with the one before it."""

import json
from itertools import pairwise
from typing import Any

import pytest

from micro_agent import Limits, MicroAgent, Run, configure_lm, tool
from micro_agent.effects import Approval
from micro_agent.rules import AfterStep, BeforeFinish, BeforeTool, Event, Verdict, Violation, Warn
from micro_agent.run import Mode
from micro_agent.testing import ModelServer, Reply, call, calls, decision, final, text
from micro_agent.traces import TraceStore


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail(why: str) -> int:
    """Fail."""
    raise RuntimeError(why)


def rule(run: Run, event: Event) -> Verdict | None:
    """Forbids the first end, warns before and after some steps."""
    if isinstance(event, BeforeFinish):
        return None if any(step.tool == "fail" for step in run.steps) else Violation("Try fail first.")
    if isinstance(event, AfterStep):
        return Warn("Seven again.") if event.step.observation == 7 else None
    if isinstance(event, BeforeTool) and event.args.get("a") == 13:
        return Violation("Not 13.")
    return Warn("Is that wise?") if isinstance(event, BeforeTool) and event.tool == "fail" else None


ARGS = {"a": 1, "b": 2}
NATIVE = [
    call("add", ARGS, text="Let me add."),
    text("It is three."),
    calls(("add", {"a": 3, "b": 4}), ("nope", {}), ("add", {"a": "x"}), ("add", {"a": 13, "b": 1})),
    text(""),
    text('{"name": "add", "arguments": {"a": 1'),
    text("<think>Which?</think>" + json.dumps({"name": "add", "arguments": {"a": 5, "b": 2}})),
    call("add", '{"a": 1, "b": 2', finish_reason="length"),
    calls(("fail", {"why": "größer\n\ud83d\ude00"}), ("add", {"a": 0, "b": 7})),
    text("Three."),
]
JSON = [
    decision("add", ARGS),
    final("It is three."),
    calls(("add", {"a": 3, "b": 4}), ("nope", {}), ("add", {"a": 13, "b": 1})),
    text(""),
    text('{"tool": {"name": "add", "args": {"a": 1'),
    text("<think>Which?</think>" + json.dumps({"tool": {"name": "add", "args": {"a": 5, "b": 2}}})),
    decision("nope", {}),
    decision("fail", {"why": "größer\n"}),
    final("Three."),
]


def bodies(provider: str, mode: Mode, script: list[Reply]) -> tuple[Run, list[dict[str, Any]]]:
    """The run and the body of each of its requests."""
    with ModelServer(script) as server:
        url = server.url if provider == "ollama" else server.openai_url
        lm = configure_lm(provider, "scripted", url, fallback=False)
        agent = MicroAgent(tools=[add, fail], lm=lm, mode=mode, rules=[rule], limits=Limits(max_steps=30))
        run = agent.ask("What is 1 + 2, größenmäßig?")
        return run, [request.body or {} for request in server.chats]


def check(requests: list[dict[str, Any]]) -> None:
    """Each message list begins with the one before it; all else but the length of a reply is equal, byte by byte."""
    for before, after in pairwise(requests):
        assert after["messages"][: len(before["messages"])] == before["messages"]
        assert len(after["messages"]) > len(before["messages"])
        assert rest(before) == rest(after)


def rest(body: dict[str, Any]) -> str:
    """What must not change from request to request; a reply that was cut off makes room for a longer one."""
    options = {**body.get("options", {}), "num_predict": None}
    return json.dumps({**body, "messages": None, "max_tokens": None, "options": options})


@pytest.mark.parametrize("provider", ["openai", "ollama"])
@pytest.mark.parametrize("mode", ["native", "json"])
def test_each_request_begins_with_the_one_before(provider: str, mode: Mode) -> None:
    run, requests = bodies(provider, mode, NATIVE if mode == "native" else JSON)
    assert (run.status, run.answer, len(requests)) == ("completed", "Three.", 9)
    check(requests)
    assert ("tools" in requests[0]) == (mode == "native")
    assert (("response_format" if provider == "openai" else "format") in requests[0]) == (mode == "json")


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_roles_alternate_in_json_mode_and_no_message_is_empty(provider: str) -> None:
    _, requests = bodies(provider, "json", JSON)
    messages = requests[-1]["messages"]
    assert [message["role"] for message in messages] == ["system"] + ["user", "assistant"] * (
        len(messages) // 2 - 1
    ) + ["user"]
    assert all(message["content"].strip() for message in messages)


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_every_native_call_is_answered_before_anything_else_is_said(provider: str) -> None:
    _, requests = bodies(provider, "native", NATIVE)
    messages = requests[-1]["messages"]
    for index, message in enumerate(messages):
        count = len(message.get("tool_calls") or ())
        assert [after["role"] for after in messages[index + 1 : index + 1 + count]] == ["tool"] * count
        if provider == "openai":
            ids = [asked["id"] for asked in message.get("tool_calls") or ()]
            assert [after["tool_call_id"] for after in messages[index + 1 : index + 1 + count]] == ids
    assert "system" not in [message["role"] for message in messages[1:]]


@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_run_that_paused_goes_on_with_the_same_prefix(mode: Mode, store: TraceStore) -> None:
    sure = tool(requires_confirmation=True)(add)
    script = [call("add", ARGS), text(""), text("Three.")]
    with ModelServer(script) as server:
        lm = configure_lm("openai", "scripted", server.openai_url)
        run = MicroAgent(tools=[sure], lm=lm, mode=mode, rules=[], traces=store).ask("?")
        other = configure_lm("openai", "scripted", server.openai_url)
        agent = MicroAgent(tools=[sure], lm=other, mode=mode, rules=[], traces=store)
        done = agent.resume(run.id, Approval("approve"))
        check([request.body or {} for request in server.chats])
    assert (done.status, done.mode) == ("completed", mode)


@pytest.mark.parametrize("mode", ["native", "json"])
def test_the_record_says_how_much_two_requests_share(mode: Mode) -> None:
    run, requests = bodies("openai", mode, NATIVE if mode == "native" else JSON)
    system = 1
    sent = [len(body["messages"]) - system for body in requests]
    assert [made.request["messages"] for made in run.calls] == sent
    assert [made.request["shared"] for made in run.calls] == [0, *sent[:-1]]
    assert all(len(made.request["chain"]) == made.request["messages"] - made.request["shared"] for made in run.calls)


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_in_json_mode_a_reply_goes_back_as_the_model_wrote_it(provider: str) -> None:
    own = [
        '{ "tool":{"args" : {"b":2,"a":1},"name":"add"} }\n',
        '{"final":\n{"answer":"It is three."}}',
        '{"tool": {"name": "fail", "args": {"why": "gr\\u00f6\\u00dfer"}}}',
        '{"final": {"answer": "Three."}}',
    ]
    run, requests = bodies(provider, "json", [text(one) for one in own])
    assert (run.status, run.answer) == ("completed", "Three.")
    check(requests)
    said = [message["content"] for message in requests[-1]["messages"] if message["role"] == "assistant"]
    assert said[-3:] == own[:3]


def test_a_reply_that_was_read_with_repairs_goes_back_as_it_was_understood() -> None:
    odd = [
        text('{"tool": {"name": "add", "args": {"a": 1, "b": 2}'),
        text('{"tool": {"name": "add", "args": {"a": "3", "b": 4}}}'),
        text('<think>Hm.</think>{"tool": {"name": "add", "args": {"a": 5, "b": 6}}}'),
        text('{"tool": {"name": "fail", "args": {"why": "x"}}}'),
        final("Three."),
    ]
    _, requests = bodies("openai", "json", odd)
    said = [message["content"] for message in requests[-1]["messages"] if message["role"] == "assistant"]
    assert '{"tool":{"name":"add","args":{"a":3,"b":4}}}' in [one.replace(" ", "") for one in said]
    assert not any("think" in one for one in said)
