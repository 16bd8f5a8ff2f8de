"""Chat completions as OpenAI's own client meets them: answers, streams, conversations, ends."""

import asyncio
import json
import socket
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent import Tool
from micro_agent.testing import call, error, text
from tests.server.openai.conftest import SUM, Client, Error, add, events, says
from tests.server.test_asking import Turnstile, soon

if TYPE_CHECKING:
    from tests.server.conftest import Start

ASKED = "What is 2+3?"
MARKED = '<tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>'
STEP = 'add {"a": 2, "b": 3} -> 5\n'


def test_an_answer_comes_with_what_was_done_for_it_and_no_call_is_left(start: "Start") -> None:
    client = Client(start(SUM, tools=[add]))
    done = client.chat(ASKED)
    run = client.serving.store.load(done.id.removeprefix("chatcmpl-"))
    choice = done.choices[0]
    assert (run.answer, choice.message.content, choice.finish_reason) == ("It is 5.", "It is 5.", "stop")
    assert (choice.message.tool_calls, choice.message.reasoning_content) == (None, STEP)
    assert (done.model, done.usage.prompt_tokens, done.usage.completion_tokens, done.usage.total_tokens) == (
        "micro-agent", 20, 10, 30,
    )  # fmt: skip
    assert done.micro_agent == {"trace_id": run.id, "status": "completed", "confirmation": None}


def test_a_stream_has_the_steps_as_they_come_and_the_answer_as_its_content(start: "Start") -> None:
    client = Client(start([text(f"I add. {MARKED}"), SUM[1]], tools=[add]))
    chunks = [chunk.choices[0] for chunk in client.chat(ASKED, stream=True)]
    assert "".join(chunk.delta.content or "" for chunk in chunks) == "It is 5."
    assert (chunks[0].delta, chunks[-1].delta, chunks[-1].finish_reason) == (
        {"role": "assistant", "content": ""}, {}, "stop",
    )  # fmt: skip
    told = "".join(chunk.delta.reasoning_content or "" for chunk in chunks)
    first, asked_to_make, *rest = told.splitlines(keepends=True)
    assert (first, "".join(rest)) == ("I add.\n", f"{STEP}It is 5.")
    assert "make_asked" in asked_to_make
    assert not any("tool_calls" in chunk.delta for chunk in chunks)


