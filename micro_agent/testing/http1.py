"""As much of HTTP/1.1 (RFC 9112) as clients of model servers speak.

Requests whose body has a length, keep-alive, answers with a length or in chunks.
"""

import json
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any, BinaryIO

from micro_agent.testing.answer import Answer
from micro_agent.testing.script import Received

Send = Callable[[bytes], object]


class BadRequest(Exception):
    """The request cannot be read; ``status`` answers it and the connection is closed."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


def read_request(stream: BinaryIO, send: Send) -> Received | None:
    """The next request of a connection, ``None`` when the client has closed it.

    Raises:
        BadRequest: Not HTTP, or a body whose length is not told.
    """
    start = stream.readline()
    if not start:
        return None
    words = start.decode("latin-1").split()
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest(400, "this is not an HTTP/1.1 request")
    headers = dict(_headers(stream))
    if words[2] == "HTTP/1.0":
        headers.setdefault("connection", "close")
    raw = _body(stream, headers, send)
    return Received(words[1], words[0], headers, _object(raw), raw)


def closes(request: Received) -> bool:
    """Whether the client wants the connection closed after the answer."""
    return request.headers.get("connection", "").lower() == "close"


def write_answer(answer: Answer, send: Send) -> None:
    """Send an answer: one write for a whole body, one for each chunk of a stream."""
    data = answer.body[: answer.cut_at]
    if not answer.streamed:
        send(_head(answer, f"Content-Length: {len(answer.body)}") + data)
        return
    send(_head(answer, "Transfer-Encoding: chunked"))
    for chunk in _until(answer.chunks, len(data)):
        send(b"%x\r\n%b\r\n" % (len(chunk), chunk))
    if answer.cut_at is None:
        send(b"0\r\n\r\n")


def _headers(stream: BinaryIO) -> Iterator[tuple[str, str]]:
    while (line := stream.readline()) not in (b"\r\n", b"\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        yield name.strip().lower(), value.strip()


def _body(stream: BinaryIO, headers: dict[str, str], send: Send) -> bytes:
    if "transfer-encoding" in headers:
        raise BadRequest(411, "send the body with a Content-Length")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise BadRequest(400, "Content-Length is not a number")
    if headers.get("expect", "").lower() == "100-continue":
        send(b"HTTP/1.1 100 Continue\r\n\r\n")
    return stream.read(int(length))


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]


_PHRASES = {status.value: status.phrase for status in HTTPStatus}


def _head(answer: Answer, framing: str) -> bytes:
    lines = [
        f"HTTP/1.1 {answer.status} {_PHRASES.get(answer.status, 'Unknown')}",
        f"Content-Type: {answer.content_type}",
        *(f"{name}: {value}" for name, value in answer.headers.items()),
        framing,
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _until(chunks: tuple[bytes, ...], size: int) -> Iterator[bytes]:
    for chunk in chunks:
        if size <= 0:
            return
        yield chunk[:size]
        size -= len(chunk)
