"""Ollama's wire against a real server: what is sent, and what is made of whole and of streamed replies."""
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import dspy
import pytest
from dspy import lm15

from micro_agent.decoding.decision import ModelReply, RawCall
from micro_agent.models.failures import failure_of, refuses_tools
from micro_agent.models.ollama import AsyncOllamaEngine, OllamaEngine
from micro_agent.models.reply import reply_of, usage_of
from micro_agent.models.scope import CallScope, calling
from micro_agent.testing import ModelServer, Reply, call, cut, error, hang, malformed, raw, text

ADD = lm15.FunctionTool(name="add", description="Adds.", parameters={"type": "object", "properties": {"a": {}}})
Ask = Callable[..., lm15.Response]


def request(*messages: lm15.Message, **keys: Any) -> lm15.Request:
    return lm15.Request(model="ollama/whatever", messages=messages or (lm15.Message.user("hi"),), **keys)


def ask(url: str, on_text: Callable[[str], None] | None = None, asked: lm15.Request | None = None, **keys: Any) -> Any:
    engine = OllamaEngine(model="llama3.2:1b", base_url=url, **keys)
    try:
        with calling(CallScope(on_text=on_text)):
            return engine.complete(asked or request())
    finally:
        engine.close()


def aask(url: str, on_text: Callable[[str], None] | None = None, asked: lm15.Request | None = None, **keys: Any) -> Any:
    async def run() -> lm15.Response:
        twin = OllamaEngine(model="llama3.2:1b", base_url=url, **keys).twin()
        try:
            with calling(CallScope(on_text=on_text)):
                return await twin.complete(asked or request())
        finally:
            await twin.aclose()

    return asyncio.run(run())


both = pytest.mark.parametrize("ask", [ask, aask])


def lines(*chunks: Any) -> Reply:
    """A stream of these chunks: objects become JSON, strings stand as they are."""
    rendered = [chunk if isinstance(chunk, str) else json.dumps(chunk) + "\n" for chunk in chunks]
    return raw("".join(rendered).encode(), content_type="application/x-ndjson")


def chunk(content: str = "", done: bool = False, **keys: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **keys}
    return {"model": "said", "message": message, "done": done} | ({"done_reason": "stop"} if done else {})


@both
def test_the_request_on_the_wire(ask: Ask) -> None:
    messages = (
        lm15.Message.user("hi"),
        lm15.Message.assistant(
            [lm15.TextPart("ok"), lm15.ThinkingPart("hm"), lm15.ToolCallPart("c1", "add", {"a": "é"})]
        ),
        lm15.Message(
            "tool",
            (
                lm15.ToolResultPart("c1", (lm15.TextPart("3"),), name="add"),
                lm15.ToolResultPart("c2", (lm15.TextPart("4"),)),
            ),
        ),
        lm15.Message.developer("Note: mind."),
    )
    config = lm15.Config(
        temperature=0, max_tokens=9, top_p=0.5, top_k=3, seed=1, stop=("x",), frequency_penalty=1, presence_penalty=-1,
        response_format={"type": "json_schema", "schema": {"type": "object"}},
    )  # fmt: skip
    asked = request(*messages, system=(lm15.TextPart("Be"), lm15.TextPart("brief.")), tools=(ADD,), config=config)
    with ModelServer([text("ok")]) as server:
        ask(server.url, None, asked, keep_alive="10m", num_ctx=4096)
    assert server.chats[0].path == "/api/chat"
    assert server.chats[0].body == {
        "model": "llama3.2:1b",
        "messages": [
            {"role": "system", "content": "Be\nbrief."},
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": "ok",
                "tool_calls": [{"function": {"name": "add", "arguments": {"a": "é"}}}],
            },
            {"role": "tool", "tool_name": "add", "content": "3"},
            {"role": "tool", "content": "4"},
            {"role": "system", "content": "Note: mind."},
        ],
        "stream": False,
        "truncate": False,
        "tools": [
            {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": ADD.parameters}}
        ],
        "format": {"type": "object"},
        "keep_alive": "10m",
        "options": {
            "num_ctx": 4096, "temperature": 0, "num_predict": 9, "top_p": 0.5, "top_k": 3, "seed": 1,
            "frequency_penalty": 1, "presence_penalty": -1, "stop": ["x"],
        },
    }  # fmt: skip


@both
def test_a_plain_request_still_says_how_long_the_context_is(ask: Ask) -> None:
    with ModelServer([text("ok")]) as server:
        ask(server.url)
    assert server.chats[0].body == {
        "model": "llama3.2:1b",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": False,
        "truncate": False,
        "options": {"num_ctx": 8192},
    }


