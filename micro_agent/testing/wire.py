"""What the two wires have in common: the chat under way and how a text is cut into pieces of a stream."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

from micro_agent.testing.reply import Reply

PIECES = 6
"""A streamed text comes in at most so many pieces."""


@dataclass(frozen=True, slots=True)
class Chat:
    """One chat request as the wires see it: its body, the model that answers, its number on this server from 1."""

    body: dict[str, Any]
    model: str
    serial: int


class Wire(Protocol):
    """A module that speaks one server's language: `openai_wire` and `ollama_wire`."""

    STREAM_TYPE: str

    def wants_stream(self, body: dict[str, Any]) -> bool:
        """Whether the request asks for a stream."""
        ...

    def completion(self, reply: Reply, chat: Chat) -> dict[str, Any]:
        """The body of a whole reply."""
        ...

    def events(self, reply: Reply, chat: Chat) -> Iterator[bytes]:
        """The chunks of a streamed reply."""
        ...

    def frame(self, data: bytes) -> bytes:
        """``data`` as one chunk of a stream."""
        ...

    def failure(self, status: int, message: str, code: str | None = None) -> dict[str, Any]:
        """The body of an error."""
        ...

    def unknown_model(self, model: str) -> tuple[str, str]:
        """Message and code of the 404 for a model that is not served."""
        ...

    def listing(self, models: Sequence[str]) -> dict[str, Any]:
        """The body that lists the models."""
        ...


def pieces(text: str) -> Iterator[str]:
    """``text`` in at most `PIECES` pieces of about equal length; none for an empty text."""
    size = max(1, ceil(len(text) / PIECES))
    for start in range(0, len(text), size):
        yield text[start : start + size]
