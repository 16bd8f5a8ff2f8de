"""JSON that is nearly JSON, read by the first of a few readers, the exact ones first. Nothing is completed or lost."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.guessing import guessed
from micro_agent.decoding.nearly import (
    control_characters,
    escapes,
    inner_quotes,
    loose_json,
    python_literal,
    trailing_commas,
)
from micro_agent.decoding.strict import Allowance, Unreadable, exact
from micro_agent.decoding.wording import shorten

__all__ = ["Allowance", "Unreadable", "exact", "mend", "repair", "unescaped"]

_SHOWN = 200


def mend(text: str, allowance: Allowance, *, guess: bool = True) -> tuple[Any, list[Repair]]:
    """``text``, one whole object or list with its closing bracket, read in the most literal way that works.

    ``guess=False`` leaves out ``json_repair``.

    Returns:
        The value, and what was mended for it (nothing for strict JSON).

    Raises:
        Unreadable: No reader makes sense of it; the reason is that of strict JSON.
    """
    try:
        return exact(text), []
    except Unreadable as error:
        reason = error
    for kind, read in _READERS if guess else _READERS[:-2]:
        try:
            value = read(text, allowance)
        except Unreadable:
            continue
        return value, [repair(kind, text, json.dumps(value, ensure_ascii=False))]
    raise reason


_ESCAPED = re.compile(r"""[^\\"]{0,200}\\+["']""")


def unescaped(text: str) -> str | None:
    r"""What a JSON string with an object in it holds, with or without its own quotes: ``{\"name\": \"add\"}``.

    Every quote inside must be escaped. What is escaped several times loses one level. ``None`` for any other text.
    """
    inner = text.strip().strip("`").strip()
    inner = inner.removeprefix('"').removesuffix('"') if inner.endswith('"') and inner[:1] == '"' else inner
    if "{" not in inner or not _ESCAPED.match(inner) or re.search(r'(?<!\\)"', inner):
        return None
    with suppress(Unreadable):
        return cast("str", exact(f'"{inner}"', strict=False))
    return None


def repair(kind: str, before: str, after: str) -> Repair:
    """A `Repair` with both texts shortened to 200 characters."""
    return Repair(kind, shorten(before, _SHOWN), shorten(after, _SHOWN))


_READERS: tuple[tuple[str, Callable[[str, Allowance], Any]], ...] = (
    ("control_characters", control_characters),
    ("escapes", escapes),
    ("trailing_comma", trailing_commas),
    ("python_literal", python_literal),
    ("loose_json", loose_json),
    ("inner_quotes", inner_quotes),
    ("json_repair", guessed),
)
