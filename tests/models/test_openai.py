"""OpenAI's wire against a real server: what is sent, and what is made of whole and of streamed replies."""
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

import asyncio
import copy
import gc
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from time import monotonic
from typing import Any

import dspy
import pytest
from dspy import lm15
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.decoding.decision import ModelReply, RawCall
from micro_agent.errors import ConfigurationError
from micro_agent.models.call_deltas import CallDeltas
from micro_agent.models.failures import failure_of
from micro_agent.models.openai import AsyncOpenAIEngine, OpenAIEngine
from micro_agent.models.reply import reply_of, usage_of
from micro_agent.models.scope import CallScope, calling
from micro_agent.testing import ModelServer, Received, Reply, call, calls, cut, error, hang, malformed, raw, text

ADD = lm15.FunctionTool(name="add", description="Adds.", parameters={"type": "object", "properties": {"a": {}}})
Ask = Callable[..., lm15.Response]


def request(*messages: lm15.Message, **keys: Any) -> lm15.Request:
    return lm15.Request(model="openai/whatever", messages=messages or (lm15.Message.user("hi"),), **keys)


def ask(url: str, on_text: Callable[[str], None] | None = None, asked: lm15.Request | None = None, **keys: Any) -> Any:
    engine = OpenAIEngine(model="local", base_url=url, **keys)
    try:
        with calling(CallScope(on_text=on_text)):
            return engine.complete(asked or request())
    finally:
        engine.close()


def aask(url: str, on_text: Callable[[str], None] | None = None, asked: lm15.Request | None = None, **keys: Any) -> Any:
    async def run() -> lm15.Response:
        twin = OpenAIEngine(model="local", base_url=url, **keys).twin()
        try:
            with calling(CallScope(on_text=on_text)):
                return await twin.complete(asked or request())
        finally:
            await twin.aclose()

    return asyncio.run(run())


both = pytest.mark.parametrize("ask", [ask, aask])


def sse(*events: Any, end: str = "data: [DONE]\n\n", content_type: str = "text/event-stream") -> Reply:
    """A stream of these events: objects become data, strings stand as they are."""
    lines = [event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n" for event in events]
    return raw(("".join(lines) + end).encode(), content_type=content_type)


def delta(finish_reason: str | None = None, **keys: Any) -> dict[str, Any]:
    return {"model": "said", "choices": [{"index": 0, "delta": keys, "finish_reason": finish_reason}]}


def streamed(*replies: Reply) -> tuple[lm15.Response, list[str]]:
    said: list[str] = []
    with ModelServer(replies) as server:
        return ask(server.openai_url, said.append), said


def broken(*replies: Reply, wanted: type[dspy.LMError] = dspy.LMError) -> tuple[dspy.LMError, list[str]]:
    said: list[str] = []
    with ModelServer(replies) as server, pytest.raises(wanted) as caught:
        ask(server.openai_url, said.append)
    return caught.value, said


@both
def test_the_request_on_the_wire(ask: Ask) -> None:
    tool_turn = (
        lm15.Message.user("hi"),
        lm15.Message.assistant([lm15.ThinkingPart("hm"), lm15.ToolCallPart("c1", "add", {"a": "é"})]),
        lm15.Message("tool", (lm15.ToolResultPart("c1", (lm15.TextPart("3"),), name="add"),)),
    )
    schema: dict[str, Any] = {"type": "json_schema", "name": "d", "schema": {"type": "object"}}
    config = lm15.Config(temperature=0.2, max_tokens=9, top_p=0.5, seed=1, stop=("x",), response_format=schema)
    asked = request(*tool_turn, system="Be brief.", tools=(ADD,), config=config)
    with ModelServer([text("ok")]) as server:
        ask(server.openai_url, None, asked, api_key=" sk-test\n")
    sent = server.chats[0]
    assert sent.headers["authorization"] == "Bearer sk-test"
    assert sent.body == {
        "model": "local",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":"\\u00e9"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "3"},
        ],
        "temperature": 0.2,
        "max_tokens": 9,
        "top_p": 0.5,
        "seed": 1,
        "stop": ["x"],
        "tools": [
            {
                "type": "function",
                "function": {"name": "add", "description": "Adds.", "parameters": ADD.parameters},
            }
        ],
        "response_format": {"type": "json_schema", "json_schema": {"name": "d", "schema": {"type": "object"}}},
    }


