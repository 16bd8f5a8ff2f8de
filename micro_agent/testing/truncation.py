"""What Ollama does with a conversation that is longer than ``num_ctx``: it drops the oldest messages and says nothing.

Source: ``chatPrompt`` in ``server/prompt.go`` of Ollama. System messages and the latest message always stay, and a
tool's result is not parted from its call. What is too long even so is cut in the middle by the runner.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DEFAULT_NUM_CTX = 4096
"""Of a request that names none."""

_PIECE = re.compile(r"\w{1,3}|[^\w\s]|\n")
_MESSAGE_TOKENS = 4


@dataclass(frozen=True, slots=True)
class Truncated:
    """What a request lost: the chat request's number from 0, its tokens, the context, the messages that were dropped.

    ``overlong`` is how many tokens of what was left had to go as well.
    """

    chat: int
    tokens: int
    num_ctx: int
    dropped: list[dict[str, Any]]
    overlong: int = 0


def tokens_of(text: str) -> int:
    """A count like that of a real vocabulary, the same on every machine: three letters, a sign, a line are one each.

    A character beyond ASCII is one, whatever it stands with.
    """
    beyond = 0 if text.isascii() else sum(not character.isascii() for character in text)
    return len(_PIECE.findall("".join(filter(str.isascii, text)) if beyond else text)) + beyond


def prompt_tokens(messages: Sequence[Mapping[str, Any]], tools: Any = None) -> int:
    """The tokens of a prompt: its messages as JSON without their frame, and the tools."""
    told = tokens_of(json.dumps(tools, ensure_ascii=False)) if tools else 0
    return told + sum(_MESSAGE_TOKENS + _message_tokens(message) for message in messages)


def truncated(body: Mapping[str, Any], chat: int) -> tuple[list[dict[str, Any]], int, Truncated | None]:
    """The messages that the model sees of a request of ``/api/chat``, their tokens, and what was lost, if anything."""
    messages: list[dict[str, Any]] = list(body["messages"])
    options: dict[str, Any] = body.get("options") or {}
    num_ctx: int = options.get("num_ctx") or DEFAULT_NUM_CTX
    whole = prompt_tokens(messages, body.get("tools"))
    if whole <= num_ctx:
        return messages, whole, None
    seen, count, start = messages, whole, 0
    while count > num_ctx and start < len(messages) - 1:
        start += 1
        first = _with_its_call(messages, start)
        seen = [message for message in messages[:first] if message.get("role") == "system"] + messages[first:]
        count = prompt_tokens(seen, body.get("tools"))
    dropped = [message for message in messages if not any(message is one for one in seen)]
    return seen, min(count, num_ctx), Truncated(chat, whole, num_ctx, dropped, max(0, count - num_ctx))


def _with_its_call(messages: Sequence[Mapping[str, Any]], index: int) -> int:
    start = index
    while start and messages[start].get("role") == "tool":
        start -= 1
    return start if messages[start].get("tool_calls") else index


def _message_tokens(message: Mapping[str, Any]) -> int:
    calls = message.get("tool_calls")
    content = message.get("content") or ""
    return tokens_of(str(content)) + (tokens_of(json.dumps(calls, ensure_ascii=False)) if calls else 0)
