"""Whole bodies of the Responses and the Messages API: requests, replies, mended replies, errors."""

import json
from typing import Any

from micro_agent.decoding import ModelReply, RawCall, ToolCall, ToolCalls
from micro_agent.proxy.wires import Asked
from micro_agent.proxy.wires.chat import ChatWire
from micro_agent.proxy.wires.messages import MessagesWire
from micro_agent.proxy.wires.responses import ResponsesWire
from tests.each import each
from tests.proxy.wires.saying import ARGS, CALL

RESPONSES, MESSAGES = ResponsesWire(), MessagesWire()
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
MADE = ToolCalls([ToolCall("weather", ARGS), ToolCall("weather", {}, "call_7"), ToolCall("weather", {}, "call_7")])


def shape(asked: Asked) -> tuple[Any, ...]:
    tools = [(tool.name, tool.parameters) for tool in asked.tools]
    return asked.model, tools, asked.choice, asked.stream, list(asked.messages), asked.most


def test_what_a_request_for_a_response_asks_for() -> None:
    function = {"type": "function", "name": "weather", "parameters": SCHEMA}
    nested = {"type": "function", "function": {"name": "plain"}}
    body: dict[str, Any] = {
        "model": "m", "input": "Hi", "instructions": "Be kind.", "stream": True, "max_output_tokens": 9,
        "tools": [function, nested, {"type": "web_search"}], "tool_choice": "required",
    }  # fmt: skip
    said = [{"role": "user", "content": "Hi"}]
    tools = [("weather", SCHEMA), ("plain", {"type": "object"})]
    assert shape(RESPONSES.asked(body)) == ("m", tools, "required", True, ["Be kind.", *body["tools"], *said], 9)
    assert shape(RESPONSES.asked({"input": said})) == (None, [], "auto", False, said, None)


def test_what_a_request_for_a_message_asks_for() -> None:
    tool = {"name": "weather", "input_schema": SCHEMA}
    said = [{"role": "user", "content": "Hi"}]
    body: dict[str, Any] = {
        "model": "m", "messages": said, "system": "Be kind.", "stream": True, "max_tokens": 9,
        "tools": [tool, {"type": "web_search_20250305", "name": "web_search"}], "tool_choice": {"type": "any"},
    }  # fmt: skip
    found = ("m", [("weather", SCHEMA)], "required", True, ["Be kind.", *body["tools"], *said], 9)
    assert shape(MESSAGES.asked(body)) == found
    assert shape(MESSAGES.asked({"messages": said})) == (None, [], "auto", False, said, None)


@each(
    ["wire", "choice", "found"],
    [
        (RESPONSES, "none", "none"),
        (RESPONSES, "any", "auto"),
        (RESPONSES, {"type": "function", "name": "weather"}, "weather"),
        (RESPONSES, {"type": "function"}, "auto"),
        (RESPONSES, {"type": "allowed_tools", "mode": "required", "tools": []}, "required"),
        (RESPONSES, {"type": "allowed_tools", "mode": "auto", "tools": []}, "auto"),
        (RESPONSES, {"type": "file_search"}, "auto"),
        (MESSAGES, {"type": "none"}, "none"),
        (MESSAGES, {"type": "tool", "name": "weather"}, "weather"),
        (MESSAGES, {"type": "tool"}, "auto"),
        (MESSAGES, "any", "auto"),
    ],
)
def test_tool_choices(wire: ResponsesWire | MessagesWire, choice: Any, found: str) -> None:
    assert wire.asked({"input": "Hi", "messages": [], "tool_choice": choice}).choice == found


def response(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"object": "response", "status": status, "output": list(output), "x_unknown": [1], **more}


def says(text: str, **more: Any) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": [{"start": 1}], "x_part": 1}
    return {"type": "message", "id": f"msg_{text}", "role": "assistant", "content": [part], **more}


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "so"}]}
SENT = {"type": "function_call", "id": "fc_1", "call_id": "call_7", "name": "Weather", "arguments": "{}", "x_call": 1}


def test_the_reply_in_a_response() -> None:
    called = RawCall("Weather", "{}", "call_7")
    assert RESPONSES.reply(response(THOUGHT, says("Hi"), SENT)) == ModelReply("Hi", "so", (called,), "tool_calls")
    assert RESPONSES.reply(response(says("Hi"), {"type": "web_search_call"})) == ModelReply("Hi", finish_reason="stop")
    for details, why in ((None, "length"), ({"reason": "content_filter"}, "content_filter"), ({"reason": "x"}, "x")):
        cut = response(says("Hi"), status="incomplete", incomplete_details=details)
        assert RESPONSES.reply(cut) == ModelReply("Hi", finish_reason=why)
    assert RESPONSES.reply(response(status="failed")) is None
    assert RESPONSES.reply({"error": {}}) is None


def test_a_mended_response_keeps_what_is_not_mended() -> None:
    body = response(THOUGHT, says("Hi "), says("{..."), SENT, incomplete_details=None, output_text="Hi {...")
    told = RESPONSES.mended(body, MADE, "Hi ")
    new, kept, other = told["output"][2:]
    assert told["output"][:2] == [THOUGHT, says("Hi ")]
    assert (told["x_unknown"], told["status"], told["output_text"]) == ([1], "completed", "Hi ")
    assert (new["type"], new["name"], json.loads(new["arguments"]), new["status"]) == (
        "function_call", "weather", ARGS, "completed"
    )  # fmt: skip
    assert kept == {**SENT, "name": "weather", "status": "completed"}
    assert len({new["id"], kept["id"], other["id"]}) == len({new["call_id"], kept["call_id"], other["call_id"]}) == 3
    part: dict[str, Any] = {"type": "output_text", "text": "Hey", "annotations": [], "x_part": 1, "logprobs": []}
    assert RESPONSES.mended(response(says("Hey you")), MADE, "Hey")["output"][0]["content"] == [part]
    assert [item["type"] for item in RESPONSES.mended(body, MADE, "\n")["output"]] == ["reasoning"] + [
        "function_call"
    ] * 3