def test_requests_grow_by_appending_bytes() -> None:
    engine = OpenAIEngine(model="m", base_url="http://127.0.0.1:1")
    messages = [lm15.Message.user("a"), lm15.Message.assistant("b"), lm15.Message.user("c")]
    bodies = [engine.render(request(*messages[: k + 1]), stream=False) for k in range(3)]
    assert bodies == [engine.render(request(*messages[: k + 1]), stream=False) for k in range(3)]
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter.removesuffix(b"]}"))


@both
def test_without_a_key_no_authorization_is_sent(ask: Ask) -> None:
    with ModelServer([text("ok"), text("ok")]) as server:
        ask(server.openai_url)
        ask(server.openai_url, api_key="")
    assert [chat.headers.get("authorization") for chat in server.chats] == [None, None]


@pytest.mark.parametrize(
    ("url", "field"),
    [
        ("https://api.openai.com/v1", b'"max_completion_tokens":5'),
        ("https://api.groq.com/openai/v1", b'"max_tokens":5'),
    ],
)
def test_the_limit_of_tokens_has_the_name_that_the_host_knows(url: str, field: bytes) -> None:
    engine = OpenAIEngine(model="m", base_url=url)
    assert field in engine.render(request(config=lm15.Config(max_tokens=5)), stream=False)


@pytest.mark.parametrize("key", ["sk-\u2026", "a\nb", "a\x00"])
def test_a_key_that_cannot_be_one_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigurationError, match="API key") as caught:
        OpenAIEngine(model="m", base_url="http://127.0.0.1:1", api_key=key)
    assert key not in str(caught.value)


@both
@pytest.mark.parametrize("stream", [False, True])
def test_text_reasoning_and_usage(ask: Ask, stream: bool) -> None:
    said: list[str] = []
    with ModelServer([text("The answer is 4.", reasoning="2+2", usage=(7, 3), model="said")]) as server:
        response = ask(server.openai_url, said.append if stream else None)
    assert reply_of(response) == ModelReply("The answer is 4.", "2+2", (), "stop")
    assert (response.model, usage_of(response), response.message.text) == ("said", (7, 3), None)
    assert server.chats[0].body is not None
    assert server.chats[0].body.get("stream", False) is stream
    assert ("".join(said), len(said) > 1) == (("The answer is 4.", True) if stream else ("", False))


@both
@pytest.mark.parametrize("stream", [False, True])
def test_several_calls(ask: Ask, stream: bool) -> None:
    said: list[str] = []
    with ModelServer([calls(("add", {"a": 1, "b": [2, "x"]}), ("now", {}), text="Wait.")]) as server:
        reply = reply_of(ask(server.openai_url, said.append if stream else None))
    assert [(c.name, json.loads(c.arguments), bool(c.id)) for c in reply.calls] == [
        ("add", {"a": 1, "b": [2, "x"]}, True),
        ("now", {}, True),
    ]
    assert (reply.text, reply.finish_reason, "".join(said)) == ("Wait.", "tool_calls", "Wait." if stream else "")


@both
@pytest.mark.parametrize("stream", [False, True])
def test_odd_replies_are_read_all_the_same(ask: Ask, stream: bool) -> None:
    on_text = print if stream else None
    script = [
        call("", {}, id=""),
        call("add", '{"a": ', finish_reason="length"),
        text("", finish_reason=None, usage=None),
    ]
    with ModelServer(script) as server:
        nameless, cut_off, empty = (reply_of(ask(server.openai_url, on_text)) for _ in range(3))
    assert [c.name for c in nameless.calls] == [""]
    assert (cut_off.calls[0].arguments, cut_off.cut_off) == ('{"a": ', True)
    assert (empty.text, empty.calls, empty.finish_reason) == ("", (), "stop")