def rendered(asked: lm15.Request) -> dict[str, Any]:
    return json.loads(OllamaEngine(model="m").render(asked, stream=True))


def test_what_a_request_may_ask_beside() -> None:
    config = lm15.Config(tool_choice=lm15.ToolChoice(mode="none"), extensions={"think": False})
    body = rendered(request(tools=(ADD,), config=config))
    assert (body["think"], "tools" in body, body["stream"]) == (False, False, True)
    held = lm15.Config(tool_choice=lm15.ToolChoice(mode="none"), response_format={"type": "json_object"})
    body = rendered(request(tools=(ADD,), config=held))
    assert (body["format"], len(body["tools"])) == ("json", 1)
    forced = lm15.Config(tool_choice=lm15.ToolChoice(mode="required"))
    assert len(rendered(request(tools=(ADD,), config=forced))["tools"]) == 1


def test_a_sound_is_refused_and_not_left_out() -> None:
    sound = lm15.Message.user([lm15.AudioPart(url="http://x/a.wav", media_type="audio/wav")])
    with pytest.raises(dspy.LMUnsupportedFeatureError, match="sends no audio"):
        rendered(request(sound))


def test_requests_grow_by_appending_bytes() -> None:
    engine = OllamaEngine(model="m")
    messages = [lm15.Message.user("a"), lm15.Message.assistant("b"), lm15.Message.user("c")]
    bodies = [engine.render(request(*messages[: k + 1]), stream=False) for k in range(3)]
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter.partition(b"]")[0])


@both
@pytest.mark.parametrize("stream", [False, True])
def test_text_thinking_and_usage(ask: Ask, stream: bool) -> None:
    said: list[str] = []
    with ModelServer([text("The answer is 4.", reasoning="2+2", usage=(7, 3), model="said")]) as server:
        response = ask(server.url, said.append if stream else None)
    assert reply_of(response) == ModelReply("The answer is 4.", "2+2", (), "stop")
    assert (response.model, usage_of(response)) == ("said", (7, 3))
    assert ("".join(said), len(said) > 1) == (("The answer is 4.", True) if stream else ("", False))


@both
@pytest.mark.parametrize("stream", [False, True])
def test_calls_and_a_cut_off_reply(ask: Ask, stream: bool) -> None:
    on_text = print if stream else None
    with ModelServer([call("add", {"a": [1]}), text("", finish_reason="length", usage=None)]) as server:
        reply, short = (ask(server.url, on_text) for _ in range(2))
    assert [(c.name, c.arguments) for c in reply_of(reply).calls] == [("add", {"a": [1]})]
    assert [part.input for part in reply.tool_calls] == [{"a": [1]}]
    assert (reply_of(short).cut_off, usage_of(short)) == (True, (None, None))


@both
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("reply", "code", "told"),
    [
        (error(404, "model 'llama3.2:1b' not found"), "MODEL_NOT_FOUND", "get it with `ollama pull llama3.2:1b`"),
        (error(200, "model 'llama3.2:1b' not found"), "MODEL_NOT_FOUND", "get it with `ollama pull llama3.2:1b`"),
        (error(400, "registry.ollama.ai/library/gemma:2b does not support tools"), "BAD_REQUEST", "support tools"),
        (error(400, "input length exceeds the context length"), "CONTEXT_OVERFLOW", "shorten the input"),
        (error(500, "model requires more system memory (9 GiB) than is available"), "SERVER_ERROR", "smaller model"),
        (raw(b"404 page not found", status=404, content_type="text/plain"), "BAD_REQUEST", "check the base URL"),
        (error(200, "it broke"), "SERVER_ERROR", "it broke"),
        (raw(b"Ollama is running", content_type="text/plain"), None, "Ollama is running"),
        (cut(), "SERVER_ERROR", "broke before the reply was complete"),
        (hang(0), "SERVER_ERROR", "broke before the reply was complete"),
    ],
)
def test_what_goes_wrong_is_told_apart(ask: Ask, stream: bool, reply: Reply, code: str | None, told: str) -> None:
    with ModelServer([reply]) as server, pytest.raises(dspy.LMError) as caught:
        ask(server.url, print if stream else None)
    failure = failure_of(caught.value, base_url=server.url, model="llama3.2:1b")
    if code is None:  # a line that never ends, or a body that is no JSON
        code, told = ("SERVER_ERROR", "ended before the reply was complete") if stream else ("BAD_REPLY", told)
    assert failure.code == code
    assert told in failure.message


