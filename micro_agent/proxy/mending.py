"""A streamed reply on its way: what goes on at once, what is held back, and what its end comes to."""

from collections.abc import Callable
from typing import Any

from micro_agent.decoding import ModelReply, ToolCalls
from micro_agent.proxy.events import MOST, comment
from micro_agent.proxy.holding import Holder
from micro_agent.proxy.reading import Verdict, offered, read, read_refused
from micro_agent.proxy.wires import Asked, Piece, Wire

REPAIRS = "x-micro-agent-repairs"
"""The header, or the begin of the comment, that tells what was mended."""


class Mending:
    """Takes the events of one stream and gives the bytes that go out.

    Where reading fails, what is held back goes out, and all that follows as well: `blind` is then true.

    Args:
        wire: Of the request.
        asked: What it asks for.
        embedded: Whether calls amid other text are mended.
        failed: Called with what reading raised.
    """

    def __init__(self, wire: Wire, asked: Asked, *, embedded: bool, failed: Callable[[Exception], None]) -> None:
        self._asked, self._embedded, self._failed = asked, embedded, failed
        self._reader = wire.reader(asked.model)
        # Where one call has to be made, its arguments alone may be the call: then no name has to stand there.
        names = [tool.name for tool in asked.tools] if asked.choice == "auto" else [""]
        self._holder = Holder(names, embedded=embedded) if offered(asked) else None
        self._held: list[Piece] = []
        self._size = 0
        self._refused: str | None = None
        """What the model said where the server could not read it."""
        self._said: list[str] = []
        """The text that went out."""
        self.ended = False
        """Whether the server said that the reply is whole."""
        self.blind = False

    @property
    def holds(self) -> bool:
        """Whether something is held back."""
        return bool(self._held)

    def take(self, event: bytes) -> bytes:
        """What goes out now that this event came."""
        if self.blind:
            return event
        try:
            piece = self._reader.feed(event)
        except Exception as error:  # noqa: BLE001 - whatever a server sends goes through
            return self._give_up(error) + event
        if piece.kind == "end":
            self.ended = True
        if self._holder is None:
            return event
        if piece.kind in ("text", "end") and piece.text:
            self._holder.feed(piece.text)
        if piece.kind == "refused":
            self._refused = piece.text
        waits = piece.kind in ("open", "call", "end", "refused")
        before = ("call", "refused") if piece.kind == "text" else ("open", "call", "refused")
        if waits or self._holder.holds_text or any(one.kind in before for one in self._held):
            return self._hold(piece, event)
        out = self.rest() + event
        self._said += [piece.text] if piece.kind == "text" else []
        return out

    def rest(self) -> bytes:
        """What was held back, as it came."""
        held, self._held, self._size = self._held, [], 0
        self._said += [piece.text for piece in held if piece.kind == "text"]
        return b"".join(piece.raw for piece in held)

    def verdict(self) -> Verdict:
        """What the reply comes to; a reply that was not whole is passed on, unless its error holds it."""
        if self.blind:
            return Verdict(ModelReply())
        try:
            if self._refused is not None:
                return read_refused(self._refused, self._asked, embedded=self._embedded)
            reply = self._reader.reply()
            if not self.ended:
                return Verdict(reply)
            lacks = self._reader.lacks()
            return read(reply, self._asked, embedded=self._embedded, told=self.told(), lacks=lacks)
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(error)
            return Verdict(ModelReply())

    def told(self) -> Any:
        """What the server said of its tokens and model."""
        return {} if self.blind else self._reader.usage()

    def mended(self, calls: ToolCalls, verdict: Verdict) -> bytes:
        """The end of the stream, with these calls in place of what was held back."""
        keeps = bool(verdict.reply.calls) or "asked_again" in verdict.kinds  # its text is no call
        kinds = {"text", "reasoning", "other"} if keeps else {"reasoning", "other"}
        try:
            left = "" if keeps or self._holder is None else self._holder.left()
            left += "".join(one.text for one in self._held if keeps and one.kind == "end")
            kept = "".join(one.text for one in self._held if keeps and one.kind == "text")
            opens = b"".join(one.raw for one in self._held if one.kind == "open")
            kinds |= {"open"} if kept else set()
            said = self._reader.text_event(left) if left else b""
            said = opens + said if said and not kept else said
            end = self._reader.calls_and_end(calls, "".join([*self._said, kept, left]))
        except Exception as error:  # noqa: BLE001 - as above
            return self._give_up(error)
        beside = [one.raw for one in self._held if one.kind in kinds]
        parts = [*beside, said] if keeps else [said, *beside]
        return b"".join([*parts, comment(f"{REPAIRS} {', '.join(verdict.kinds)}"), end])

    def _hold(self, piece: Piece, event: bytes) -> bytes:
        self._held.append(piece if piece.raw is event else Piece(piece.kind, piece.text, event))
        self._size += len(event)
        if self._size <= MOST:
            return b""
        self.blind = True
        return self.rest()

    def _give_up(self, error: Exception) -> bytes:
        self.blind = True
        self._failed(error)
        return self.rest()