@both
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("reply", "code", "retry"),
    [
        (error(401, "bad key sk-secret-key"), "AUTH", False),
        (error(404, "The model `local` does not exist", code="model_not_found"), "MODEL_NOT_FOUND", False),
        (error(429, "slow down", retry_after=7), "RATE_LIMITED", True),
        (error(429, "no credit", code="insufficient_quota"), "BILLING", False),
        (error(400, "too long", code="context_length_exceeded"), "CONTEXT_OVERFLOW", False),
        (error(503, "loading"), "SERVER_ERROR", True),
        (error(200, "it broke"), "SERVER_ERROR", True),
        (malformed(), "BAD_REPLY", False),
        (raw(b"<html>login</html>", content_type="text/html"), "SERVER_ERROR", True),
        (cut(), "SERVER_ERROR", True),
        (hang(0), "SERVER_ERROR", True),
    ],
)
def test_what_goes_wrong_is_told_apart(ask: Ask, stream: bool, reply: Reply, code: str, retry: bool) -> None:
    said: list[str] = []
    with ModelServer([reply]) as server, pytest.raises(dspy.LMError) as caught:
        ask(server.openai_url, said.append if stream else None, api_key="sk-secret-key")
    failure = failure_of(caught.value, base_url=server.openai_url, model="local")
    assert (failure.code, failure.retryable) == (code, retry and not said)
    assert server.url in failure.message
    assert "sk-secret-key" not in failure.message + str(caught.value)


@both
def test_an_error_carries_body_status_and_the_time_to_wait(ask: Ask) -> None:
    body = {"error": {"code": "tool_use_failed", "message": "no", "failed_generation": "<f>"}}
    with (
        ModelServer([error(400, "", body=body, retry_after=7)]) as server,
        pytest.raises(dspy.LMInvalidRequestError) as e,
    ):
        ask(server.openai_url)
    assert (e.value.status, e.value.retry_after, e.value.provider_code) == (400, 7.0, "tool_use_failed")
    assert json.loads(vars(e.value)["body"]) == body


@both
def test_the_deadline_of_the_call_ends_it(ask: Ask) -> None:
    start = monotonic()
    with ModelServer([hang(30)]) as server, pytest.raises(dspy.LMTimeoutError, match=r"no reply from .* within 0.2 s"):
        ask(server.openai_url, timeout_s=0.2)
    assert monotonic() - start < 10


USAGE = {"prompt_tokens": 5, "completion_tokens": 2}


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(sse(delta(content="a"), delta(content="b"), delta("stop")), id="plain"),
        pytest.param(sse({"choices": []}, delta(content="ab"), delta("stop")), id="no choices at first"),
        pytest.param(sse({"choices": None}, {}, delta(content="ab"), delta("stop")), id="no choices at all"),
        pytest.param(sse(delta(content="ab"), delta("stop"), end=""), id="no [DONE]"),
        pytest.param(sse(delta(content="ab")), id="no finish reason"),
        pytest.param(sse(": ping\n\n", "id: 7\n", "retry: 3\n\n", "\n", delta("stop", content="ab")), id="comments"),
        pytest.param(
            sse("data: \n\n", delta(content="a"), "data:\n\n", "data\r\n", delta("stop", content="b"), "data:\n\n"),
            id="events without data",
        ),
        pytest.param(
            sse('data:{"choices":[{"delta":{"content":"ab"}}]}\r\n\r\n', "data:[DONE]\r\n", end=""), id="CRLF"
        ),
        pytest.param(sse('data: {"choices": [{"delta":\ndata: {"content": "ab"}}]}\n\n'), id="an event in two lines"),
        pytest.param(sse('{"choices": [{"delta": {"content": "ab"}}]}\n'), id="bare JSON lines"),
        pytest.param(
            sse("data: null\n\n", 'data: "ping"\n\n', "data: 3\n\n", delta("stop", content="ab")), id="no objects"
        ),
        pytest.param(sse("event: message\n", delta("stop", content="ab")), id="a named event"),
        pytest.param(
            sse({"choices": ["x", {"index": 1, "delta": {"content": "z"}}]}, delta(content="ab")), id="choices"
        ),
        pytest.param(sse(delta(content=[{"type": "text", "text": "ab"}]), delta("stop")), id="content in parts"),
        pytest.param(sse({"choices": [{"message": {"content": "ab"}, "finish_reason": "stop"}]}), id="a whole message"),
        pytest.param(sse(delta("stop", content="ab") | {"error": None}), id="an error that is none"),
        pytest.param(sse(delta("stop", content="ab", tool_calls=None, function_call=None)), id="nulls"),
    ],
)
def test_streams_of_every_kind(reply: Reply) -> None:
    response, said = streamed(reply)
    assert reply_of(response) == ModelReply("ab", None, (), "stop")
    assert ("".join(said), usage_of(response)) == ("ab", (None, None))


