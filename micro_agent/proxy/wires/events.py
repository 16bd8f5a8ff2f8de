"""What all wires share: server-sent events read and written, ids, parts of bodies that may be anything."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast
from uuid import uuid4

from micro_agent.decoding import ToolCall
from micro_agent.proxy.refusals import said_of
from micro_agent.proxy.wires import Piece

_READ = json.JSONDecoder().raw_decode
_BLANKS = " \t\r\n"
DONE = "[DONE]"
"""What is sent behind the last event: always on chat completions, by some servers elsewhere."""


def data_of(event: bytes) -> dict[str, Any] | str | None:
    """What a whole event carries: an object, `DONE`, or ``None`` for a comment, as keep-alives are.

    Raises:
        ValueError: It is neither.
    """
    if event.startswith(b"data: {") and event.count(b"\n") <= 2:  # nearly every event is so, or so with a name
        return _object(event[6:])
    if event.startswith(b"data: ") and event.count(b"\n") <= 2:
        data = event[6:]
    else:
        _, named, data = event.rpartition(b"\ndata: ")
        if not named or event.count(b"\ndata") > 1 or data.count(b"\n") > 2:
            lines = [line for line in event.splitlines() if line.startswith(b"data:")]
            data = b"\n".join(line[5:] for line in lines)
    if not data or data.isspace():
        return None
    if data.strip() == DONE.encode():
        return DONE
    return _object(data)


def _object(data: bytes) -> dict[str, Any]:
    text = data.decode(errors="surrogatepass").strip(_BLANKS)
    value, end = _READ(text)  # what `json.loads` does besides takes as long: it guesses an encoding, looks for blanks
    if end != len(text) or not isinstance(value, dict):
        raise ValueError(f"an event that is no object: {text!r:.60}")
    return cast("dict[str, Any]", value)


def event_of(data: Mapping[str, Any], *, named: bool = True) -> bytes:
    """The event of this data, under the name that ``data`` has as its ``type``."""
    name = f"event: {data['type']}\n".encode() if named else b""
    return name + b"data: " + as_text(data).encode(errors="backslashreplace") + b"\n\n"


def as_text(value: Any) -> str:
    """The JSON of a value, non-ASCII letters as they are. Half a letter is left to whoever encodes it."""
    return json.dumps(value, ensure_ascii=False)


def refused(error: Mapping[str, Any], event: bytes) -> Piece:
    """What an event with this error says."""
    said = said_of(error)
    return Piece("refused", said, event) if said else Piece("other", raw=event)


def new_id(prefix: str) -> str:
    """An id that nothing else has, such as ``call_0f…``."""
    return f"{prefix}_{uuid4().hex[:24]}"


def with_ids(calls: Iterable[ToolCall], new: Callable[[], str]) -> list[tuple[ToolCall, str]]:
    """The calls, each with an id that no other has: its own, or a new one."""
    seen: set[str | None] = {None, ""}
    told: list[tuple[ToolCall, str]] = []
    for call in calls:
        known = new() if call.call_id in seen else str(call.call_id)
        seen.add(known)
        told.append((call, known))
    return told


def counted(turns: Iterable[tuple[str, Any, Any]]) -> tuple[str, int]:
    """The tool of the first of these turns (its name, arguments and result), and how many in a row are the same."""
    same, last = 0, None
    for turn in turns:
        if last not in (None, turn):
            break
        same, last = same + 1, turn
    return ("", 0) if last is None else (last[0], same)


def listed(value: Any) -> list[Any]:
    """``value`` if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; none where it is no list."""
    return [cast("dict[str, Any]", one) for one in listed(value) if isinstance(one, dict)]


def text(value: Any) -> str:
    """``value`` if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    """``value`` if it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
