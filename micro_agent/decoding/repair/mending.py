"""JSON that is nearly JSON, read by the first of a few readers, the exact ones first. Nothing is completed or lost."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.repair.assignments import assigned
from micro_agent.decoding.repair.guessing import guessed
from micro_agent.decoding.repair.misplaced import begun_again, mixed_quotes, stray_signs, unopened
from micro_agent.decoding.repair.nearly import (
    control_characters,
    escapes,
    loose_json,
    python_literal,
    trailing_commas,
)
from micro_agent.decoding.repair.punctuation import punctuation
from micro_agent.decoding.repair.quotes import (
    inner_quotes,
    joined,
    missing_quotes,
    quoted_objects,
    single_quotes,
    tripled_quotes,
)
from micro_agent.decoding.repair.strict import Allowance, GivenTwice, Unreadable, exact, repair
from micro_agent.decoding.repair.unquoted import arithmetic

__all__ = ["Allowance", "Unreadable", "exact", "mend", "repair", "unescaped"]

_FAST = 20
"""So many characters a microsecond a reader at least takes; a backslash may take half of one."""


def mend(text: str, allowance: Allowance, *, guess: bool = True, closing: bool = True) -> tuple[Any, list[Repair]]:
    """``text``, one whole object or list with its closing bracket, read in the most literal way that works.

    ``guess=False`` leaves out what looks for lost quotes and brackets, and ``json_repair``. ``closing=False`` leaves
    out what may put brackets in.

    Returns:
        The value, and what was mended for it (nothing for strict JSON).

    Raises:
        Unreadable: No reader makes sense of it; the reason is that of strict JSON.
    """
    try:
        return exact(text), []
    except GivenTwice:
        raise
    except Unreadable as error:
        reason = error
    cost = len(text) // _FAST + text.count("\\") // 2
    readers = _LITERAL + (_QUOTES if guess else ()) + (_BRACKETS if guess and closing else ())
    for kind, read in readers:
        if not allowance.spend(cost):
            break
        try:
            value = read(text, allowance)
        except GivenTwice:
            raise
        except Unreadable:
            continue
        return value, [repair(kind, text, json.dumps(value, ensure_ascii=False))]
    raise reason


_FENCE = re.compile(r"\A```\w*\s*+")
_ESCAPED = re.compile(r"""[^\\"{]{0,200}\{[^\\"']{0,20}\\+["']""")


def unescaped(text: str) -> str | None:
    r"""What a JSON string with an object in it holds, with or without its own quotes: ``{\"name\": \"add\"}``.

    Every quote inside must be escaped. What is escaped several times loses one level. ``None`` for any other text.
    """
    inner = _FENCE.sub("", text.strip()).strip("`").strip()
    inner = inner.removeprefix('"').removesuffix('"') if inner.endswith('"') and inner[:1] == '"' else inner
    if "{" not in inner or not _ESCAPED.match(inner) or re.search(r'(?<!\\)"', inner):
        return None
    with suppress(Unreadable):
        return cast("str", exact(f'"{inner}"', strict=False))
    return None


_Readers = tuple[tuple[str, Callable[[str, Allowance], Any]], ...]

_LITERAL: _Readers = (
    ("control_characters", control_characters),
    ("escapes", escapes),
    ("trailing_comma", trailing_commas),
    ("python_literal", python_literal),
    ("loose_json", loose_json),
    ("assignments", assigned),
    ("tripled_quotes", tripled_quotes),
    ("joined", joined),
)
_QUOTES: _Readers = (
    ("mixed_quotes", mixed_quotes),
    ("quoted_objects", quoted_objects),
    ("inner_quotes", inner_quotes),
    ("single_quotes", single_quotes),
    ("missing_quotes", missing_quotes),
    ("unquoted_arithmetic", arithmetic),
    ("stray_signs", stray_signs),
    ("unopened", unopened),
    ("begun_again", begun_again),
)
_BRACKETS: _Readers = (
    ("punctuation", punctuation),
    ("json_repair", guessed),
)
"""In this order: quotes as they stand; quotes that are lost or too many; brackets that are, at last any guess."""
