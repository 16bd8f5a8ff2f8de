"""The scripted server as a client of Ollama's API sees it."""

import json
from typing import Any

import pytest

from micro_agent.testing import ModelServer, Reply, call, calls, text


def lines(post: Any, reply: Reply, **body: Any) -> list[dict[str, Any]]:
    """The objects that arrive, one a line; Ollama streams unless it is told not to."""
    with ModelServer([reply]) as server:
        status, headers, raw = post(f"{server.url}/api/chat", **body)
    streams = body.get("stream") is not False
    assert (status, headers["Content-Type"]) == (200, "application/x-ndjson" if streams else "application/json")
    return [json.loads(line) for line in raw.decode().splitlines()]


def test_a_whole_reply_has_text_thinking_and_counts(post: Any):
    (body,) = lines(post, text("It is 3.", reasoning="1 + 2", usage=(7, 4)), stream=False)
    assert body["message"] == {"role": "assistant", "content": "It is 3.", "thinking": "1 + 2"}
    assert (body["done"], body["done_reason"], body["model"]) == (True, "stop", "m")
    assert (body["prompt_eval_count"], body["eval_count"]) == (7, 4)


def test_unknown_usage_and_reason_are_left_out(post: Any):
    (body,) = lines(post, text("x", usage=None, finish_reason=None), stream=False)
    assert not {"prompt_eval_count", "eval_count", "done_reason"} & body.keys()


def test_a_cut_off_reply_says_length(post: Any):
    (body,) = lines(post, text("The answ", finish_reason="length"), stream=False)
    assert body["done_reason"] == "length"


@pytest.mark.parametrize(
    ("args", "sent"),
    [({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1}), ('{"a": ', '{"a": '), ("[1]", "[1]"), (None, None)],
)
def test_arguments_are_objects_where_they_can_be(post: Any, args: Any, sent: Any):
    (body,) = lines(post, call("add", args), stream=False)
    assert body["message"]["tool_calls"] == [{"function": {"name": "add", "arguments": sent}}]
    assert body["done_reason"] == "stop"


def test_a_call_has_an_id_only_if_the_script_gives_one(post: Any):
    (body,) = lines(post, call("add", {}, id="c7"), stream=False)
    assert body["message"]["tool_calls"][0]["id"] == "c7"


def test_a_stream_is_the_default_and_brings_text_in_several_pieces(post: Any):
    chunks = lines(post, text("The answer is 3.", reasoning="one and two"))
    texts = [chunk["message"]["content"] for chunk in chunks if chunk["message"]["content"]]
    assert "".join(texts) == "The answer is 3."
    assert len(texts) > 1
    assert "".join(chunk["message"].get("thinking", "") for chunk in chunks) == "one and two"
    assert [chunk["done"] for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert (chunks[-1]["prompt_eval_count"], chunks[-1]["done_reason"]) == (10, "stop")


def test_a_stream_brings_calls_whole(post: Any):
    chunks = lines(post, calls(("add", {"a": 1}), ("now", {})), stream=True)
    made = [call for chunk in chunks for call in chunk["message"].get("tool_calls", [])]
    assert [call["function"]["name"] for call in made] == ["add", "now"]


def test_models_and_version_are_told(connect: Any):
    with ModelServer(models=["llama3.2:1b"]) as server:
        connection = connect(server.url)
        connection.request("GET", "/api/tags")
        assert json.load(connection.getresponse())["models"][0]["name"] == "llama3.2:1b"
        connection.request("GET", "/api/version")
        assert json.load(connection.getresponse())["version"]


def test_show_tells_the_context_length_and_the_capabilities(post: Any):
    with ModelServer(context_length=4096) as server:
        _, _, raw = post(f"{server.url}/api/show")
    body = json.loads(raw)
    architecture = body["model_info"]["general.architecture"]
    assert body["model_info"][f"{architecture}.context_length"] == 4096
    assert body["capabilities"] == ["completion", "tools"]


@pytest.mark.parametrize("path", ["/api/chat", "/api/show"])
def test_strict_models_must_be_pulled_first(post: Any, path: str):
    with ModelServer([text("x")], models=["a"], strict_models=True) as server:
        status, _, raw = post(server.url + path, model="b")
        assert (status, json.loads(raw)) == (404, {"error": 'model "b" not found, try pulling it first'})
        assert post(server.url + path, model="a:latest")[0] == 200