@pytest.mark.parametrize(
    "events",
    [
        [delta("stop", content="ab"), {"choices": [], "usage": USAGE}],
        [delta(content="ab") | {"usage": None}, delta("stop") | {"usage": USAGE}, {"choices": []}],
        [delta("stop", content="ab"), {"choices": [], "x_groq": {"usage": USAGE}}],
        [
            delta(content="ab") | {"usage": {"prompt_tokens": 5, "completion_tokens": 1}},
            delta("stop") | {"usage": USAGE},
        ],
    ],
)
def test_usage_wherever_it_stands(events: list[Any]) -> None:
    assert usage_of(streamed(sse(*events))[0]) == (5, 2)


def test_reasoning_refusal_and_the_legacy_call_in_pieces() -> None:
    response, said = streamed(
        sse(
            delta(reasoning_content="h", reasoning="h"),
            delta(thinking="m"),
            delta(refusal="I "),
            delta(refusal="won't"),
            delta(function_call={"name": "add", "arguments": ""}),
            delta(function_call={"arguments": '{"a":'}),
            delta("function_call", function_call={"arguments": " 1}"}),
        )
    )
    assert reply_of(response) == ModelReply("I won't", "hm", (RawCall("add", '{"a": 1}'),), "tool_calls")
    assert said == []


def test_a_character_in_two_halves_is_one() -> None:
    response, said = streamed(
        sse('data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n', delta("stop", content="\ude00"))
    )
    assert (reply_of(response).text, said) == ("😀", ["\ufffd", "\ufffd"])


@both
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("beginning", ["", ": ping\n\n", "event: message\n"])
def test_a_stream_that_nobody_asked_for_or_that_is_called_json_is_read(ask: Ask, stream: bool, beginning: str) -> None:
    events = beginning, delta(content="It is "), delta(content="four."), delta("stop")
    said: list[str] = []
    with ModelServer([sse(*events, content_type="application/json")]) as server:
        response = ask(server.openai_url, said.append if stream else None)
    assert reply_of(response).text == "It is four."
    assert said == (["It is four."] if stream else [])


@both
def test_half_a_stream_that_nobody_asked_for_is_no_reply(ask: Ask) -> None:
    half = raw(b'data: {"choices": [{"index": 0, "delta": {"content": "It is "}}]}\n\n')
    with ModelServer([half]) as server, pytest.raises(dspy.LMTransportError):
        ask(server.openai_url, None)


def test_an_error_after_the_token_limit_is_the_token_limit() -> None:
    over: dict[str, Any] = {"choices": [], "error": {"code": 400, "message": "Token limit reached"}}
    response, said = streamed(sse(delta(content="It is"), delta("length"), over, end=""))
    assert (response.finish_reason, reply_of(response).text, said) == ("length", "It is", ["It is"])


def test_a_key_too_short_to_be_one_is_not_masked() -> None:
    with ModelServer([error(400, "no such token")]) as server, pytest.raises(dspy.LMError) as caught:
        ask(server.openai_url, None, api_key="k")
    assert "no such token" in str(caught.value)


def test_a_server_that_does_not_stream_is_understood() -> None:
    whole = {"choices": [{"message": {"content": "ab"}, "finish_reason": "stop"}], "usage": USAGE}
    response, said = streamed(raw(whole, content_type="application/json; charset=utf-8"))
    assert (reply_of(response).text, said, usage_of(response)) == ("ab", ["ab"], (5, 2))
    with ModelServer([raw(whole)]) as server:
        assert reply_of(aask(server.openai_url, said.append)).text == "ab"
    assert said == ["ab", "ab"]


def counts_no_streams(asked: Received) -> Reply:
    if asked.body and "stream_options" in asked.body:
        return error(400, "stream_options is not allowed")
    return text("It is four.", usage=(7, 3))


