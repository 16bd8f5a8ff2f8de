"""A structured result made shorter field by field: its keys stay, texts and lists lose what is too much."""

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, cast

LIST_SHARE = 6
"""A list may be so many times as long as a text beside it."""
TRUNCATED = "truncated"
_MARK = 40
"""A text that is longer than it may be by no more than this is left whole: the word about the cut is as long."""
_MOST_PATHS = 12
_MOST_PATH = 80
_FINE = 64
"""The search ends when the bound of a text is known to one part in so many."""


to_json = json.JSONEncoder(ensure_ascii=False).encode
"""The JSON text that the model sees, and that limits count."""


def cut_middle(text: str, keep: int) -> str:
    """The first two thirds and the last third of ``keep`` characters, with the number of those cut between them."""
    tail = keep // 3
    head = keep - tail
    return f"{text[:head]}… [{len(text) - keep} characters cut] …{text[len(text) - tail :]}"


def shortened(value: Any, max_chars: int) -> dict[str, Any] | None:
    """A cut form of an object or a list, whose JSON has at most ``max_chars`` characters; ``None`` if there is none.

    All keys stay, unless they are too many or too long themselves. Texts keep their head and their tail, lists their
    first items, both with how much was cut. ``truncated`` names what was: ``stdout``, ``rows[3].text``. What has no
    place for it, a list or an object with such a key, stands under ``output``.
    """
    if not isinstance(value, (dict, list)):
        return None
    fields: dict[str, Any] = cast("dict[str, Any]", value) if isinstance(value, dict) else {"output": value}
    before = _cut_before(fields)
    if before:
        fields = {key: part for key, part in fields.items() if key != TRUNCATED}
    elif TRUNCATED in fields:
        fields = {"output": fields}
    sizes = _Sizes()
    sizes.of(fields)
    for whole_keys in (True, False):
        if (found := _longest(fields, before, max_chars, sizes, whole_keys=whole_keys)) is not None:
            return found
    return None


def _cut_before(fields: Mapping[str, Any]) -> list[str]:
    """The paths that an earlier cut has named."""
    named = fields.get(TRUNCATED)
    parts: list[Any] = cast("list[Any]", named) if isinstance(named, list) else []
    return parts if all(isinstance(part, str) for part in parts) else []