def test_a_step_is_an_event_of_its_own_which_says_nothing_to_others(start: "Start") -> None:
    client = Client(start(SUM, tools=[add]))
    body = {"messages": [says("user", ASKED)], "stream": True, "stream_options": {"include_usage": True}}
    answer = client.posted("/v1/chat/completions", **body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = events(answer.text)
    named = [data for name, data in found if name == "micro_agent.step"]
    assert [data["choices"][0]["delta"] for data in named] == [{}]
    assert (named[0]["micro_agent"]["step"]["tool"], named[0]["micro_agent"]["step"]["observation"]) == ("add", 5)
    assert found[-1] == (None, "[DONE]")
    assert found[-2][1]["choices"] == []
    assert found[-2][1]["usage"] == {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
    assert all(data["usage"] is None for _, data in found[:-2])
    without = client.posted("/v1/chat/completions", **{**body, "stream_options": None})
    assert "usage" not in events(without.text)[0][1]


def test_usage_that_nobody_knows_is_none(start: "Start") -> None:
    client = Client(start([text("Hello.", usage=None), text("Hello.", usage=None)]))
    assert client.chat("Hi!").usage is None
    chunks = list(client.chat("Hi!", stream=True, stream_options={"include_usage": True}))
    assert (chunks[-1].choices, chunks[-1].usage) == ([], None)


def test_what_the_client_has_for_the_system_prompt_stands_behind_the_servers(start: "Start") -> None:
    client = Client(start([text("Ahoy."), text("Ahoy.")]))
    done = client.chat(
        says("system", "Be a pirate."), says("developer", [{"type": "text", "text": "Be brief."}]), "Hi!"
    )
    system, question = client.sent()
    assert system["content"].endswith("\n\nBe a pirate.\n\nBe brief.")
    assert system["content"].startswith("You are a careful assistant with tools.")
    assert question["content"] == "Hi!"
    assert client.serving.store.load(done.micro_agent["trace_id"]).system == "Be a pirate.\n\nBe brief."
    client.chat("Hi!")
    assert "pirate" not in client.sent()[0]["content"], "it was that of one request"


def test_a_conversation_that_is_known_goes_on_with_all_that_tools_returned(start: "Start") -> None:
    client = Client(start([*SUM, text("Twice that is 10."), text("It is 20.")], tools=[add]))
    first = client.chat(ASKED)
    answer = says("assistant", " It is 5.\n")  # a front end puts blanks around it
    second = client.chat(ASKED, answer, "And twice that?")
    run = client.serving.store.load(second.micro_agent["trace_id"])
    assert run.follows == first.micro_agent["trace_id"]
    assert [message["role"] for message in client.sent()] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    third = client.chat(ASKED, answer, "And twice that?", says("assistant", "Twice that is 10."), "And that?")
    assert client.serving.store.load(third.micro_agent["trace_id"]).follows == run.id


def test_a_conversation_from_elsewhere_begins_with_its_messages(start: "Start") -> None:
    client = Client(start([text("It is 10.")]))
    call: Any = {"id": "c1", "type": "function", "function": {"name": "sum", "arguments": '{"a": 2}'}}
    done = client.chat(
        "What is 2+3?", {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "5"}, says("assistant", "It is 5."), "And twice that?",
    )  # fmt: skip
    run = client.serving.store.load(done.micro_agent["trace_id"])
    assert (run.follows, run.question, [message["role"] for message in run.history]) == (
        None, "And twice that?", ["user", "assistant", "tool", "assistant"],
    )  # fmt: skip
    assert run.history[1]["tool_calls"] == [{"id": "c1", "name": "sum", "args": {"a": 2}}]


def test_a_conversation_whose_records_are_gone_begins_with_its_messages(start: "Start") -> None:
    client = Client(start([text("One."), text("Two."), text("Three."), text("Three.")]))
    said = ["1?", says("assistant", "One."), "2?", says("assistant", "Two."), "3?"]
    first = client.chat(said[0])
    second = client.chat(*said[:3])
    store = client.serving.store
    store.path(first.micro_agent["trace_id"]).unlink()
    third = store.load(client.chat(*said).micro_agent["trace_id"])
    assert (third.follows, len(third.history)) == (None, 4), "not all runs before it are on record"
    store.path(second.micro_agent["trace_id"]).unlink()
    assert store.load(client.chat(*said).micro_agent["trace_id"]).follows is None


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_without_an_answer_is_an_error_and_not_asked_again(start: "Start", stream: bool) -> None:
    client = Client(start([error(400, "no such model"), *[call("add", {"a": 1, "b": 1})] * 6], tools=[add]))
    with pytest.raises(Error, match="no such model") as failed:
        list(client.chat("Hi!", stream=stream))
    assert (failed.value.code, failed.value.type) == ("MODEL_NOT_FOUND", "server_error")
    assert stream or failed.value.headers["x-should-retry"] == "false"
    with pytest.raises(Error, match=r"stopped \(max_steps\)") as stopped:
        list(client.chat("Hi!", stream=stream))
    assert stopped.value.code == "max_steps"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_ends_its_run(start: "Start", path: str, stream: bool) -> None:
    turnstile = Turnstile()
    serving = start([call("turn", {})] * 3, tools=[turnstile.turn])
    asked: Any = {"messages": [says("user", "Go.")]} if "chat" in path else {"input": "Go."}
    body = json.dumps({"model": "micro-agent", "stream": stream, **asked})
    head = f"POST {path} HTTP/1.1\r\nHost: {serving.authority}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", serving.port), timeout=20) as client:
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        soon(lambda: list(serving.store.open_ids()))
    turnstile.give(3)
    soon(lambda: list(serving.store.ids()) and not serving.pool.running())
    assert [serving.store.load(run).termination_reason for run in serving.store.ids()] == ["cancelled"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
def test_a_server_that_ends_says_so(start: "Start", path: str) -> None:
    turnstile = Turnstile()
    client = Client(start([call("turn", {})] * 3, tools=[turnstile.turn]))
    asked: Any = {"messages": [says("user", "Go.")]} if "chat" in path else {"input": "Go."}
    with client.serving.client.stream("POST", path, json={"model": "micro-agent", "stream": True, **asked}) as answer:
        lines = answer.iter_lines()
        (run_id,) = client.serving.store.open_ids()
        live = client.serving.pool.live(run_id)
        assert live is not None
        asyncio.run_coroutine_threadsafe(client.serving.pool.close(0), live.task.get_loop()).result(20)
        told = "\n".join(lines)
    assert f"micro-agent resume {run_id}" in told
    assert "[DONE]" not in told
    last = events(told)[-1][1]
    assert last.get("error", last.get("response"))["type" if "chat" in path else "status"] in ("server_error", "failed")


def test_a_secret_leaves_masked(start: "Start", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdef")
    peek = Tool("peek", "Look.", {"type": "object"}, lambda: "sk-0123456789abcdef")
    script = [call("peek", {}), text("It is sk-0123456789abcdef."), text("I said so.")]
    client = Client(start([*script, *script[:2]], tools=[peek]))
    answer = client.says("?")
    assert answer == "It is [env:SOME_API_KEY]."
    client.chat("?", says("assistant", answer), "What?")
    assert client.serving.store.load(next(client.serving.store.ids())).follows is not None
    told = client.posted("/v1/chat/completions", messages=[says("user", "?")], stream=True).text
    assert ("sk-0123" in told, "It is [env:SOME_API_KEY]." in told) == (False, True)


def test_too_many_runs_are_told_with_when_to_come_back(start: "Start") -> None:
    turnstile = Turnstile()
    client = Client(start([call("turn", {}), text("Done.")], tools=[turnstile.turn], max_running=1))
    stream = client.chat("Hi!", stream=True)
    next(stream)
    with pytest.raises(Error) as refused:
        client.chat("Hi!")
    turnstile.give()
    assert [chunk.choices[0].finish_reason for chunk in stream][-1] == "stop"
    assert (refused.value.code, refused.value.type) == ("too_many_runs", "rate_limit_error")
    assert int(refused.value.headers["retry-after"]) >= 1
