"""What a scripted model says: one neutral form, from which the bodies of every wire are made."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

from micro_agent.decoding.decision import RawCall

DEFAULT_USAGE = (10, 5)
"""Input and output tokens that a reply reports unless it says otherwise."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """This body, as it stands, whatever the wire and whether or not a stream was asked for."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Failure:
    """An error object in the form of the wire (or ``body``, verbatim), under this HTTP status."""

    status: int
    message: str
    code: str | None = None
    retry_after: float | None = None
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends inside the body: after so many bytes of it, or chunks of a stream; half of it by default."""

    after_bytes: int | None = None
    after_chunks: int | None = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """Status 200 and JSON that stops in the middle, as a body or as an event of a stream."""


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer for so many seconds, then the connection is closed without one."""

    seconds: float


Fault = Verbatim | Failure | Cut | Malformed | Hang


class Options(TypedDict, total=False):
    """What can be said of every reply, as keywords of its constructor or of `Reply.with_`."""

    finish_reason: str | None
    usage: tuple[int, int] | None
    model: str | None
    delay_s: float


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the scripted model.

    ``finish_reason`` is OpenAI's word; Ollama's is made from it; ``None`` says none. ``usage`` is ``(input tokens,
    output tokens)``, ``None`` reports no usage. ``model`` is the name that answers, ``None`` for the one that was asked
    for. ``delay_s`` seconds pass before the first byte. With a ``fault`` this is not what arrives.
    """

    text: str = ""
    reasoning: str | None = None
    calls: tuple[RawCall, ...] = ()
    finish_reason: str | None = "stop"
    usage: tuple[int, int] | None = DEFAULT_USAGE
    model: str | None = None
    delay_s: float = 0.0
    fault: Fault | None = None

    def with_(self, **options: Unpack[Options]) -> "Reply":
        """This reply with some options changed."""
        return replace(self, **options)


def text(content: str, *, reasoning: str | None = None, **options: Unpack[Options]) -> Reply:
    """The model says ``content``, after ``reasoning`` that the wire carries in its own field."""
    return Reply(text=content, reasoning=reasoning).with_(**options)


def call(name: str, args: Any, *, id: str | None = None, text: str = "", **options: Unpack[Options]) -> Reply:
    """The model calls one tool natively, beside ``text``.

    Args:
        name: The tool's name; may be empty or unknown.
        args: The arguments: an object, or a string that goes on the OpenAI wire as it stands (broken JSON included), or
            ``None``. Ollama's wire carries objects: a string that holds one is sent as the object.
        id: The call id; made up on the OpenAI wire when ``None``, absent on Ollama's.
        text: Content beside the call.
        **options: See `Options`.
    """
    return Reply(text=text, calls=(RawCall(name, args, id),), finish_reason="tool_calls").with_(**options)


def calls(*named: tuple[str, Any], text: str = "", **options: Unpack[Options]) -> Reply:
    """The model calls several tools in one reply: ``(name, args)`` each, ``args`` as in `call`."""
    raw = tuple(RawCall(name, args) for name, args in named)
    return Reply(text=text, calls=raw, finish_reason="tool_calls").with_(**options)


def decision(name: str, args: Mapping[str, Any], **options: Unpack[Options]) -> Reply:
    """The JSON mode's decision to call a tool, as text."""
    return text(json.dumps({"tool": {"name": name, "args": args}}), **options)


def final(answer: str | Mapping[str, Any], **options: Unpack[Options]) -> Reply:
    """The JSON mode's decision to answer, as text: with one text, or with the outputs of a signature."""
    return text(json.dumps({"final": {"answer": answer} if isinstance(answer, str) else answer}), **options)


def raw(body: bytes | Mapping[str, Any], *, status: int = 200, content_type: str = "application/json") -> Reply:
    """This body verbatim (an object is written as JSON), for shapes that no constructor makes."""
    return Reply(fault=Verbatim(_bytes(body), status, content_type))


def error(
    status: int,
    message: str,
    *,
    code: str | None = None,
    retry_after: float | None = None,
    body: bytes | Mapping[str, Any] | None = None,
) -> Reply:
    """The server refuses with this HTTP status; 200 sends an error object under success, as some servers do.

    Args:
        status: The HTTP status.
        message: The server's words.
        code: OpenAI's ``error.code``, such as ``context_length_exceeded``.
        retry_after: Seconds, sent as the header ``Retry-After``.
        body: Replaces the wire's own error object.
    """
    return Reply(fault=Failure(status, message, code, retry_after, None if body is None else _bytes(body)))


def cut(after_bytes: int | None = None, *, after_chunks: int | None = None, reply: Reply | None = None) -> Reply:
    """The connection ends inside the body of ``reply`` (a sentence by default); half of it arrives unless said."""
    whole = text("This sentence does not arrive as a whole.") if reply is None else reply
    return replace(whole, fault=Cut(after_bytes, after_chunks))


def malformed() -> Reply:
    """Status 200 and JSON that stops in the middle."""
    return Reply(fault=Malformed())


def hang(seconds: float) -> Reply:
    """The server says nothing for ``seconds`` and then closes the connection. It ends early when the server closes."""
    return Reply(fault=Hang(seconds))


def _bytes(body: bytes | Mapping[str, Any]) -> bytes:
    return body if isinstance(body, bytes) else encode(body)


def encode(value: Any) -> bytes:
    """``value`` as one line of JSON in UTF-8; a lone surrogate becomes its JSON escape."""
    return json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace")