@dataclass(slots=True)
class _Sizes:
    """How long the JSON of each part is, at most, and the least bound of a text with which it is left whole.

    Measured once; of a list also those of its first items together, so that no try looks at each of them.
    """

    parts: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    items: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict[int, tuple[list[int], list[int]]])

    def of(self, value: Any) -> tuple[int, int]:
        if not isinstance(value, (dict, list)):
            return _leaf(value)
        if (known := self.parts.get(id(cast("object", value)))) is not None:
            return known
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            found = [(2, 0), *((len(to_json(key)) + 4 + size, need) for key, (size, need) in self._each(fields))]
            total = sum(size for size, _ in found), max(need for _, need in found)
        else:
            inner = [self.of(item) for item in cast("list[Any]", value)]
            sizes = list(accumulate(size + 2 for size, _ in inner))
            needs = list(accumulate((need for _, need in inner), max))
            self.items[id(cast("object", value))] = sizes, needs
            size = 2 + (sizes[-1] if sizes else 0)
            total = size, max(needs[-1] if needs else 0, -(-size // LIST_SHARE))
        self.parts[id(cast("object", value))] = total
        return total

    def _each(self, fields: dict[str, Any]) -> list[tuple[str, tuple[int, int]]]:
        return [(key, self.of(part)) for key, part in fields.items()]


def _leaf(value: Any) -> tuple[int, int]:
    if isinstance(value, str):
        return len(to_json(value)), max(0, len(value) - _MARK)
    if value is None or isinstance(value, bool):
        return 5, 0
    size = len(repr(value))
    return size, max(0, size - _MARK)


def _longest(
    fields: dict[str, Any], before: list[str], most: int, sizes: _Sizes, *, whole_keys: bool
) -> dict[str, Any] | None:
    """The form with the longest texts that fits, as far as a search by halves finds it."""
    found, least, limit = None, -1, most + 1
    while limit - least > 1 + max(0, least) // _FINE:
        middle = (least + limit) // 2
        if (cut := _cut(fields, before, most, _Cutting(most, middle, sizes, whole_keys=whole_keys))) is None:
            limit = middle
        else:
            found, least = cut, middle
    return found


def _cut(fields: dict[str, Any], before: list[str], most: int, cutting: "_Cutting") -> dict[str, Any] | None:
    try:
        found = cast("dict[str, Any]", cutting.of(fields, ""))
    except _TooLong:
        return None
    if found.keys() == {"…"} != fields.keys():
        return None
    paths = list(dict.fromkeys([*before, *cutting.paths]))
    named = [*paths[:_MOST_PATHS], *([f"… {len(paths) - _MOST_PATHS} more"] if len(paths) > _MOST_PATHS else [])]
    found = {**found, TRUNCATED: named}
    return found if len(to_json(found)) <= most else None


class _TooLong(Exception):
    """What is being put together is longer than it may be."""


class _Cutting:
    """One try: ``chars`` for a text, ``LIST_SHARE`` times as many for a list, and for an object if it is to be cut."""

    def __init__(self, most: int, chars: int, sizes: _Sizes, *, whole_keys: bool) -> None:
        self.left: int = most
        self.paths: list[str] = []
        self._chars, self._sizes, self._whole_keys, self._lists = chars, sizes, whole_keys, 0

    def of(self, value: Any, path: str) -> Any:
        """The value, or what is left of it; what that takes is taken. Raises `_TooLong`."""
        size, need = self._sizes.of(value)
        if need <= self._chars and size <= self.left:
            self.left -= size
            return value
        if isinstance(value, dict):
            return self._fields(cast("dict[str, Any]", value), path)
        if isinstance(value, list):
            return self._items(cast("list[Any]", value), path)
        if need > self._chars:
            value = cut_middle(value if isinstance(value, str) else to_json(value), self._chars)
            size = len(to_json(value))
            self.paths.append(_short(path))
        self._take(size)
        return value

    def _fields(self, value: dict[str, Any], path: str) -> dict[str, Any]:
        self._take(2)
        found: dict[str, Any] = {}
        start = self.left
        for key, part in value.items():
            room = self.left if self._whole_keys else self._chars * LIST_SHARE - (start - self.left)
            kept = self._kept(part, f"{path}.{key}" if path else key, room, len(to_json(key)) + 4)
            if not kept and self._whole_keys:
                raise _TooLong
            if not kept:
                return {**found, "…": self._said(f"{len(value) - len(found)} of {len(value)} keys cut", path or "…")}
            found[key] = kept[0]
        return found

    def _items(self, value: list[Any], path: str) -> list[Any]:
        """The first items. A list in a list gets at most half of what is left of that."""
        self._take(2)
        room = self._chars * LIST_SHARE
        if room > self.left and not self._lists:
            raise _TooLong  # it does not fit whole: what stands before it is to be shorter
        room = min(room, self.left // 2) if self._lists else room
        sizes, needs = self._sizes.items[id(value)]
        whole = min(bisect_right(sizes, room), bisect_right(needs, self._chars))
        found, start = value[:whole], self.left
        self._take(sizes[whole - 1] if whole else 0)
        self._lists += 1
        for index in range(whole, len(value)):
            kept = self._kept(value[index], f"{path}[{index}]", room - (start - self.left), 2)
            if not kept:
                found = [*found, self._said(f"… [{len(value) - index} of {len(value)} items cut] …", path)]
                break
            found += kept
        self._lists -= 1
        return found

    def _kept(self, part: Any, path: str, room: int, around: int) -> list[Any]:
        """A part, as the only item, if ``room`` is enough for it and the ``around`` characters before it."""
        before, known, lists = self.left, len(self.paths), self._lists
        self.left = start = min(before, room)
        try:
            self._take(around)
            found = [self.of(part, path)]
        except _TooLong:
            self.left, self._lists = before, lists
            del self.paths[known:]
            return []
        self.left = before - (start - self.left)
        return found

    def _said(self, word: str, path: str) -> str:
        """The word about a cut, where it stands."""
        self.paths.append(_short(path))
        self._take(len(word) + 9)
        return word

    def _take(self, chars: int) -> None:
        self.left -= chars
        if self.left < 0:
            raise _TooLong


def _short(path: str) -> str:
    return path if len(path) <= _MOST_PATH else f"{path[:_MOST_PATH]}…"