@both
def test_a_server_that_refuses_stream_options_is_asked_without_them(ask: Ask) -> None:
    said: list[str] = []
    with ModelServer(counts_no_streams) as server:
        response = ask(server.openai_url, said.append)
    assert (reply_of(response).text, "".join(said), usage_of(response)) == ("It is four.", "It is four.", (None, None))
    first, second = [dict(chat.body or {}) for chat in server.chats]
    assert first.pop("stream_options") == {"include_usage": True}
    assert second == first


def test_that_it_refuses_them_is_remembered() -> None:
    with ModelServer(counts_no_streams) as server:
        engine = OpenAIEngine(model="local", base_url=server.openai_url)
        for _ in range(2):
            with calling(CallScope(on_text=print)):
                engine.complete(request())
        assert usage_of(engine.complete(request())) == (7, 3)  # a reply that is not streamed has it anyway
        engine.close()
    assert ["stream_options" in (chat.body or {}) for chat in server.chats] == [True, False, False, False]


@both
def test_a_server_that_refuses_them_all_the_same_is_not_asked_for_ever(ask: Ask) -> None:
    with (
        ModelServer([error(400, "unknown field: stream_options")], repeat=True) as server,
        pytest.raises(dspy.LMInvalidRequestError, match="stream_options"),
    ):
        ask(server.openai_url, print)
    assert len(server.chats) == 2


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([delta(content="a"), {"error": {"message": "it broke"}}], dspy.LMServerError),
        ([delta(content="a"), {"error": "it broke"}], dspy.LMServerError),
        ([delta(content="a"), {"error": {"message": "it broke", "code": 429}}], dspy.LMRateLimitError),
        ([delta(content="a"), 'event: error\ndata: {"message": "it broke"}\n\n'], dspy.LMServerError),
        ([delta(content="a"), 'error: {"message": "it broke", "code": 500}\n\n'], dspy.LMServerError),
        ([delta(content="a"), '{"error": {"message": "it broke"}}\n'], dspy.LMServerError),
    ],
)
def test_an_error_in_the_middle(events: list[Any], kind: type[dspy.LMError]) -> None:
    error, said = broken(sse(*events), wanted=kind)
    assert "it broke" in str(error)
    assert "it broke" in vars(error)["body"]
    assert (said, vars(error)["emitted"], failure_of(error).retryable) == (["a"], True, False)


@pytest.mark.parametrize(
    "reply",
    [
        sse(delta(content="a"), end=""),
        sse(delta(content="a"), 'data: {"choices": [{"del', end=""),
        sse(delta(content="a"), end="data: [DO"),
        cut(after_chunks=2, reply=text("a")),
        cut(after_bytes=300, reply=text("abc")),
    ],
)
def test_half_a_stream_is_no_reply(reply: Reply) -> None:
    assert broken(reply, wanted=dspy.LMTransportError)[0].code == "transport"


@pytest.mark.parametrize(
    "event",
    [
        'data: {"choices": [\n\n',
        "data: {\n" * 200,
        'data: {"a": ' * 3 + "\n\n",
        pytest.param("event: error\ndata:\n\n", id="an error that says nothing"),
    ],
)
def test_an_event_that_is_no_json_is_no_reply(event: str) -> None:
    error, _ = broken(sse(delta(content="a"), event))
    assert (failure_of(error).code, vars(error)["emitted"]) == ("BAD_REPLY", True)


def test_nothing_was_emitted_before_an_early_error() -> None:
    error, said = broken(sse({"error": "it broke"}))
    assert (said, vars(error)["emitted"], failure_of(error).retryable) == ([], False, True)


def test_an_async_error_in_the_middle_says_what_was_emitted() -> None:
    said: list[str] = []
    with ModelServer([sse(delta(content="a"), {"error": "it broke"})]) as server, pytest.raises(dspy.LMError) as caught:
        aask(server.openai_url, said.append)
    assert (said, vars(caught.value)["emitted"]) == (["a"], True)


