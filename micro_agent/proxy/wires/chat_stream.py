"""A streamed chat completion: chunks with a delta each, an end with its reason, perhaps the usage, and ``[DONE]``."""

from collections.abc import Mapping
from typing import Any

from micro_agent.decoding import ModelReply, ToolCalls
from micro_agent.models.bodies import as_object, openai_reply, reasoning_of, text_of
from micro_agent.models.call_deltas import CallDeltas
from micro_agent.proxy.wires import Piece
from micro_agent.proxy.wires.chat_choices import begun, calls_of, pieces_of
from micro_agent.proxy.wires.events import DONE, data_of, event_of, listed, objects, refused

_FULL = frozenset({"content", "reasoning", "reasoning_content", "thinking", "tool_calls", "function_call"})
"""What of a message is said in a reply."""


class ChatReader:
    """Reads one streamed completion; see `StreamReader`."""

    def __init__(self, model: str | None = None) -> None:
        self._model = model
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls = CallDeltas()
        self._indices = 0
        self._plain = True
        """Whether each piece of a call stands where clients look for it."""
        self._finish: str | None = None
        self._ends: list[tuple[bytes, Mapping[str, Any]]] = []
        self._last: Mapping[str, Any] = {}
        self._done = False

    def feed(self, event: bytes) -> Piece:
        """See `StreamReader`."""
        chunk = data_of(event)
        if chunk is None:
            return Piece("other", raw=event)
        if isinstance(chunk, str):
            self._done = True
            self._ends.append((event, {}))
            return Piece("end", raw=event)
        if not (choices := listed(chunk.get("choices"))):
            return self._beside(event, chunk)
        self._last = chunk
        first = as_object(choices[0])
        delta = as_object(first.get("delta"))
        text = text_of(delta.get("content"))
        thought = reasoning_of(delta)
        self._texts.append(text)
        self._thoughts.append(thought)
        pieces = pieces_of(delta)
        for piece in pieces:
            self._plain = self._plain and self._is_plain(piece)
            self._calls.take(piece)
        if first.get("finish_reason") is not None:
            self._finish = str(first["finish_reason"])
            self._ends.append((event, chunk))
            return Piece("end", text, event)
        if pieces:
            return Piece("call", text, event)
        return Piece("text", text, event) if text else Piece("reasoning" if thought else "other", thought, event)

    def reply(self) -> ModelReply:
        """See `StreamReader`."""
        message = {"content": "".join(self._texts), "tool_calls": self._calls.calls()}
        found = openai_reply({"choices": [{"message": message, "finish_reason": self._finish}]})
        thoughts = "".join(self._thoughts)
        return ModelReply(found.text, thoughts or None, found.calls, found.finish_reason if self._finish else None)

    def usage(self) -> Mapping[str, Any]:
        """See `StreamReader`: the chunk that tells the tokens, if one came."""
        found = [chunk for _, chunk in self._ends if chunk.get("usage")]
        return found[-1] if found else {}

    def lacks(self) -> list[str]:
        """See `StreamReader`."""
        return [] if self._plain else ["call_deltas"]

    def text_event(self, text: str) -> bytes:
        """See `StreamReader`."""
        return self._event({"content": text})

    def calls_and_end(self, decision: ToolCalls, left: str | None = None) -> bytes:
        """See `StreamReader`."""
        said = [self._event({"tool_calls": [{"index": k, **one}]}) for k, one in enumerate(calls_of(decision.calls))]
        reason = "tool_calls" if decision.calls else "stop"
        ends = [raw if not chunk.get("choices") else _ended(chunk, reason) for raw, chunk in self._ends]
        if not any(chunk.get("choices") for _, chunk in self._ends):
            ends.insert(0, self._event({}, reason))
        done = b"" if self._done else f"data: {DONE}\n\n".encode()
        return b"".join([*said, *ends, done])

    def _beside(self, event: bytes, chunk: Mapping[str, Any]) -> Piece:
        """What says nothing of the reply: the usage behind its end, or an error."""
        if self._finish is None or "error" in chunk:
            return refused(chunk, event)
        self._ends.append((event, chunk))
        return Piece("end", raw=event)

    def _is_plain(self, piece: Mapping[str, Any]) -> bool:
        """Whether clients that trust the API put this piece where it belongs.

        They go by the index alone and join whatever comes with it: the official one joins ids and names too.
        """
        index = piece.get("index")
        if index == self._indices:
            self._indices += 1
            return True
        said_again = piece.get("id") or as_object(piece.get("function")).get("name")
        return isinstance(index, int) and 0 <= index < self._indices and not said_again

    def _event(self, delta: Mapping[str, Any], reason: str | None = None) -> bytes:
        known = {key: value for key, value in self._last.items() if key != "choices"}
        told = begun(self._model, "chat.completion.chunk") | known
        return event_of(told | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}, named=False)


def _ended(chunk: Mapping[str, Any], reason: str) -> bytes:
    """The last chunk of a reply with another reason, and nothing else that it said."""
    first = objects(chunk.get("choices"))[0]
    delta = {key: value for key, value in as_object(first.get("delta")).items() if key not in _FULL}
    return event_of({**chunk, "choices": [{**first, "delta": delta, "finish_reason": reason}]}, named=False)