def test_a_model_without_tools_is_recognised() -> None:
    with ModelServer([error(400, "model does not support tools")]) as server, pytest.raises(dspy.LMError) as caught:
        ask(server.url)
    assert refuses_tools(caught.value)


def streamed(reply: Reply) -> tuple[lm15.Response, list[str]]:
    said: list[str] = []
    with ModelServer([reply]) as server:
        return ask(server.url, said.append), said


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(lines(chunk("a"), chunk("b"), chunk(done=True)), id="plain"),
        pytest.param(lines("\n", chunk("a"), "\r\n", chunk("b", done=True)), id="blank lines"),
        pytest.param(lines(chunk("ab"), json.dumps(chunk(done=True))), id="no line feed at the end"),
        pytest.param(lines({}, {"message": None}, chunk("ab", tool_calls=None), chunk(done=True)), id="nothing in it"),
        pytest.param(lines({"response": "a"}, {"response": "b", "done": True}), id="the older API"),
        pytest.param(raw(chunk("ab", done=True)), id="not streamed"),
    ],
)
def test_streams_of_every_kind(reply: Reply) -> None:
    response, said = streamed(reply)
    assert reply_of(response) == ModelReply("ab", None, (), "stop")
    assert "".join(said) == "ab"


def test_calls_and_thinking_come_in_any_line() -> None:
    entry = {"function": {"name": "add", "arguments": {"a": 1}}}
    response, said = streamed(
        lines(chunk(thinking="h"), chunk(thinking="m", tool_calls=[entry]), chunk(tool_calls=[entry]), chunk(done=True))
    )
    assert reply_of(response) == ModelReply("", "hm", (RawCall("add", {"a": 1}),) * 2, "stop")
    assert said == []


def test_a_last_line_that_says_all_calls_again_adds_none() -> None:
    entry = {"function": {"name": "add", "arguments": {"a": 1}}}
    for first, last, count in ((entry, entry, 1), (entry, {"function": {"name": "now"}}, 2)):
        response, _ = streamed(lines(chunk(tool_calls=[first]), chunk(tool_calls=[last], done=True)))
        assert len(reply_of(response).calls) == count
    response, _ = streamed(lines(chunk(tool_calls=[entry], done=True)))
    assert len(reply_of(response).calls) == 1


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (lines(chunk("a"), {"error": "it broke"}), dspy.LMServerError),
        (lines(chunk("a"), "nonsense\n", chunk(done=True)), dspy.LMProviderError),
        (lines(chunk("a"), "[" * 100_000 + "\n"), dspy.LMProviderError),
        (lines(chunk("a")), dspy.LMTransportError),
        (lines(chunk("a"), '{"message": {"cont'), dspy.LMTransportError),
        (cut(after_chunks=2, reply=text("some words here")), dspy.LMTransportError),
    ],
)
def test_half_a_stream_is_no_reply(reply: Reply, kind: type[dspy.LMError]) -> None:
    said: list[str] = []
    with ModelServer([reply]) as server, pytest.raises(kind) as caught:
        ask(server.url, said.append)
    assert (bool(said), vars(caught.value)["emitted"]) == (True, True)


@both
def test_broken_json_is_no_reply(ask: Ask) -> None:
    with ModelServer([malformed()]) as server, pytest.raises(dspy.LMProviderError, match="sent no JSON object"):
        ask(server.url)


def test_dspy_streams_from_it() -> None:
    async def run(twin: AsyncOllamaEngine) -> list[Any]:
        events = [event async for event in twin.stream(request())]
        await twin.aclose()
        return events

    with ModelServer([text("A few words.", reasoning="hm")], repeat=True) as server:
        engine = OllamaEngine(model="m", base_url=server.url)
        for events in (list(engine.stream(request())), asyncio.run(run(engine.twin()))):
            assert lm15.materialize_response(iter(events), request()).text == "A few words."
            assert len(events) > 4
        engine.close()


def test_state_goes_to_json_and_back() -> None:
    engine = OllamaEngine(model="m", base_url="http://h:1", num_ctx=99, keep_alive=-1, timeout_s=3)
    state = json.loads(json.dumps(engine.dump_state()))
    assert state == {"model": "m", "base_url": "http://h:1", "num_ctx": 99, "keep_alive": -1, "think": None,
                     "timeout_s": 3}  # fmt: skip
    assert OllamaEngine.load_state(state).dump_state() == state
    assert AsyncOllamaEngine.load_state(state).dump_state() == state
    assert (engine.default_mode, engine.provider, engine.twin().num_ctx) == ("json", "ollama", 99)