def piece(
    index: int | None = 0, id: str | None = None, name: str | None = None, arguments: Any = None
) -> dict[str, Any]:
    function = {key: value for key, value in {"name": name, "arguments": arguments}.items() if value is not None}
    entry: dict[str, Any] = {"function": function} if function else {}
    return entry | ({} if index is None else {"index": index}) | ({} if id is None else {"id": id})


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        pytest.param(
            [
                piece(0, "a", "f", ""),
                piece(0, None, None, '{"x"'),
                piece(1, "b", "g", "{}"),
                piece(0, arguments=": 1}"),
            ],
            [("a", "f", '{"x": 1}'), ("b", "g", "{}")],
            id="by index",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x": 1}')] * 3,
            [("a", "f", '{"x": 1}')],
            id="the whole call again and again",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x"'), piece(0, "a", "f", '{"x": 1'), piece(0, "a", "f", '{"x": 1}')],
            [("a", "f", '{"x": 1}')],
            id="all of it so far, each time",
        ),
        pytest.param(
            [
                piece(0, "a", "f", '{"x": 1}'),
                piece(0, "b", "f", '{"x": 1}'),
                piece(0, "c", "g", "{"),
                piece(0, arguments="}"),
            ],
            [("a", "f", '{"x": 1}'), ("b", "f", '{"x": 1}'), ("c", "g", "{}")],
            id="one index, new ids",
        ),
        pytest.param(
            [piece(0, "", "f", '{"x": 1}'), piece(0, "", "f", '{"x": 2}'), piece(0, "", "g", "{}")],
            [("", "f", '{"x": 1}'), ("", "f", '{"x": 2}'), ("", "g", "{}")],
            id="one index, no ids",
        ),
        pytest.param(
            [
                piece(None, "a", "f", '{"x"'),
                piece(None, arguments=": 1}"),
                piece(None, "b", "g", "{"),
                piece(None, "b", None, "}"),
            ],
            [("a", "f", '{"x": 1}'), ("b", "g", "{}")],
            id="no index",
        ),
        pytest.param(
            [piece(None, None, "f", '{"x"'), piece(None, "new", None, ": 1}"), piece(None, None, "f", {"x": 2})],
            [("new", "f", '{"x": 1}'), ("", "f", {"x": 2})],
            id="neither index nor id",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x": {}'), piece(0, "a", "f", "}"), piece(0, "a", "f", "}")],
            [("a", "f", '{"x": {}}')],
            id="a name with each piece, and a brace too many",
        ),
        pytest.param(
            [piece(0, None, "f", '{"x"'), piece(0, None, "f", ": 1"), piece(0, None, "f", "}")],
            [("", "f", '{"x": 1}')],
            id="the name in each piece",
        ),
        pytest.param(
            [piece(0, "a", "get_", ""), piece(0, None, "weather", ""), piece(0, arguments="{}")],
            [("a", "get_weather", "{}")],
            id="the name in pieces",
        ),
        pytest.param(
            [
                piece(0, "a", "f", {"x": 1}),
                piece(0, "a", "f", {"x": 1}),
                piece(0, "", "f", {"x": 2}),
                piece(0, "", "f", None),
            ],
            [("a", "f", {"x": 1}), ("", "f", {"x": 2})],
            id="objects",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x": 1}'), piece(0, "a", "f", '{ "x":1}')], [("a", "f", '{"x": 1}')], id="same id"
        ),
        pytest.param([piece(None, arguments="{}"), {"index": "0"}, {}], [("", "", "{}")], id="no name"),
        pytest.param([{"index": 0, "id": "a", "name": "f", "arguments": "{}"}], [("a", "f", "{}")], id="flat"),
    ],
)
def test_calls_in_pieces(pieces: list[dict[str, Any]], whole: list[tuple[str, str, Any]]) -> None:
    response, _ = streamed(sse(*[delta(tool_calls=[entry]) for entry in pieces], delta("tool_calls")))
    assert reply_of(response).calls == tuple(RawCall(name, arguments, id or None) for id, name, arguments in whole)


@given(st.lists(st.integers(1, 12)), st.integers(0, 1))
def test_a_call_does_not_depend_on_how_its_arguments_are_cut(sizes: list[int], index: int) -> None:
    arguments, pieces, at = '{"path": "a {b}", "n": [1, {"c": "{"}]}', list[str](), 0
    for size in sizes:
        pieces.append(arguments[at : at + size])
        at += size
    deltas = CallDeltas()
    deltas.take(piece(index or None, "a", "f", ""))
    for part in [*pieces, arguments[at:]]:
        deltas.take(piece(index or None, None, None, part))
    assert [call["function"] for call in deltas.calls()] == [{"name": "f", "arguments": arguments}]


