"""A streamed response: items are added, grow and are done; its last event has all of them once more.

A message goes through ``response.output_item.added``, ``response.content_part.added``, ``response.output_text.delta``,
``response.output_text.done``, ``response.content_part.done`` and ``response.output_item.done``; a call through
``output_item.added``, ``response.function_call_arguments.delta`` and ``.done``, and ``output_item.done``. Servers leave
out much of it: llama.cpp the numbers and the beginning of a call, Ollama the end of a message that calls follow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from micro_agent.decoding import ModelReply, ToolCalls
from micro_agent.proxy.wires import Piece
from micro_agent.proxy.wires.events import data_of, event_of, number, objects, refused, text
from micro_agent.proxy.wires.response_items import (
    begun,
    call_items,
    message,
    reply_of,
    saying,
    text_of,
    with_output,
)

_ENDS = ("response.completed", "response.incomplete", "response.failed")
_GROWS: dict[str, Literal["text", "reasoning", "call"]] = {
    "response.output_text.delta": "text",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.function_call_arguments.delta": "call",
}
_KEPT = ("message", "function_call")
"""Items whose end is kept back: it may turn out that calls take the place of the text."""


@dataclass
class _Item:
    told: dict[str, Any]
    """As the server last said it as a whole."""
    at: int
    """Its ``output_index``."""
    pieces: list[str] = field(default_factory=list[str])
    """What came of its text, or of its arguments."""
    part: bool = False
    """Whether its text has begun."""
    ours: bool = False
    """Whether it is one of a reply that the server did not send."""
    done: bool = False
    """Whether the server has said all of it."""

    @property
    def said(self) -> str:
        return "".join(self.pieces) or text_of(self.told)

    def whole(self) -> dict[str, Any]:
        """The item with all that came."""
        grown = "".join(self.pieces)
        match self.told.get("type"):
            case "message":
                return saying(self.told, self.said)
            case "function_call":
                return {**self.told, "arguments": self.told.get("arguments") or grown}
            case "reasoning" if grown and not (self.told.get("content") or self.told.get("summary")):
                return {**self.told, "content": [{"type": "reasoning_text", "text": grown}]}
            case _:
                return self.told


class ResponsesReader:
    """Reads the events of one stream, and writes what is said in their place."""

    def __init__(self, model: str | None = None) -> None:
        self._model = model
        self._items: list[_Item] = []
        """In the order in which they came."""
        self._named: dict[str, _Item] = {}
        """The same by each of their ids."""
        self._placed: dict[int, _Item] = {}
        """The latest at each place of the output."""
        self._response: dict[str, Any] = {}
        """As the latest event has it that has it."""
        self._ended = False
        self._done = b""
        self._next = 0
        """The number of the next event."""
        self._after_open = self._after_text = self._after_others = 0
        """The numbers behind the latest event of each kind that is not kept back."""

    def feed(self, event: bytes) -> Piece:
        """What a whole event says.

        Raises:
            ValueError: It cannot be read.
        """
        data = data_of(event)
        if data is None:
            return Piece("other", raw=event)
        if isinstance(data, str):
            self._done = event
            return Piece("end", raw=event)
        sent = number(data.get("sequence_number"))
        self._next = (self._next if sent is None else sent) + 1
        piece = self._read(data, event)
        match piece.kind:
            case "text":
                self._after_text = self._next
            case "other" | "reasoning":
                self._after_others = self._next
            case "open" if not self._after_text:
                self._after_open = self._next
            case _:
                pass
        return piece

    def reply(self) -> ModelReply:
        """The reply of all events that came so far."""
        items = [item.whole() for item in self._items] or objects(self._response.get("output"))
        return reply_of(items, self._response if self._ended else {})

    def usage(self) -> dict[str, Any]:
        """The response as far as it says its model and its tokens."""
        return self._response

    def lacks(self) -> list[str]:
        """Nothing: a call comes whole in an item of its own."""
        return []

    def text_event(self, text: str) -> bytes:
        """The event that says ``text`` in the message that is being said; a whole beginning where there is none."""
        messages = [item for item in self._items if item.told.get("type") == "message"]
        begin = b"" if messages else self._begin()
        item = (messages or self._items)[-1]
        item.pieces += [text] if item.ours else []
        told: dict[str, Any] = {"type": "response.output_text.delta", **_place(item, content_index=0), "delta": text}
        told["logprobs"] = []
        if not self._after_text:
            return begin + self._event(**told)
        return event_of({**told, "sequence_number": self._after_text - 1})  # instead of the one that was read last

    def calls_and_end(self, decision: ToolCalls, left: str | None = None) -> bytes:
        """See `StreamReader`."""
        parts = [] if self._response else [self._created()]
        if self._ended:
            opened = 0 if left == "" else self._after_open
            self._next = max(self._after_others, opened, self._after_text if left else 0)
        output, first = list[dict[str, Any]](), 0
        for item in self._items:
            kind = item.told.get("type")
            if kind == "function_call" or (kind == "message" and left == "" and not item.ours):
                continue  # another takes its place, or what would have begun it did not go out
            output.append(item.whole())
            first = max(first, item.at + 1)
            if kind == "message":
                said = item.said if item.ours else (left or "")[: len(item.said)]
                left = left[len(said) :] if left else left
                output[-1] = {**saying(item.told, said), "status": "completed"}
                parts.append(self._message_done(item, said, output[-1]))
        calls = call_items(decision.calls, [item.whole() for item in self._items])
        parts += [self._call(_Item(told, at)) for at, told in enumerate(calls, first)]
        output += calls
        ended = {**with_output(self._response, output), "status": "completed", "incomplete_details": None}
        ended |= {"error": None} if ended.get("error") else {}
        return b"".join([*parts, self._event(type="response.completed", response=ended), self._done])

    def _read(self, data: dict[str, Any], event: bytes) -> Piece:
        kind = text(data.get("type"))
        if isinstance(data.get("response"), dict):
            self._response = data["response"]
            self._ended = kind in _ENDS
            if kind == "response.failed":
                return refused(self._response, event)
            return Piece("end" if self._ended else "other", raw=event)
        if kind == "error":
            return refused({"error": data}, event)
        if kind.startswith("response.output_item."):
            item = self._told(data, data["item"])
        elif "item_id" in data or "output_index" in data:
            item = self._found(data, text(data.get("item_id")))
        else:
            return Piece("other", raw=event)
        if grows := _GROWS.get(kind):
            said = text(data.get("delta"))
            item.pieces.append(said)
            item.part = True
            return Piece("call", raw=event) if grows == "call" else Piece(grows, said, event)
        if kind.endswith(".done") or item.told.get("type") == "function_call":
            return Piece("call" if item.told.get("type") in _KEPT else "other", raw=event)
        item.part = item.part or kind == "response.content_part.added"
        begins = kind in ("response.content_part.added", "response.output_item.added")
        if item.told.get("type") == "message":  # another thing that it says, as a refusal, goes out as text does
            return Piece("open" if begins else "text", raw=event)
        return Piece("other", raw=event)

    def _told(self, data: Mapping[str, Any], told: dict[str, Any]) -> _Item:
        """The item that an event has as a whole."""
        ids = [found for name in ("id", "call_id") if (found := text(told.get(name)))]
        index = number(data.get("output_index"))
        known = self._named.get(ids[0]) if ids else None
        if known is None and data["type"] == "response.output_item.done":
            known = self._under_way(index, told)
        if known is None:
            known = _Item(told, len(self._items) if index is None else index)
            self._items.append(known)
            self._placed[known.at] = known
        known.done = known.done or data["type"] == "response.output_item.done"
        known.told = told
        for found in ids:
            self._named.setdefault(found, known)
        return known

    def _under_way(self, index: int | None, told: Mapping[str, Any]) -> _Item | None:
        """The item that ends here, where it has no id, or another one than at its beginning."""
        begun = self._placed.values() if index is None else filter(None, [self._placed.get(index)])
        return next((item for item in begun if not item.done and item.told.get("type") == told.get("type")), None)

    def _found(self, data: Mapping[str, Any], item_id: str) -> _Item:
        """The item that an event goes on with."""
        place = number(data.get("output_index"))
        placed = None if place is None else self._placed.get(place)
        return self._named.get(item_id) or placed or self._items[-1]

    def _begin(self) -> bytes:
        """The beginning of a message of ours."""
        told = {**message(), "status": "in_progress", "content": list[Any]()}
        item = _Item(told, len(self._items), part=True, ours=True)
        created = b"" if self._response else self._created()
        self._items.append(item)
        added = self._event(type="response.output_item.added", output_index=item.at, item=told)
        part = message()["content"][0]
        return (
            created
            + added
            + self._event(type="response.content_part.added", **_place(item, content_index=0), part=part)
        )

    def _created(self) -> bytes:
        """The beginning of a response that the server did not send."""
        self._response = begun(self._model)
        return b"".join(
            self._event(type=f"response.{kind}", response=self._response) for kind in ("created", "in_progress")
        )

    def _message_done(self, item: _Item, said: str, told: dict[str, Any]) -> bytes:
        done = self._event
        parts: list[bytes] = []
        if item.part:
            place = _place(item, content_index=0)
            parts.append(done(type="response.output_text.done", **place, text=said, logprobs=[]))
            parts.append(done(type="response.content_part.done", **place, part=told["content"][0]))
        parts.append(done(type="response.output_item.done", output_index=item.at, item=told))
        return b"".join(parts)

    def _call(self, item: _Item) -> bytes:
        told, place = item.told, _place(item)
        arguments, begun = told["arguments"], {**told, "arguments": "", "status": "in_progress"}
        return b"".join([
            self._event(type="response.output_item.added", output_index=item.at, item=begun),
            self._event(type="response.function_call_arguments.delta", **place, delta=arguments),
            self._event(type="response.function_call_arguments.done", **place, name=told["name"], arguments=arguments),
            self._event(type="response.output_item.done", output_index=item.at, item=told),
        ])  # fmt: skip

    def _event(self, **told: Any) -> bytes:
        at, self._next = self._next, self._next + 1
        return event_of({**told, "sequence_number": at})


def _place(item: _Item, **more: Any) -> dict[str, Any]:
    return {"item_id": item.told.get("id"), "output_index": item.at, **more}
