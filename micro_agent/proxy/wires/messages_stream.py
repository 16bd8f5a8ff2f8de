"""A streamed message: each block has a number, an event that starts it, events that go on with it, one that stops it.

The events are ``message_start``, ``content_block_start``, ``content_block_delta``, ``content_block_stop``, then
``message_delta`` with the reason of the end and ``message_stop``; ``ping`` comes anywhere.
"""

from typing import Any

from micro_agent.decoding import ModelReply, ToolCalls
from micro_agent.proxy.wires import Piece
from micro_agent.proxy.wires.events import as_text, data_of, event_of, number, refused, text
from micro_agent.proxy.wires.message_blocks import begun, call_blocks, ended, reply_of

_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""The fields of a block that a delta goes on with; it has the same name in the delta."""


class MessagesReader:
    """Reads the events of one stream, and writes what is said in their place."""

    def __init__(self, model: str | None = None) -> None:
        self._model = model
        self._blocks: dict[int, dict[str, Any]] = {}
        """By their number, as they started."""
        self._grown: dict[int, dict[str, list[str]]] = {}
        """What came of their fields since."""
        self._begun = False
        self._ours = set[int]()
        """Blocks that the server did not send."""
        self._message: dict[str, Any] = {}
        self._last: dict[str, Any] = {}
        """The event that says why the reply ended."""

    def feed(self, event: bytes) -> Piece:
        """What a whole event says.

        Raises:
            ValueError: It cannot be read.
        """
        data = data_of(event)
        if data is None:
            return Piece("other", raw=event)
        if isinstance(data, str):
            return Piece("end", raw=event)
        self._begun = True
        match data.get("type"):
            case "message_start":
                self._message = data["message"]
                return Piece("other", raw=event)
            case "content_block_start":
                return self._start(_index(data), data["content_block"], event)
            case "content_block_delta":
                return self._delta(_index(data), data["delta"], event)
            case "content_block_stop":
                kind = self._blocks[_index(data)].get("type")
                return Piece("call" if kind in ("text", "tool_use") else "other", raw=event)
            case "message_delta":
                self._last = data
                return Piece("end", raw=event)
            case "message_stop":
                return Piece("end", raw=event)
            case "error":
                return refused(data, event)
            case _:
                return Piece("other", raw=event)

    def reply(self) -> ModelReply:
        """The reply of all events that came so far."""
        return reply_of(list(map(self._whole, self._blocks)), self._last.get("delta", {}).get("stop_reason"))

    def usage(self) -> dict[str, Any]:
        """The message as far as it says its model and its tokens."""
        return {**self._message, "usage": {**(self._message.get("usage") or {}), **(self._last.get("usage") or {})}}

    def lacks(self) -> list[str]:
        """Nothing: a block has its number and its name at its start."""
        return []

    def text_event(self, text: str) -> bytes:
        """The event that says ``text`` in the block that is being said; a whole beginning where there is none."""
        known = [index for index, block in self._blocks.items() if block.get("type") == "text"]
        index = known[-1] if known else len(self._blocks)
        parts: list[bytes] = []
        if not known:
            self._blocks[index] = {"type": "text", "text": ""}
            self._ours.add(index)
            parts = [self._begin(), _start(index, self._blocks[index])]
        return b"".join([*parts, _delta(index, "text_delta", text=text)])

    def calls_and_end(self, decision: ToolCalls, left: str | None = None) -> bytes:
        """See `StreamReader`."""
        opened, first = list[int](), 0
        for index, block in self._blocks.items():
            kind = block.get("type")
            if kind == "tool_use" or (kind == "text" and left == "" and index not in self._ours):
                continue  # another takes its place, or what would have begun it did not go out
            first = max(first, index + 1)
            if kind == "text":
                opened.append(index)
                left = left[len(self._whole(index)["text"]) :] if left else left
        parts = [self._begin(), *map(_stop, opened)]
        calls = call_blocks(decision.calls, list(self._blocks.values()))
        for index, block in enumerate(calls, first):
            start = {
                "type": "content_block_start",
                "index": index,
                "content_block": {**block, "input": dict[str, Any]()},
            }
            parts += [event_of(start), _delta(index, "input_json_delta", partial_json=as_text(block["input"]))]
            parts.append(_stop(index))
        why: dict[str, Any] = self._last.get("delta", {"stop_sequence": None})
        last = {"type": "message_delta", "usage": {"output_tokens": 0}, **self._last}
        last["delta"] = {**why, **ended(why, bool(calls))}
        return b"".join([*parts, event_of(last), event_of({"type": "message_stop"})])

    def _begin(self) -> bytes:
        """The beginning of a message that the server did not send; nothing where it has begun."""
        if self._begun:
            return b""
        self._begun = True
        return event_of({"type": "message_start", "message": begun(self._model)})

    def _start(self, index: int, block: dict[str, Any], event: bytes) -> Piece:
        self._blocks[index] = dict(block)
        match block.get("type"):
            case "text":
                said = text(block.get("text"))
                return Piece("text" if said else "open", said, event)
            case "tool_use":
                return Piece("call", raw=event)
            case "thinking":
                return Piece("reasoning", text(block.get("thinking")), event)
            case _:
                return Piece("other", raw=event)

    def _delta(self, index: int, delta: dict[str, Any], event: bytes) -> Piece:
        block, kind = self._blocks[index], text(delta.get("type"))
        if kind == "input_json_delta":
            self._grow(index, "partial_json", text(delta.get("partial_json")))
            return Piece("call" if block.get("type") == "tool_use" else "other", raw=event)
        if (field := _GROWS.get(kind)) is None:
            return Piece("other", raw=event)
        said = text(delta.get(field))
        self._grow(index, field, said)
        match kind:
            case "text_delta":
                return Piece("text", said, event)
            case "thinking_delta":
                return Piece("reasoning", said, event)
            case _:
                return Piece("other", raw=event)

    def _grow(self, index: int, field: str, said: str) -> None:
        self._grown.setdefault(index, {}).setdefault(field, []).append(said)

    def _whole(self, index: int) -> dict[str, Any]:
        """A block with all that came of it."""
        block, grown = self._blocks[index], self._grown.get(index, {})
        return block | {field: text(block.get(field)) + "".join(pieces) for field, pieces in grown.items()}


def _index(data: dict[str, Any]) -> int:
    if (index := number(data["index"])) is None:
        raise ValueError("a block without a number")
    return index


def _start(index: int, block: dict[str, Any]) -> bytes:
    return event_of({"type": "content_block_start", "index": index, "content_block": block})


def _delta(index: int, kind: str, **said: str) -> bytes:
    return event_of({"type": "content_block_delta", "index": index, "delta": {"type": kind, **said}})


def _stop(index: int) -> bytes:
    return event_of({"type": "content_block_stop", "index": index})
