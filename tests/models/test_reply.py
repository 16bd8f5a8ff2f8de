"""Replies in every shape that servers send, and none that cannot be read."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
from typing import Any, Literal

import pytest
from dspy import LMError, LMProviderError, LMRateLimitError, LMServerError
from dspy.lm15 import (
    DataPart,
    Message,
    RefusalPart,
    Response,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    Usage,
)
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.decoding.decision import ModelReply, RawCall
from micro_agent.models.failures import Refusal, marked
from micro_agent.models.reply import (
    answered_by,
    body_of,
    mended,
    ollama_reply,
    openai_reply,
    reply_from_failure,
    reply_of,
    response_of,
    usage_of,
)

SENT = Refusal(200, "", {}, "http://127.0.0.1:1/v1/chat/completions", "m", "openai")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
"""Anything, NaN and lone surrogates included."""


def chat(finish_reason: Any = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish_reason}]}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hello", "hello"),
        (None, ""),
        (
            [{"type": "text", "text": "a"}, {"type": "image_url"}, "b", {"text": "c"}, {"type": "text", "text": None}],
            "abc",
        ),
        ({"type": "text", "text": "one part"}, "one part"),
        (7, ""),
    ],
)
def test_content_in_every_shape(content: Any, text: str) -> None:
    assert openai_reply(chat(content=content)).text == text
    assert ollama_reply({"message": {"content": content}}).text == text


def test_a_refusal_is_the_text_where_there_is_no_other() -> None:
    assert openai_reply(chat(content=None, refusal="I will not.")).text == "I will not."
    assert openai_reply(chat(content="Yes.", refusal="")).text == "Yes."


@pytest.mark.parametrize(
    ("said", "understood"),
    [
        (None, "stop"),
        ("", "stop"),
        ("eos", "stop"),
        ("end_turn", "stop"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("content_filter", "content_filter"),
        (3, "stop"),
    ],
)
def test_finish_reasons(said: Any, understood: str) -> None:
    assert openai_reply(chat(said, content="x")).finish_reason == understood
    assert ollama_reply({"message": {}, "done_reason": said}).finish_reason == understood


@pytest.mark.parametrize("body", [{}, {"choices": None}, {"choices": []}, {"choices": "?"}])
def test_no_choice_is_an_empty_reply(body: dict[str, Any]) -> None:
    assert openai_reply(body) == ModelReply()


@pytest.mark.parametrize(
    ("calls", "read"),
    [
        (None, ()),
        ([], ()),
        ("junk", ()),
        ([None, 3, "call", {}], ()),
        ([{"id": "a", "function": {"name": "f", "arguments": "{}"}}], (RawCall("f", "{}", "a"),)),
        ([{"id": "", "function": {"name": None, "arguments": None}}], (RawCall("", None, None),)),
        ([{"function": {"name": "f", "arguments": {"a": 1}}}], (RawCall("f", {"a": 1}),)),
        ([{"name": "f", "parameters": {"a": 1}, "id": 7}], (RawCall("f", {"a": 1}),)),
        ({"function": {"name": "f", "arguments": ""}}, (RawCall("f", ""),)),
        (
            [{"function": {"name": "f"}}, {"function": {"name": "g", "arguments": '{"a": '}}],
            (RawCall("f"), RawCall("g", '{"a": ')),
        ),
    ],
)
def test_calls_in_every_shape(calls: Any, read: tuple[RawCall, ...]) -> None:
    assert openai_reply(chat(tool_calls=calls)).calls == read
    assert ollama_reply({"message": {"tool_calls": calls}}).calls == read


def test_the_legacy_function_call_counts_when_it_names_one() -> None:
    assert openai_reply(chat(function_call={"name": "f", "arguments": "{}"})).calls == (RawCall("f", "{}"),)
    assert openai_reply(chat(function_call={"name": "", "arguments": ""})).calls == ()
    both = chat(function_call={"name": "f"}, tool_calls=[{"id": "1", "function": {"name": "g"}}])
    assert openai_reply(both).calls == (RawCall("g", None, "1"),)


@pytest.mark.parametrize(
    ("message", "thought"),
    [
        ({"reasoning_content": "so"}, "so"),
        ({"reasoning": "so", "reasoning_content": ""}, "so"),
        ({"thinking": ["s", {"text": "o"}, 3]}, "so"),
        ({"reasoning": [{"summary": "so"}]}, "so"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}]}, "so"),
        ({"reasoning": None, "thinking": ""}, None),
    ],
)
def test_reasoning_under_every_name(message: dict[str, Any], thought: str | None) -> None:
    assert openai_reply(chat(**message)).reasoning == thought
    assert ollama_reply({"message": message}).reasoning == thought


def test_the_text_of_ollamas_older_api() -> None:
    assert ollama_reply({"response": "hi", "thinking": "hm"}) == ModelReply("hi", "hm", finish_reason="stop")


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"usage": {"prompt_tokens": 3, "completion_tokens": 0}}, (3, 0)),
        ({"usage": {"input_tokens": 3, "output_tokens": 4}}, (3, 4)),
        ({"usage": {"prompt_tokens": 0, "completion_tokens": 0}}, (None, None)),
        ({"usage": {"prompt_tokens": "3", "completion_tokens": -1}}, (None, None)),
        ({"usage": {"prompt_tokens": True, "completion_tokens": 2.5}}, (None, None)),
        ({"usage": None}, (None, None)),
        ({"prompt_eval_count": 7, "eval_count": 2}, (7, 2)),
        ({"eval_count": 2}, (None, 2)),
        ({}, (None, None)),
    ],
)
def test_unknown_usage_is_none(body: dict[str, Any], tokens: tuple[int | None, int | None]) -> None:
    assert usage_of(body) == tokens
    assert usage_of(response_of(body, model="m", wire="openai")) == tokens


@pytest.mark.parametrize(("model", "named"), [("llama", "llama"), ("", None), (None, None), (4, None)])
def test_the_model_that_answered(model: Any, named: str | None) -> None:
    assert answered_by({"model": model}) == named
    assert answered_by(response_of({"model": model, "message": {}}, model="asked", wire="ollama")) == named


def failed(body: Any) -> LMError:
    return marked(LMError("400"), body=body)


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        ('{"error": {"code": "tool_use_failed", "failed_generation": "<f>"}}', ModelReply("<f>")),
        ('{"failed_generation": {"name": "é"}}', ModelReply('{"name": "é"}')),
        ('{"error": {"failed_generation": ""}}', ModelReply("")),
        ('{"error": {"code": "tool_use_failed"}}', None),
        ('{"error": "no"}', None),
        ("<html>", None),
        (None, None),
    ],
)
def test_text_that_came_with_a_refusal(body: Any, reply: ModelReply | None) -> None:
    assert reply_from_failure(failed(body)) == reply
    assert reply_from_failure(ValueError("no body at all")) is None


def test_a_response_has_what_dspy_needs_and_keeps_the_rest() -> None:
    body = chat(
        "tool_calls",
        content="Let me see.",
        reasoning="hm",
        tool_calls=[
            {"id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}},
            {"id": "b", "function": {"name": "", "arguments": "{}"}},
            {"id": "c", "function": {"name": "g", "arguments": '{"x": '}},
            {"id": "d", "function": {"name": "h", "arguments": "[1]"}},
            {"id": "", "function": {"name": "i", "arguments": " "}},
            {"id": "e", "function": {"name": "j", "arguments": None}},
        ],
    )
    response = response_of({**body, "id": "r1", "model": "said"}, model="asked", wire="openai")
    assert (response.id, response.model, response.finish_reason) == ("r1", "said", "tool_call")
    assert response.message.parts == (
        ThinkingPart("hm"),
        TextPart("Let me see."),
        ToolCallPart("a", "f", {"x": 1}),
        ToolCallPart("call_4", "i", {}),
        ToolCallPart("e", "j", {}),
    )
    assert reply_of(response) == openai_reply(body)


def test_a_call_that_took_all_tokens_was_cut_off_whatever_the_server_says() -> None:
    """A stream of vLLM calls it ``tool_calls``, LiteLLM ``stop`` on Ollama."""
    entry = {"id": "a", "function": {"name": "f", "arguments": '{"x": 1'}}
    usage = {"prompt_tokens": 9, "completion_tokens": 32}
    response = response_of({**chat("tool_calls", tool_calls=[entry]), "usage": usage}, model="m", wire="openai")
    for most, reason in ((32, "length"), (31, "length"), (33, "tool_calls"), (None, "tool_calls")):
        assert reply_of(response, {"max_tokens": most}).finish_reason == reason
    assert reply_of(response).finish_reason == "tool_calls"
    told = response_of({**chat("stop", content="So."), "usage": usage}, model="m", wire="openai")
    assert reply_of(told, {"max_tokens": 32}).finish_reason == "stop"
    unknown = response_of(chat("tool_calls", tool_calls=[entry]), model="m", wire="openai")
    assert reply_of(unknown, {"max_tokens": 1}).finish_reason == "tool_calls"


def test_a_call_that_was_cut_off_is_still_cut_off() -> None:
    body = chat("length", tool_calls=[{"id": "a", "function": {"name": "f", "arguments": '{"x": "1'}}])
    response = response_of(body, model="m", wire="openai")
    assert response.finish_reason == "length"
    assert reply_of(response).cut_off


def test_ollamas_body_is_read_from_the_response() -> None:
    body = {
        "message": {"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
        "done": True,
    }
    assert reply_of(response_of(body, model="m", wire="ollama")).calls == (RawCall("f", {"x": 1}),)


def test_the_response_of_another_engine_is_read_from_its_parts() -> None:
    parts = (
        ThinkingPart("hm"),
        TextPart("a"),
        RefusalPart("b"),
        DataPart({"c": 1}),
        ToolCallPart("1", "f", {"partial_json": '{"x": '}),
        ToolCallPart("2", "g", {"x": 1}),
    )
    response = Response(None, "m", Message("assistant", parts), "tool_call", Usage(input_tokens=1))
    calls = (RawCall("f", '{"x": ', "1"), RawCall("g", {"x": 1}, "2"))
    assert reply_of(response) == ModelReply('ab{"c": 1}', "hm", calls, "tool_calls")
    assert (usage_of(response), answered_by(response)) == ((1, None), "m")


@given(st.dictionaries(st.sampled_from(["choices", "message", "usage", "model", "id", "done_reason"]), json_values))
def test_any_body_makes_a_response(body: dict[str, Any]) -> None:
    wires: tuple[Literal["openai", "ollama"], ...] = ("openai", "ollama")
    for wire in wires:
        assert isinstance(reply_of(response_of(body, model="m", wire=wire)), ModelReply)


def test_what_is_no_json_does_not_stop_a_response() -> None:
    response = response_of({"usage": float("nan"), "message": {"content": {1}}}, model="m", wire="ollama")
    assert response.provider_data == {"usage": None, "message": {"content": "{1}"}}


@given(json_values, json_values, json_values)
def test_any_message_makes_a_response(content: Any, calls: Any, arguments: Any) -> None:
    entries = [calls, {"function": {"name": "f", "arguments": arguments}}]
    body = chat(content=content, tool_calls=entries, reasoning=calls)
    response = response_of(body, model="", wire="openai")
    assert isinstance(reply_of(response).text, str)


@given(json_values)
def test_what_is_mended_can_be_written(value: Any) -> None:
    json.dumps(mended(value), ensure_ascii=False, allow_nan=False).encode()


def test_what_is_mended_is_otherwise_the_same() -> None:
    assert mended({"a": ["\ud83d\ude00", "\ud83d", 1.5, True, None]}) == {"a": ["😀", "\ufffd", 1.5, True, None]}
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    assert "[" in json.dumps(mended(deep))
    assert mended({1: {2}}) == {"1": "{2}"}


def test_a_body_is_read_with_what_json_does_not_allow() -> None:
    assert body_of(b'{"a": NaN, "b": 1e999, "c": 0.5, "d": "\\ud83d"}', SENT) == {
        "a": None,
        "b": None,
        "c": 0.5,
        "d": "\ufffd",
    }
    assert body_of('{"a": "\\ud83d\\ude00é"}'.encode(), SENT) == {"a": "😀é"}


@pytest.mark.parametrize("raw", [b"", b"<Error>no</Error>", b'"text"', b"[1]", b'{"a": ', b"[" * 100_000, b"\xff"])
def test_a_body_that_is_no_object_is_no_reply(raw: bytes) -> None:
    with pytest.raises(LMProviderError, match="sent no JSON object") as caught:
        body_of(raw, SENT)
    assert vars(caught.value)["body"] == raw.decode(errors="replace")[:65536]


def test_an_error_under_success_is_an_error() -> None:
    with pytest.raises(LMServerError, match="answered 500: it broke"):
        body_of(b'{"error": "it broke"}', SENT)
    with pytest.raises(LMRateLimitError):
        body_of(b'{"error": {"message": "slow down", "code": 429}}', SENT)
    assert body_of(b'{"error": null, "choices": []}', SENT)["choices"] == []
