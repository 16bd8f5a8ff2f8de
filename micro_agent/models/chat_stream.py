"""Server-sent events of ``/chat/completions`` → the body that the same reply has when it is not streamed.

Servers differ: comments and keep-alive lines, events without data, CRLF, no ``[DONE]``, usage in any chunk or in none,
chunks without choices, an error in the middle. What is never done is to take half a reply for a whole one.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from dspy import LMTransportError

from micro_agent.models.bodies import as_object, reasoning_of, text_of
from micro_agent.models.call_deltas import CallDeltas
from micro_agent.models.failures import Refusal, marked, refused
from micro_agent.models.reply import mended, piece, unreadable
from micro_agent.models.scope import thought

_MAX_EVENT_LINES = 100
_KEPT = ("id", "created", "model", "system_fingerprint")


def cut_short(sent: Refusal) -> LMTransportError:
    """The error of a stream that ended before its reply did."""
    told = f"the stream of {sent.url} ended before the reply was complete: try again"
    return marked(LMTransportError(told, model=sent.model, provider=sent.provider), reached=True)


class ChatAssembly:
    """Reads the lines of a stream. ``sent`` says whence it came, for the errors."""

    def __init__(self, sent: Refusal):
        self.done = False
        self._sent = sent
        self._event: list[bytes] = []
        self._is_error = False
        self._top: dict[str, Any] = {}
        self._usage: Any = None
        self._finish: Any = None
        self._message: dict[str, list[str]] = {}
        self._calls = CallDeltas()
        self._function = CallDeltas()

    def feed(self, line: bytes) -> str:
        """Take one line; the answer text in it.

        Raises:
            LMError: The server reports an error, or an event is not JSON.
        """
        line = line.strip()
        if not line:
            return self._end_event()
        name, _, value = (b"data", b":", line) if line.startswith(b"{") else line.partition(b":")
        value = value.strip()
        if name == b"event":
            self._is_error = value == b"error"
        elif name == b"error":  # llama.cpp, older
            self._is_error = True
            return self._data(value)
        elif name == b"data":
            return self._data(value)
        return ""

    def body(self) -> dict[str, Any]:
        """The body of the whole reply.

        Raises:
            LMTransportError: Neither a finish reason nor ``[DONE]`` has come.
        """
        if not (self.done or self._finish):
            raise cut_short(self._sent)
        message: dict[str, Any] = {"role": "assistant", "content": None}
        message |= {name: "".join(pieces) for name, pieces in self._message.items()}
        if calls := self._calls.calls():
            message["tool_calls"] = calls
        if function := self._function.calls():
            message["function_call"] = function[0]["function"]
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        return mended({**self._top, "object": "chat.completion", "choices": [choice], "usage": self._usage})

    def _data(self, data: bytes) -> str:
        """One line of data. An event may have several; they are one JSON text together."""
        if data == b"[DONE]":
            self.done = True
            return ""
        if not data and not self._is_error:  # an event without data is none
            return ""
        self._event.append(data)
        try:
            chunk = piece(b"\n".join(self._event))
        except (ValueError, RecursionError):
            if len(self._event) > _MAX_EVENT_LINES:
                self._end_event()
            return ""
        self._event.clear()
        return self._take(cast(dict[str, Any], chunk)) if isinstance(chunk, dict) else ""

    def _end_event(self) -> str:
        if self._event:
            raise unreadable(b"\n".join(self._event).decode(errors="replace"), self._sent)
        self._is_error = False
        return ""

    def _take(self, chunk: dict[str, Any]) -> str:
        if chunk.get("error") or self._is_error:
            if self._finish == "length":  # OpenRouter says so once more, as an error
                self.done = True
                return ""
            error = chunk if chunk.get("error") else {"error": chunk}
            raise refused(self._sent.saying(json.dumps(error, ensure_ascii=False)))
        for name in _KEPT:
            if chunk.get(name):
                self._top.setdefault(name, chunk[name])
        usage = chunk.get("usage") or as_object(chunk.get("x_groq")).get("usage")
        if isinstance(usage, dict):
            self._usage = cast(dict[str, Any], usage)
        choices: Any = chunk.get("choices")
        listed = cast(list[Any], choices) if isinstance(choices, list) else []
        first = [choice for choice in map(as_object, listed) if choice.get("index") in (0, None)]
        return "".join(map(self._choose, first))

    def _choose(self, choice: Mapping[str, Any]) -> str:
        """The text in a piece of the first choice."""
        self._finish = choice.get("finish_reason") or self._finish
        delta = as_object(choice.get("delta")) or as_object(choice.get("message"))
        text = text_of(delta.get("content"))
        self._append("content", text if text or delta.get("content") is not None else None)
        thought(reasoning := reasoning_of(delta))
        self._append("reasoning_content", reasoning or None)
        self._append("refusal", delta.get("refusal"))
        calls: Any = delta.get("tool_calls")
        for entry in cast(list[Any], calls) if isinstance(calls, list) else []:
            self._calls.take(as_object(entry))
        if legacy := as_object(delta.get("function_call")):
            self._function.take({"index": 0, "function": legacy})
        return mended(text)

    def _append(self, name: str, text: Any) -> None:
        if isinstance(text, str):
            self._message.setdefault(name, []).append(text)
