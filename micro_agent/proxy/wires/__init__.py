"""How each API says what the proxy has to know: what a request asks for, and what a reply is.

A wire reads and writes one API. It decides nothing, does no I/O and keeps nothing between two requests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from micro_agent.decoding import ModelReply, ToolCalls, ToolSpec

Kind = Literal["open", "text", "reasoning", "call", "end", "refused", "other"]


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that a request offers, as `ToolSpec` wants it."""

    name: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for.

    ``tools`` are those whose calls the proxy may mend; ``messages`` is what is sent to the model, for an estimate of
    its size; ``most`` is the limit of the reply in tokens, ``None`` where the request sets none.
    """

    model: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    choice: str = "auto"
    """``auto``, ``none``, ``required``, or the name of the one tool that has to be called."""
    stream: bool = False
    messages: Sequence[Any] = ()
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """What one event of a stream says.

    ``text`` is the text of a ``text`` or ``reasoning`` event that it adds, else empty. An ``open`` event begins what
    text will stand in: it goes out before the first text that does, and not at all where calls take its place. ``end``
    is what a reply ends with, from the event that says why it ended: such events, and the ``call`` ones, are kept until
    the whole reply is known. A ``refused`` event is an error that holds what the model said, since the server could not
    read it: that is its ``text``. ``other`` goes out at once. An event that says text and an end at once is an ``end``,
    with its text.
    """

    kind: Kind
    text: str = ""
    raw: bytes = b""


class StreamReader(Protocol):
    """Reads the events of one streamed reply, and writes such events."""

    def feed(self, event: bytes) -> Piece:
        """What a whole event says, given with the blank line that ends it. Raises whatever reading it raises."""
        ...

    def reply(self) -> ModelReply:
        """The reply of all events that came so far."""
        ...

    def usage(self) -> Mapping[str, Any]:
        """What the server said of its tokens and its model, as a whole reply says it."""
        ...

    def lacks(self) -> Sequence[str]:
        """The kinds of what a client needs for putting the calls together, and the server left out or said wrong."""
        ...

    def text_event(self, text: str) -> bytes:
        """The event with which this server would have said ``text``."""
        ...

    def calls_and_end(self, decision: ToolCalls, left: str | None = None) -> bytes:
        """The events that say these calls instead of what was kept back, and the end of the stream.

        ``left`` is all text that went out, by `text_event` too; ``None``: it is not known, and what opens text did.
        """
        ...


class Wire(Protocol):
    """One API.

    In the `ModelReply` of every wire a call has its arguments as text where they stand right, and a reply with calls
    ends with ``tool_calls``: whatever else comes is mended.

    `mended` and `StreamReader.calls_and_end` also take no calls at all: the reply is then ``left`` alone, which a
    server did not send since it could not read it. The body is then one that `begun` gives, and no event came; so it
    is with calls that stand in such an error.
    """

    @property
    def path(self) -> str:
        """The path of its requests, such as ``/v1/chat/completions``."""
        ...

    def asked(self, body: Mapping[str, Any]) -> Asked:
        """What a request asks for. Raises whatever reading it raises: the request then goes through unread."""
        ...

    def reply(self, body: Mapping[str, Any]) -> ModelReply | None:
        """The reply in the body of a whole response; ``None`` where it has another shape."""
        ...

    def mended(self, body: dict[str, Any], decision: ToolCalls, left: str) -> dict[str, Any]:
        """The same body with these calls; ``left`` is the text in front of them. Unknown fields stay."""
        ...

    def begun(self, model: str | None) -> dict[str, Any]:
        """The body of a reply of this model that the server did not send, with nothing in it yet."""
        ...

    def reader(self, model: str | None = None) -> StreamReader:
        """A reader of one stream that was asked of this model."""
        ...

    def error(self, status: int, code: str, message: str) -> dict[str, Any]:
        """The body of an error, in the words of this API."""
        ...

    def continued(self, body: Mapping[str, Any], said: str, word: str) -> dict[str, Any]:
        """The request with the reply ``said`` (if there was one) and a ``word`` of ours behind it."""
        ...

    def again(self, body: Mapping[str, Any]) -> tuple[str, int]:
        """The tool that the same call was made of again and again, up to the last result, and how often; 0: none."""
        ...
