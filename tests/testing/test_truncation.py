"""The double that drops the oldest messages and says nothing, as Ollama does."""

import json
from typing import Any

import pytest

from micro_agent.testing import ModelServer, Received, Reply, text
from micro_agent.testing.truncation import prompt_tokens, tokens_of, truncated


def said(role: str, words: int, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": "word " * words, **fields}


def body(num_ctx: int, *messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"messages": list(messages), "options": {"num_ctx": num_ctx}, "stream": False, **fields}


@pytest.mark.parametrize(
    ("words", "tokens"), [("", 0), ("the cat", 2), ("abcdefg 12", 4), ('{"a": 1}', 7), ("a\nb", 3), ("人人é x", 4)]
)
def test_tokens_are_counted_the_same_everywhere(words: str, tokens: int) -> None:
    assert tokens_of(words) == tokens


def test_what_fits_is_left_alone() -> None:
    asked = body(100, said("system", 5), said("user", 5))
    assert truncated(asked, 0) == (asked["messages"], prompt_tokens(asked["messages"]), None)


def test_the_oldest_go_and_the_system_prompt_and_the_last_stay() -> None:
    system, question, answer, last = said("system", 5), said("user", 30), said("assistant", 30), said("user", 5)
    seen, tokens, lost = truncated(body(60, system, question, answer, last), 3)
    assert seen == [system, last]
    assert lost is not None
    assert (lost.chat, lost.dropped, lost.num_ctx, lost.overlong) == (3, [question, answer], 60, 0)
    assert tokens == prompt_tokens(seen) < 60 < lost.tokens


def test_a_result_is_not_parted_from_its_call() -> None:
    asks = said("assistant", 0, tool_calls=[{"function": {"name": "read", "arguments": {}}}])
    results = [said("tool", 20), said("tool", 1)]
    seen, _, lost = truncated(body(70, said("user", 40), asks, *results), 0)
    assert seen == [asks, *results]
    assert lost is not None
    assert lost.dropped == [said("user", 40)]
    orphan, _, _ = truncated(body(30, said("user", 40), said("tool", 10)), 0)
    assert orphan == [said("tool", 10)]


def test_what_is_too_long_alone_is_cut_even_so() -> None:
    seen, tokens, lost = truncated(body(50, said("user", 10), said("user", 200)), 0)
    assert lost is not None
    assert (seen, tokens, lost.overlong) == ([said("user", 200)], 50, prompt_tokens(seen) - 50)


def test_a_server_plays_it_on_ollamas_wire_alone(post: Any) -> None:
    roles: list[list[str]] = []

    def model(request: Received) -> Reply:
        roles.append([message["role"] for message in request.messages])
        return text("Yes.") if len(roles) < 3 else text("Yes.", usage=None)

    long = body(40, said("system", 5), said("user", 60), said("user", 5))
    with ModelServer(model, truncate=True) as server:
        _, _, raw = post(f"{server.url}/api/chat", **long)
        post(f"{server.openai_url}/chat/completions", **long)
        post(f"{server.url}/api/chat", **long)
        assert roles == [["system", "user"], ["system", "user", "user"], ["system", "user"]]
        assert json.loads(raw)["prompt_eval_count"] == 28
        assert [lost.chat for lost in server.truncated] == [0, 2]
        assert len(server.messages(0)) == 3
        post(f"{server.url}/api/chat", messages=[said("user", 5000)], stream=False)
        assert server.truncated[-1].num_ctx == 4096