def test_dspy_streams_text_as_it_comes_and_the_rest_after_it() -> None:
    beside = call("add", {"a": 1}, id="c", text="Let me add them.", usage=(3, 4))
    for script in [text("A few words.", reasoning="hm"), beside, call("add", {"a": 1}, id="c"), text("")]:
        with ModelServer([script, script, script]) as server:
            engine = OpenAIEngine(model="local", base_url=server.openai_url)
            whole = engine.complete(request())
            events = list(engine.stream(request()))
            aevents = asyncio.run(_events(engine.twin()))
            engine.close()
        for seen in (events, aevents):
            accumulated = lm15.materialize_response(iter(seen), request())
            assert accumulated.message == whole.message
            assert accumulated.usage == whole.usage
            assert reply_of(accumulated).text == script.text


async def _events(twin: AsyncOpenAIEngine) -> list[Any]:
    events = [event async for event in twin.stream(request())]
    await twin.aclose()
    return events


def test_an_lm_asks_through_the_engine_in_both_ways() -> None:
    with ModelServer([text("one"), text("two"), error(404, "no such model", code="model_not_found")]) as server:
        engine = OpenAIEngine(model="local", base_url=server.openai_url)
        lm = dspy.LM("openai/local", engine=engine, async_engine=engine.twin(), cache=False, num_retries=0)
        asked = lm15.Request(model=lm.model, messages=(lm15.Message.user("hi"),), tools=(ADD,))
        assert lm(asked).message.text == "one"
        assert asyncio.run(lm.acall(asked)).message.text == "two"
        with pytest.raises(dspy.LMUnsupportedModelError) as caught:
            lm(asked)
        assert "model_not_found" in vars(caught.value)["body"]
        assert lm.supports_function_calling
        engine.close()


def test_64_threads_share_an_engine() -> None:
    with ModelServer([text("ok")], repeat=True, latency_s=0.02) as server, ThreadPoolExecutor(64) as pool:
        engine = OpenAIEngine(model="local", base_url=server.openai_url)
        texts = list(pool.map(lambda _: reply_of(engine.complete(request())).text, range(128)))
        engine.close()
    assert texts == ["ok"] * 128


def test_one_event_loop_after_the_other() -> None:
    async def run(twin: AsyncOpenAIEngine) -> list[str | None]:
        replies = await asyncio.gather(*[twin.complete(request()) for _ in range(32)])
        return [reply.message.text for reply in replies]

    def two_loops(url: str) -> None:
        twin = OpenAIEngine(model="local", base_url=url).twin()
        for _ in range(2):
            assert asyncio.run(run(twin)) == ["ok"] * 32

    with ModelServer([text("ok")], repeat=True) as server:
        two_loops(server.openai_url)
        gc.collect()  # an open socket would warn here, and a warning is an error


def test_state_goes_to_json_and_back_without_the_key() -> None:
    engine = OpenAIEngine(model="m", base_url="http://h/v1/", api_key="sk-secret", timeout_s=3, provider="groq")
    state = json.loads(json.dumps(engine.dump_state()))
    assert state == {"model": "m", "base_url": "http://h/v1", "timeout_s": 3, "provider": "groq"}
    assert OpenAIEngine.load_state(state).dump_state() == state
    assert AsyncOpenAIEngine.load_state(engine.twin().dump_state()).dump_state() == state


def test_a_copy_is_the_engine_and_the_twin_has_its_settings() -> None:
    engine = OpenAIEngine(model="m", base_url="http://h/v1")
    twin = engine.twin()
    engine.refuses_tools = True
    assert copy.deepcopy(engine) is engine
    assert copy.deepcopy(twin) is twin
    assert (twin.model, twin.provider, twin.base_url, twin.default_mode) == ("m", "openai", "http://h/v1", "native")
    assert (twin.refuses_tools, twin.refuses_schema) == (True, False)
    with pytest.raises(AttributeError):
        _ = twin.no_such_thing
    with pytest.raises(AttributeError):
        _ = twin._private
