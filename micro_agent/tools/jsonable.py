"""What a handler returned, as JSON that a model can read."""

import dataclasses
import datetime
import enum
import io
import json
import math
import os
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, cast

MAX_NODES = 100_000
MAX_TEXT = 16_000_000
"""Characters after which an iterator is asked for no more items: it may have no end."""
_MAX_DEPTH = 50
_MAX_BITS = 8192


def jsonable(value: object) -> Any:
    """``value`` in plain JSON types: ``dict`` with text keys, ``list``, ``str``, ``int``, finite ``float``, bool, null.

    pydantic models and dataclasses become objects, iterators (a generator, say) lists, sets sorted lists, dates ISO
    8601, bytes and paths text, NaN and infinities text, all else its ``repr``. Cycles, deep nesting and very many items
    are cut and say so.
    """
    return _Plain().of(value, 0)


class _Plain:
    """One conversion: the containers that are open (to see cycles) and how many nodes are left."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.left, self.text = MAX_NODES, 0

    def of(self, value: object, depth: int) -> Any:
        self.left -= 1
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, enum.Enum):
            return self.of(value.value, depth + 1)
        if isinstance(value, str):
            self.text += len(value)
            return _text(str.__str__(value))
        if isinstance(value, int):
            return _integer(int(value))
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else str(float(value))
        return self._container(value, depth)

    def _container(self, value: object, depth: int) -> Any:
        if id(value) in self.open:
            return f"<{type(value).__name__}: contains itself>"
        if depth >= _MAX_DEPTH:
            return f"<{type(value).__name__}: nested too deeply>"
        self.open.add(id(value))
        try:
            return self._plain(value, depth)
        finally:
            self.open.discard(id(value))

    def _plain(self, value: object, depth: int) -> Any:
        if isinstance(value, Mapping):
            return self._object(cast("Mapping[object, object]", value), depth)
        if isinstance(value, list | tuple):
            return self._list(self._taken(cast("list[object]", value)), depth)
        if isinstance(value, AbstractSet):
            return self._list(_sorted(self._taken(cast("AbstractSet[Any]", value))), depth)
        fields = _fields(value)
        if fields is not None:
            return self.of(fields, depth + 1)
        if isinstance(value, Iterator) and not isinstance(value, io.IOBase):
            return self._drawn(cast("Iterator[object]", value), depth)
        return _text(_shown(value))

    def _taken(self, items: Collection[object]) -> list[object]:
        """The items, or as many as can be shown where a class of the tool's own gives more than it has."""
        exact = type(items) in (list, tuple, set, frozenset)
        return list(items if exact else islice(items, self.left + 1))

    def _object(self, value: Mapping[object, object], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in value.items():
            if self.left <= 0:
                found["…"] = f"{len(value) - len(found)} more"
                break
            found[key_text(key)] = self.of(item, depth + 1)
        return found

    def _list(self, items: list[object], depth: int) -> list[Any]:
        found: list[Any] = []
        for item in items:
            if self.left <= 0:
                found.append(f"… [{len(items) - len(found)} more]")
                break
            found.append(self.of(item, depth + 1))
        return found

    def _drawn(self, items: Iterator[object], depth: int) -> list[Any]:
        found: list[Any] = []
        for item in items:
            if self.left <= 0 or self.text > MAX_TEXT:
                found.append("… [and more]")
                break
            found.append(self.of(item, depth + 1))
        return found


def key_text(key: object) -> str:
    """A key of a JSON object, as `json.dumps` writes the ones it can."""
    if isinstance(key, str):
        return _text(str.__str__(key))
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    return _text(_shown(key))


def _fields(value: object) -> object:
    """What stands for an object: its fields, its items, its number, its text; ``None`` when it has no such form."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(cast("bytes", value)).decode("utf-8", "backslashreplace")
    for method in ("model_dump", "tolist"):  # pydantic models; arrays and scalars of numpy
        call = getattr(type(value), method, None)
        if callable(call):
            return call(value)
    return None


def _sorted(values: list[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=_shown)


def _integer(value: int) -> int | str:
    """Python refuses to write integers of more than 4300 digits."""
    digits = int(value.bit_length() * math.log10(2)) + 1
    return value if value.bit_length() <= _MAX_BITS else f"<integer of about {digits} digits>"


def _shown(value: object) -> str:
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fsdecode(cast("os.PathLike[str]", value))
    if type(value).__str__ is not object.__str__ and type(value).__module__ in ("decimal", "fractions", "uuid"):
        return str(value)
    try:
        return repr(value)
    except BaseException as error:  # noqa: BLE001 a broken __repr__ must not hide that the tool has run
        return f"<{type(value).__name__}: its repr failed with {type(error).__name__}>"


def _text(text: str) -> str:
    """Text that UTF-8 can carry: lone surrogates (file names of another encoding) are escaped."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
