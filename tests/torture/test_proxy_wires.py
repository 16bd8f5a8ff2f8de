"""The official clients of the Responses and the Messages API read a mended reply as one with a call of the server's.

Each client asks twice: the proxy before a server whose model writes its call into the text, and a server that makes
the call itself. What the client has at the end is the same, but for ids.
"""

import json
import socket
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from micro_agent.proxy.events import Events
from micro_agent.proxy.wires.messages import MessagesWire
from micro_agent.proxy.wires.responses import ResponsesWire
from micro_agent.testing import Received
from tests.each import each
from tests.proxy.conftest import HEAD, Start, piece, played
from tests.proxy.conftest import start as start
from tests.proxy.wires.saying import CALL, Server, message_of, messages_stream, refuses, response_of, responses_stream

pytestmark = pytest.mark.torture

MARKUP = [
    "<tool_",
    "call>",
    json.dumps({"name": "weather", "arguments": {"city": "Paris", "days": "2"}}),
    "</tool_call>",
]
FIELDS = {"city": {"type": "string"}, "days": {"type": "integer"}}
SCHEMA = {"type": "object", "properties": FIELDS, "required": ["city", "days"]}
CLOSES = b"\r\nConnection: close\r\n"
SAID: list[tuple[list[str], list[dict[str, str]]]] = [(MARKUP, []), ([], [CALL])]
"""What the server behind the proxy says, and the one that makes its calls itself."""


def player(streams: Callable[..., list[bytes]], whole: Callable[[bytes], Any], told: Any) -> Callable[..., None]:
    """A server that says this, streamed or not as it is asked."""

    def play(connection: socket.socket, request: Received) -> None:
        events = streams(**told)
        if (request.body or {}).get("stream"):
            connection.sendall(HEAD.replace(b"\r\n", CLOSES, 1))
            for event in events:
                connection.sendall(piece(event))
            connection.sendall(piece(b""))
        else:
            body = json.dumps(whole(b"".join(events))).encode()
            head = (
                f"HTTP/1.1 200 OK{CLOSES.decode()}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            connection.sendall(head.encode() + body)

    return play


def alike(value: Any) -> Any:
    """A reply without what differs between any two: ids, numbers, and fields that this server alone has."""
    if isinstance(value, dict):
        left_out = ("id", "call_id", "item_id", "sequence_number", "x_unknown", "x_kept", "logprobs")
        return {name: alike(one) for name, one in value.items() if name not in left_out}  # pyright: ignore
    return list(map(alike, value)) if isinstance(value, list) else value  # pyright: ignore


SERVERS: list[tuple[Server, str]] = [("full", ""), ("full", "I think."), ("ollama", "I think.")]


@each(["server", "thought"], SERVERS)
def test_openai_responses(server: Server, thought: str, start: Start) -> None:
    tool: Any = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}
    asked: dict[str, Any] = {"model": "m", "input": "Weather in Paris?", "tools": [tool]}

    def told(url: str) -> Any:
        client: Any = import_module("openai").OpenAI(base_url=f"{url}/v1", api_key="sk-none", max_retries=0)
        whole = client.responses.create(**asked)
        with client.responses.stream(**asked) as stream:
            events = [alike(event.to_dict()) for event in stream]
            final = stream.get_final_response()
        deltas = [event for event in client.responses.create(**asked, stream=True) if "arguments" in event.type]
        return alike(whole.to_dict()), events, alike(final.to_dict()), [alike(one.to_dict()) for one in deltas]

    found: list[Any] = []
    for at, (pieces, calls) in enumerate(SAID):
        said = {"pieces": pieces, "calls": calls, "thought": thought, "server": server}
        with played(player(responses_stream, response_of, said)) as upstream:
            found.append(told(start(upstream.url).url if at == 0 else upstream.url))
    assert found[0][0]["output"][-1]["arguments"] == CALL["arguments"]
    assert found[0] == found[1]


