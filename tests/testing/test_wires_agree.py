"""Whatever a reply says, it is the same over both wires, whole and streamed."""

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micro_agent.testing import ModelServer, Received, Reply, calls

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))
ARGS = st.dictionaries(st.text(), JSON, max_size=3)
Said = tuple[str, str, list[tuple[str, Any]]]
"""Text, reasoning, and name and arguments of each call."""


class Talk:
    """One server and one connection for all examples."""

    def __init__(self, connection: HTTPConnection):
        self.connection = connection
        self.reply = Reply()

    def play(self, request: Received) -> Reply:
        return self.reply

    def hear(self, path: str, *, stream: bool) -> bytes:
        self.connection.request("POST", path, json.dumps({"messages": [], "stream": stream}))
        return self.connection.getresponse().read()


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    with closing(HTTPConnection("127.0.0.1", timeout=20)) as connection:
        talk = Talk(connection)
        with ModelServer(talk.play) as server:
            connection.port = int(server.url.rpartition(":")[2])
            yield talk


def openai_whole(body: bytes) -> Said:
    message = json.loads(body)["choices"][0]["message"]
    made = [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in message["tool_calls"]]
    return message["content"] or "", message["reasoning_content"], made


def openai_streamed(body: bytes) -> Said:
    texts, thoughts, made = [""], [""], dict[int, list[str]]()
    for event in body.decode().split("\n\n")[:-2]:
        delta = json.loads(event.removeprefix("data: "))["choices"][0]["delta"]
        texts.append(delta.get("content", ""))
        thoughts.append(delta.get("reasoning_content", ""))
        for part in delta.get("tool_calls", []):
            parts = made.setdefault(part["index"], [part["function"].get("name", "")])
            parts.append(part["function"]["arguments"])
    return "".join(texts), "".join(thoughts), [(name, json.loads("".join(parts))) for name, *parts in made.values()]


def ollama(body: bytes) -> Said:
    messages = [json.loads(line)["message"] for line in body.split(b"\n") if line]
    made = [call["function"] for message in messages for call in message.get("tool_calls", [])]
    return (
        "".join(message["content"] for message in messages),
        "".join(message.get("thinking", "") for message in messages),
        [(call["name"], call["arguments"]) for call in made],
    )


@settings(max_examples=25, deadline=None)
@given(text=st.text(), reasoning=st.text(), made=st.lists(st.tuples(st.text(), ARGS), min_size=1, max_size=3))
def test_a_reply_is_the_same_over_both_wires_whole_and_streamed(
    talk: Talk, text: str, reasoning: str, made: list[tuple[str, Any]]
):
    reply = calls(*made, text=text)
    talk.reply = Reply(text=text, reasoning=reasoning, calls=reply.calls, finish_reason="tool_calls")
    expected = (text, reasoning, made)
    assert openai_whole(talk.hear("/v1/chat/completions", stream=False)) == expected
    assert openai_streamed(talk.hear("/v1/chat/completions", stream=True)) == expected
    assert ollama(talk.hear("/api/chat", stream=False)) == expected
    assert ollama(talk.hear("/api/chat", stream=True)) == expected


@settings(max_examples=25, deadline=None)
@given(body=st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_body_breaks_the_server(talk: Talk, body: bytes):
    for path in ("/v1/chat/completions", "/api/chat", "/api/show"):
        talk.connection.request("POST", path, body)
        response = talk.connection.getresponse()
        response.read()
        assert response.status in (200, 400)
