"""What a record keeps of a request: digests chained message by message, and its size in tokens as estimated.

With the digests, a replay can say which message differs. They are of messages as lists of plain data: a role and parts.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from micro_agent.context.tokens import estimate
from micro_agent.text.encoding import as_json

REQUEST_TOKENS = 48
"""What templates put around a conversation, such as the date."""
MESSAGE_TOKENS, CALL_TOKENS = 8, 16
"""What they put around a message, and around a call or its result."""
TOOLS_TOKENS, TOOL_TOKENS = 160, 16
"""What they tell a model about calling tools, and put around each."""
IMAGE_TOKENS = 800
"""What an image is taken for: it is 765 at OpenAI for 1024 x 1024 (guide to vision), 576 in LLaVA 1.5 (2310.03744)."""
_INDENTED = 1.25
"""Templates indent the JSON of tools."""


class Chain:
    """The requests of one run, each but for the first made from the one before it."""

    def __init__(self) -> None:
        self._links: list[str] = []
        self._tokens: list[int] = []
        self._sent: list[str] = []
        self._shared = 0
        self.tokens = 0
        """Estimated tokens of everything so far."""

    def begin(self, system: str, tools: Sequence[Any], response_format: Any, *, schema_tokens: int = 0) -> None:
        """What comes before the messages; of the response format, only ``schema_tokens`` are counted."""
        self._add(_digest("", [system, tools, response_format]), head_tokens(system, tools) + schema_tokens)

    def add(self, message: list[Any]) -> None:
        """The next message."""
        self._add(_digest(self._links[-1], message), message_tokens(message))

    def cut(self, messages: int) -> None:
        """Go back to the first ``messages`` of them."""
        self.tokens -= sum(self._tokens[messages + 1 :])
        self._shared = min(self._shared, messages + 1)
        del self._links[messages + 1 :], self._tokens[messages + 1 :]

    def tokens_of(self, messages: int) -> int:
        """Estimated tokens of what comes before the messages and of the first ones."""
        return sum(self._tokens[: messages + 1])

    def sent(self) -> dict[str, Any]:
        """The record of the request as it stands, which is being sent: see `LMCall.request`."""
        shared = self._shared
        while shared < min(len(self._sent), len(self._links)) and self._sent[shared] == self._links[shared]:
            shared += 1
        self._sent, self._shared = self._links[:], len(self._links)
        shared = max(0, shared - 1)  # the first link is not a message
        head = {} if shared else {"head": self._links[0]}
        return {"sha256": self._links[-1], "messages": len(self._links) - 1, "shared": shared, "tokens": self.tokens,
                **head, "chain": self._links[shared + 1 :]}  # fmt: skip

    def _add(self, link: str, tokens: int) -> None:
        self._links.append(link)
        self._tokens.append(tokens)
        self.tokens += tokens


def head_tokens(system: str, tools: Sequence[Any]) -> int:
    """Estimated tokens of what comes before the messages."""
    told = TOOLS_TOKENS + sum(TOOL_TOKENS + int(estimate(as_json(tool)) * _INDENTED) for tool in tools) if tools else 0
    return REQUEST_TOKENS + MESSAGE_TOKENS + estimate(system) + told


def message_tokens(message: Sequence[Any]) -> int:
    """Estimated tokens of a message: ``role, part, …``, a part being ``type, id, name, input, text, part, …``."""
    return MESSAGE_TOKENS + sum(map(_part_tokens, message[1:]))


def _part_tokens(part: Sequence[Any]) -> int:
    if part[0] == "image":
        return IMAGE_TOKENS
    kind, _, name, given, text, *parts = part
    if kind == "text":
        return estimate(text)
    tokens = CALL_TOKENS + len(name or "") // 2 + (estimate(as_json(given)) if given else 0)
    return tokens + sum(map(_part_tokens, parts))


def _digest(before: str, value: Any) -> str:
    return sha256((before + as_json(value)).encode()).hexdigest()
