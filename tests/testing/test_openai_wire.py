"""The scripted server as a client of OpenAI's API sees it."""

import json
from typing import Any

from micro_agent.testing import ModelServer, Reply, call, calls, decision, final, text


def completion(post: Any, reply: Reply, **body: Any) -> dict[str, Any]:
    with ModelServer([reply]) as server:
        status, headers, raw = post(f"{server.openai_url}/chat/completions", **body)
    assert (status, headers["Content-Type"]) == (200, "application/json")
    return json.loads(raw)


def stream(post: Any, reply: Reply, **body: Any) -> list[dict[str, Any]]:
    """The chunks of a streamed reply; it must end with ``[DONE]``."""
    with ModelServer([reply]) as server:
        status, headers, raw = post(f"{server.openai_url}/chat/completions", stream=True, **body)
    assert (status, headers["Content-Type"]) == (200, "text/event-stream")
    events = [event.removeprefix("data: ") for event in raw.decode().split("\n\n") if event]
    assert events.pop() == "[DONE]"
    return [json.loads(event) for event in events]


def deltas(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [choice["delta"] for chunk in chunks for choice in chunk["choices"]]


def test_text_is_a_whole_chat_completion(post: Any):
    body = completion(post, text("It is 3.", reasoning="1 + 2", usage=(7, 4)))
    choice = body["choices"][0]
    assert choice["message"] == {"role": "assistant", "content": "It is 3.", "reasoning_content": "1 + 2"}
    assert choice["finish_reason"] == "stop"
    assert body["usage"] == {"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11}
    assert (body["object"], body["model"]) == ("chat.completion", "m")


def test_a_reply_may_name_its_model_and_report_no_usage_and_no_reason(post: Any):
    body = completion(post, text("x", usage=None, model="other", finish_reason=None))
    assert "usage" not in body
    assert body["model"] == "other"
    assert body["choices"][0]["finish_reason"] is None


def test_the_server_names_its_own_model_when_none_is_asked_for(post: Any):
    assert completion(post, text("x"), model=None)["model"] == "scripted"


def test_calls_carry_their_arguments_as_a_string_and_an_id(post: Any):
    body = completion(post, calls(("add", {"a": 1}), ("add", '{"a": '), ("now", None), text="one moment"))
    message = body["choices"][0]["message"]
    assert message["content"] == "one moment"
    assert [made["function"]["arguments"] for made in message["tool_calls"]] == ['{"a": 1}', '{"a": ', None]
    assert len({made["id"] for made in message["tool_calls"]}) == 3
    assert body["choices"][0]["finish_reason"] == "tool_calls"


def test_a_single_call_ends_as_a_tool_call(post: Any):
    choice = completion(post, call("add", {"a": 1}))["choices"][0]
    assert choice["message"]["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 1}'}
    assert choice["finish_reason"] == "tool_calls"


def test_a_call_may_have_any_id_even_an_empty_one(post: Any):
    body = completion(post, call("add", {}, id="", finish_reason="length"))
    assert body["choices"][0]["message"]["tool_calls"][0]["id"] == ""
    assert body["choices"][0]["message"]["content"] is None
    assert body["choices"][0]["finish_reason"] == "length"


def test_decisions_of_json_mode_are_text(post: Any):
    content = completion(post, decision("add", {"a": 1}))["choices"][0]["message"]["content"]
    assert json.loads(content) == {"tool": {"name": "add", "args": {"a": 1}}}
    content = completion(post, final("3"))["choices"][0]["message"]["content"]
    assert json.loads(content) == {"final": {"answer": "3"}}


def test_text_that_is_no_valid_unicode_still_arrives(post: Any):
    assert completion(post, text("a\ud800ü"))["choices"][0]["message"]["content"] == "a\ud800ü"


def test_a_stream_brings_text_and_reasoning_in_several_pieces(post: Any):
    chunks = stream(post, text("The answer is 3.", reasoning="one and two"))
    texts = [delta["content"] for delta in deltas(chunks) if delta.get("content")]
    reasons = [delta["reasoning_content"] for delta in deltas(chunks) if "reasoning_content" in delta]
    assert ("".join(texts), "".join(reasons)) == ("The answer is 3.", "one and two")
    assert len(texts) > 1
    assert len(reasons) > 1
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert not any("usage" in chunk for chunk in chunks)


def test_a_stream_brings_the_arguments_of_calls_in_pieces(post: Any):
    chunks = stream(post, calls(("add", {"a": 1, "b": 22}), ("now", None)))
    parts = [delta["tool_calls"][0] for delta in deltas(chunks) if "tool_calls" in delta]
    first = [part for part in parts if part["index"] == 0]
    assert (first[0]["function"], first[0]["type"]) == ({"name": "add", "arguments": ""}, "function")
    assert json.loads("".join(part["function"]["arguments"] for part in first)) == {"a": 1, "b": 22}
    assert len(first) > 2
    assert [part["function"] for part in parts if part["index"] == 1] == [{"name": "now", "arguments": None}]
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_the_usage_of_a_stream_is_in_its_last_chunk_if_it_was_asked_for(post: Any):
    options = {"include_usage": True}
    last = stream(post, text("x", usage=(7, 4)), stream_options=options)[-1]
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] == 11
    assert stream(post, text("x", usage=None), stream_options=options)[-1]["choices"]
    assert stream(post, text("x"), stream_options="none")[-1]["choices"]


def test_models_are_listed(connect: Any):
    with ModelServer(models=["a", "b"]) as server:
        connection = connect(server.url)
        for path in ("/v1/models", "/models?limit=1"):
            connection.request("GET", path)
            body = json.load(connection.getresponse())
            assert [entry["id"] for entry in body["data"]] == ["a", "b"]


def test_strict_models_are_the_only_ones_that_answer(post: Any):
    with ModelServer([text("x")], models=["a"], strict_models=True) as server:
        status, _, raw = post(f"{server.url}/chat/completions", model="b")
        assert (status, json.loads(raw)["error"]["code"]) == (404, "model_not_found")
        assert server.chats == []
        assert post(f"{server.url}/chat/completions", model="a")[0] == 200
