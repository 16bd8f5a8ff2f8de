"""JSON that is nearly JSON, read by the first of a few readers, the exact ones first. Nothing is completed or lost."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, cast

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.repair.backslashes import legal_escapes
from micro_agent.decoding.repair.guessing import guessed
from micro_agent.decoding.repair.loose import tightened
from micro_agent.decoding.repair.punctuation import punctuation
from micro_agent.decoding.repair.quotes import begun_again, inner_quotes, missing_quotes, stray_signs, unopened
from micro_agent.decoding.repair.strict import Allowance, GivenTwice, Unreadable, as_json, exact, repair

__all__ = ["Allowance", "Unreadable", "as_json", "exact", "mend", "repair", "unescaped", "unfenced"]

_MARKS = "\"'“”{}[]:,\\"
_READERS: tuple[tuple[str, Callable[[str, Allowance], str]], ...] = (
    ("inner_quotes", inner_quotes),
    ("missing_quotes", missing_quotes),
    ("stray_signs", stray_signs),
    ("unopened", unopened),
    ("begun_again", begun_again),
    ("punctuation", punctuation),
    ("json_repair", guessed),
)
"""In this order: quotes that are lost or too many; brackets that are, at last any guess."""
_CLOSING = ("punctuation", "json_repair")


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
    for kind, written in _readings(text, allowance, guess=guess, closing=closing):
        try:
            value = exact(written, strict=False)
        except GivenTwice:
            raise
        except Unreadable:
            continue
        return value, [repair(kind, text, as_json(value))]
    raise reason


def _readings(text: str, allowance: Allowance, *, guess: bool, closing: bool) -> Iterator[tuple[str, str]]:
    """What ``text`` may be in JSON, and the kind of repair that makes it so."""
    with suppress(Unreadable):
        if not allowance.spend(len(text) // 20 + text.count("\\") // 2):
            return
        legal = legal_escapes(text)
        yield "control_characters" if legal == text else "escapes", legal
        # As measured, in microseconds: what every reader takes for the characters, and for the marks among them.
        cost = len(text) // 6 + sum(map(text.count, _MARKS)) // 2
        if not allowance.spend(cost):
            return
        tight, kind = tightened(legal)
        if kind:
            yield kind, tight
        for kind, read in _READERS if guess else ():
            if not allowance.spend(cost):
                return
            if closing or kind not in _CLOSING:
                with suppress(Unreadable):
                    yield kind, read(legal, allowance)


_FENCE = re.compile(r"\A```\w*\s*+")
_ESCAPED = re.compile(r"""[^\\"{]{0,200}\{[^\\"']{0,20}\\+["']""")


def unfenced(text: str) -> str:
    """``text`` without blanks and the marks of a fence or of code around it."""
    return _FENCE.sub("", text.strip()).strip("`").strip()


def unescaped(text: str) -> str | None:
    r"""What a JSON string with an object in it holds, with or without its own quotes: ``{\"name\": \"add\"}``.

    Every quote inside must be escaped. What is escaped several times loses one level. ``None`` for any other text.
    """
    inner = unfenced(text)
    inner = inner.removeprefix('"').removesuffix('"') if inner.endswith('"') and inner[:1] == '"' else inner
    if "{" not in inner or not _ESCAPED.match(inner) or re.search(r'(?<!\\)"', inner):
        return None
    with suppress(Unreadable):
        return cast("str", exact(f'"{inner}"', strict=False))
    return None