def test_a_response_that_the_server_did_not_send() -> None:
    for wire in (ChatWire(), RESPONSES, MESSAGES):
        for model, named in (("m", "m"), (None, "unknown")):
            told = wire.mended(wire.begun(model), ToolCalls([]), "Hi")
            assert (wire.reply(told), told["model"]) == (ModelReply("Hi", finish_reason="stop"), named)


def message(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(content), "stop_reason": "end_turn", **more}


def test_the_reply_in_a_message() -> None:
    thought, text = {"type": "thinking", "thinking": "so", "signature": ""}, {"type": "text", "text": "Hi"}
    found = MESSAGES.reply(message(thought, text, stop_reason="stop_sequence"))
    assert found == ModelReply("Hi", "so", (), "stop")
    for given, read in (({"a": 1}, '{"a": 1}'), ('{"a": 1}', {"a": 1}), ("{a", "{a"), (None, None)):
        call = {"type": "tool_use", "id": "t1", "name": "weather", "input": given}
        found = MESSAGES.reply(message(call, stop_reason="tool_use"))
        assert found == ModelReply(calls=(RawCall("weather", read, "t1"),), finish_reason="tool_calls")
    assert MESSAGES.reply(message(text, stop_reason=None)) == ModelReply("Hi")
    assert MESSAGES.reply(message(text, stop_reason="pause_turn")) == ModelReply("Hi", finish_reason="pause_turn")
    assert MESSAGES.reply({"type": "error", "error": {}}) is None


def test_a_mended_message_keeps_what_is_not_mended() -> None:
    thought, text = {"type": "thinking", "thinking": "so"}, {"type": "text", "text": "Hi {...", "citations": None}
    sent = {"type": "tool_use", "id": "call_7", "name": "Weather", "input": "{}", "x_call": 1}
    told = MESSAGES.mended(message(thought, text, sent, stop_sequence="x", x_unknown=1), MADE, "Hi ")
    new, kept, other = told["content"][2:]
    assert told["content"][:2] == [thought, {**text, "text": "Hi "}]
    assert (told["stop_reason"], told["stop_sequence"], told["x_unknown"]) == ("tool_use", None, 1)
    assert (new["type"], new["name"], new["input"]) == ("tool_use", "weather", ARGS)
    assert kept == {**sent, "name": "weather", "input": {}}
    assert len({new["id"], kept["id"], other["id"]}) == 3
    assert [block["type"] for block in MESSAGES.mended(message(text), MADE, " ")["content"]] == ["tool_use"] * 3


def test_errors_are_in_the_words_of_each_api() -> None:
    told = RESPONSES.error(400, "context_length_exceeded", "9 tokens > 8")["error"]
    assert told == {
        "message": "9 tokens > 8", "type": "invalid_request_error", "param": "input", "code": "context_length_exceeded"
    }  # fmt: skip
    assert RESPONSES.error(502, "upstream_unreachable", "gone")["error"]["type"] == "server_error"
    told = MESSAGES.error(400, "context_length_exceeded", "9 tokens > 8")
    assert told["error"] == {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"}
    for status, kind in ((502, "api_error"), (529, "overloaded_error"), (418, "invalid_request_error")):
        told = MESSAGES.error(status, "x", "gone")
        assert (told["type"], told["error"]) == ("error", {"type": kind, "message": "gone"})


def test_a_request_goes_on_with_the_reply_and_a_word() -> None:
    said, word = {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Call it."}
    for wire, name in ((RESPONSES, "input"), (MESSAGES, "messages")):
        asked = {"role": "user", "content": "Weather?"}
        assert wire.continued({"x": 1, name: [asked]}, "Hi", "Call it.") == {"x": 1, name: [asked, said, word]}
        assert wire.continued({name: [asked]}, "", "Call it.") == {name: [asked, word]}
    told = RESPONSES.continued({"input": "Weather?"}, "", "Call it.")
    assert told["input"] == [{"role": "user", "content": "Weather?"}, word]


def test_the_same_call_again_and_again_is_counted() -> None:
    def turn(result: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        items = [{"type": "reasoning", "id": "r"}, {**SENT, "arguments": CALL["arguments"]}]
        used = {"type": "tool_use", "id": "t", "name": "Weather", "input": ARGS}
        done = {"type": "tool_result", "tool_use_id": "t", "content": result}
        return (
            [*items, {"type": "function_call_output", "call_id": "call_7", "output": result}],
            [{"role": "assistant", "content": [used]}, {"role": "user", "content": [done]}],
        )

    asked: dict[str, Any] = {"role": "user", "content": "Weather?"}
    for at, (wire, name) in enumerate(((RESPONSES, "input"), (MESSAGES, "messages"))):
        turns = [turn("rain")[at], turn("sun")[at], turn("sun")[at]]
        assert wire.again({name: [asked, *turns[0], *turns[1], *turns[2]]}) == ("Weather", 2)
        assert wire.again({name: [*turns[0]]}) == ("Weather", 1)
        assert wire.again({name: [asked, asked]}) == ("", 0)
        assert wire.again({name: "Hi"}) == ("", 0)
