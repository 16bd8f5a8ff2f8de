"""Numbers that remember how they were written: where a text is due, ``3.10`` is not 3.1."""

from typing import Any, cast


class WrittenFloat(float):
    """A number whose digits are not those that Python writes for it. It lives until arguments have their types.

    Attributes:
        written: The digits as they stood.
    """

    __slots__ = ("written",)
    written: str


def number(digits: str) -> float:
    """The number of these digits, a `WrittenFloat` where ``repr`` would write other ones; raises `ValueError`."""
    value = float(digits)
    if repr(value) == digits:
        return value
    kept = WrittenFloat(value)
    kept.written = digits
    return kept


def as_written(value: float) -> str:
    """The digits of a number as they stood, or as Python writes them."""
    return value.written if isinstance(value, WrittenFloat) else repr(value)


def plain(value: Any) -> Any:
    """A JSON value with `float` for each `WrittenFloat`; the very same object where there is none in it."""
    if isinstance(value, WrittenFloat):
        return float(value)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        found = {key: plain(member) for key, member in members.items()}
        return found if any(found[key] is not member for key, member in members.items()) else members
    if isinstance(value, list):
        items = cast("list[Any]", value)
        changed = [plain(item) for item in items]
        return changed if any(new is not item for new, item in zip(changed, items, strict=True)) else items
    return value