@each(["server", "thought"], [*SERVERS, ("llama.cpp", "I think.")])
def test_anthropic_messages(server: Server, thought: str, start: Start) -> None:
    tool: Any = {"name": "weather", "input_schema": SCHEMA}
    question: Any = {"role": "user", "content": "Weather in Paris?"}
    asked: dict[str, Any] = {"model": "m", "max_tokens": 99, "messages": [question], "tools": [tool]}

    def told(url: str) -> Any:
        client: Any = import_module("anthropic").Anthropic(base_url=url, api_key="sk-none", max_retries=0)
        whole = client.messages.create(**asked)
        with client.messages.stream(**asked) as stream:
            events = [alike(event.to_dict()) for event in stream]
            final = stream.get_final_message()
        # llama.cpp stops its thoughts behind all else, and so it does where a call is not yet known to come
        return alike(whole.to_dict()), events if server != "llama.cpp" else [], alike(final.to_dict())

    found: list[Any] = []
    for at, (pieces, calls) in enumerate(SAID):
        said = {"pieces": pieces, "calls": calls, "thought": thought, "server": server}
        with played(player(messages_stream, message_of, said)) as upstream:
            found.append(told(start(upstream.url).url if at == 0 else upstream.url))
    assert found[0][0]["content"][-1]["input"] == {"city": "Paris", "days": 2}
    assert found[0] == found[1]


def test_a_refusal_that_holds_the_reply_is_a_stream_that_each_client_reads(start: Start) -> None:
    said = "".join(MARKUP)
    refusals = [
        (500, {"error": {"code": 500, "type": "server_error", "message": f"Failed to parse input at pos 0: {said}"}}),
        (400, {"error": {"code": "tool_use_failed", "message": "?", "failed_generation": said}}),
    ]
    question: Any = [{"role": "user", "content": "Weather in Paris?"}]
    function: Any = {"name": "weather", "parameters": SCHEMA}
    key: Any = {"api_key": "sk-none", "max_retries": 0}

    @each(["status", "body"], refusals)
    def holds(status: int, body: dict[str, Any]) -> None:
        with played(refuses(status, body)) as upstream:
            url = start(upstream.url).url
            tools: Any = [{"type": "function", "function": function}]
            with import_module("openai").OpenAI(base_url=f"{url}/v1", **key) as openai:
                with openai.chat.completions.stream(model="m", messages=question, tools=tools) as stream:
                    completion = stream.get_final_completion()
                tools = [{"type": "function", **function, "strict": False}]
                with openai.responses.stream(model="m", input=question, tools=tools) as stream:
                    response = stream.until_done().get_final_response()
            tools = [{"name": "weather", "input_schema": SCHEMA}]
            asked: Any = {"model": "m", "max_tokens": 99, "messages": question, "tools": tools}
            with (
                import_module("anthropic").Anthropic(base_url=url, **key) as anthropic,
                anthropic.messages.stream(**asked) as stream,
            ):
                message = stream.get_final_message()
        assert [completion.model, response.model, message.model] == ["m"] * 3
        made = json.loads(completion.choices[0].message.tool_calls[0].function.arguments)
        assert [made, json.loads(response.output[0].arguments), message.content[0].input] == [
            json.loads(CALL["arguments"])
        ] * 3

    holds()


def test_llama_cpp(start: Start) -> None:
    from tests.llama.server import llama

    function = {"name": "weather", "description": "Tell the weather."}
    noise = {"model": "tiny", "temperature": 1.0, "seed": 1, "stream": True}
    asked = [
        (ResponsesWire(), {
            **noise, "input": "Weather in Paris?", "max_output_tokens": 400, "tool_choice": "required",
            "tools": [{"type": "function", **function, "parameters": SCHEMA}],
        }),
        (MessagesWire(), {
            **noise, "messages": [{"role": "user", "content": "Weather in Paris?"}], "max_tokens": 400,
            "tool_choice": {"type": "any"}, "tools": [{**function, "input_schema": SCHEMA}],
        }),
    ]  # fmt: skip
    with llama() as server:
        proxied = start(server.openai_url)
        for wire, body in asked:
            reader = wire.reader()
            for event in Events().feed(proxied.post(body, wire.path).content):
                reader.feed(event)
            streamed, whole = reader.reply(), wire.reply(proxied.post({**body, "stream": False}, wire.path).json())
            for reply in (streamed, whole):
                assert reply is not None
                assert {call.name for call in reply.calls} == {"weather"}
                assert all(set(json.loads(call.arguments)) == {"city", "days"} for call in reply.calls)
                assert reply.finish_reason == "tool_calls"
    assert {run.status for run in proxied.runs()} == {"completed"}
