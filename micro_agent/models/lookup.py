"""Small questions to a model server beside its chat: which models it has, what it says of one. No DSPy here."""

import json
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

MAX_BYTES = 8 * 1024 * 1024
"""Of a reply; OpenRouter lists its models in half a megabyte."""


class LookupFailed(Exception):
    """Nothing answered in time, or something that is not JSON. ``status`` is the HTTP status, if there was one."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def look_up(
    url: str, *, timeout_s: float, headers: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None
) -> Any:
    """The JSON that ``url`` answers to GET, or to POST with ``body``.

    The time covers looking the host up as well, which no socket timeout does, hence the thread.

    Raises:
        LookupFailed: Nothing answers within ``timeout_s`` seconds, with another status than 200, or no JSON.
    """
    replies: SimpleQueue[tuple[int, bytes] | Exception] = SimpleQueue()
    Thread(target=_ask, args=(url, timeout_s, dict(headers or {}), body, replies), daemon=True).start()
    try:
        reply = replies.get(timeout=timeout_s)
    except Empty:
        reply = TimeoutError(_late(timeout_s))
    if isinstance(reply, Exception):
        raise LookupFailed(str(getattr(reply, "strerror", None) or reply or type(reply).__name__)) from reply
    status, raw = reply
    if status != 200:
        raise LookupFailed(f"HTTP {status}", status)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise LookupFailed("what it sends is not JSON", status) from None


def _late(timeout_s: float) -> str:
    return f"not within {timeout_s:g} s"


def _ask(
    url: str, timeout_s: float, headers: dict[str, str], body: Mapping[str, Any] | None,
    replies: "SimpleQueue[tuple[int, bytes] | Exception]",
) -> None:  # fmt: skip
    parts, end = urlsplit(url), time.monotonic() + timeout_s  # nobody waits for what comes later
    connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = connect(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        if body is None:
            connection.request("GET", parts.path or "/", headers=headers)
        else:
            sent = {"Content-Type": "application/json", **headers}
            connection.request("POST", parts.path or "/", body=json.dumps(body).encode(), headers=sent)
        response = connection.getresponse()
        read = bytearray()
        while part := response.read1(MAX_BYTES - len(read)):
            read += part
            if time.monotonic() >= end:
                raise TimeoutError(_late(timeout_s))
        replies.put((response.status, bytes(read)))
    except (OSError, HTTPException, ValueError) as error:
        replies.put(error)
    finally:
        connection.close()
