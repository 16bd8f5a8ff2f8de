"""``json_repair``, the last resort, and what its guesses must keep.

It reads ``{e: 1+1}`` as ``{"e": 1}``, an absent value as an empty text and drops blanks at the end of a text, and its
time grows with the brackets and quotes times the length. So it gets short text only, and what it returns counts when
every character that means something is still there and every text stands in the reply as it was returned.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, cast

import json_repair

from micro_agent.decoding.repair.loose import STRINGS
from micro_agent.decoding.repair.strict import Allowance, Unreadable, as_json, exact

_ABSENT_VALUE = re.compile(r":\s*+(?:[,}\]]|(?:undefined|nil|NaN|-?Infinity)\b)")
_EMPTY = re.compile(r"""(?<!["'])(?:""|''|“”|‘’)(?!["'])""")
_KEY = re.compile(r"[\w$@.:-]+(?: [\w$@.:-]+){0,5}")


def guessed(legal: str, allowance: Allowance) -> str:
    """What ``json_repair`` makes of ``text``, if that keeps all of it."""
    cost = len(legal) * (2 * sum(map(legal.count, "[]{}()")) + sum(map(legal.count, "\"'“”‘’")) // 5)
    if _is_incomplete(legal) or not allowance.spend(cost):
        raise Unreadable("not within the reach of json_repair")
    try:
        value = exact(json.dumps(json_repair.loads(legal, skip_json_loads=True)))
    except Exception:  # noqa: BLE001 a library that guesses may fail in any way; it is the last reader
        raise Unreadable("not within the reach of json_repair") from None
    if _meaning(json.dumps(value)) != _meaning(legal):
        raise Unreadable("json_repair loses part of it")
    objects = [cast("dict[str, Any]", part) for part in _parts(value) if isinstance(part, dict)]
    if not all(_KEY.fullmatch(key) for part in objects for key in part):
        raise Unreadable("json_repair takes a text for a key")
    empty = list(texts(value)).count("")
    if (legal.lstrip()[:1] == "{") is not isinstance(value, dict) or empty > len(_EMPTY.findall(legal)):
        raise Unreadable("json_repair makes something up")
    written = _plain(legal)
    if not all(_is_whole(part) and _stands_in(part, written) for part in texts(value)):
        raise Unreadable("json_repair changes a text")
    return json.dumps(value)


def texts(value: Any) -> Iterable[str]:
    """All texts in a JSON value."""
    return (part for part in _parts(value) if isinstance(part, str))


def _parts(value: Any) -> Iterable[Any]:
    """A JSON value and all values in it."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, dict):
            waiting += cast("dict[str, Any]", part).values()
        elif isinstance(part, list):
            waiting += cast("list[Any]", part)


_CODED = re.compile(r"\\u([0-9a-fA-F]{4})")


def _plain(text: str) -> str:
    """``text`` with every quote bare and every character as itself, so that texts can be looked for in it."""
    plain = _CODED.sub(lambda code: chr(int(code[1], 16)), text)
    return plain.replace('\\"', '"').replace("\\'", "'").replace("\\/", "/")


def _stands_in(part: str, written: str) -> bool:
    """Whether a text is written down like this: in quotes, or as a bare word."""
    shown = re.escape(_plain(as_json(part)[1:-1]))
    raw = re.escape(_plain(part))
    return re.search(rf"""["'“‘](?:{shown}|{raw})["'”’]|(?<![\w"'“‘]){shown}(?![\w"'”’\\])""", written) is not None


def _is_whole(text: str) -> bool:
    """Whether its brackets and quotes come in pairs, and none of these begin or end a text; else it may be a part."""
    paired = text.count("{") == text.count("}") and text.count("[") == text.count("]")
    return paired and text.count('"') % 2 == text.count("`") % 2 == 0 and not _SEAM.search(text)


_SEAM = re.compile(r"""["'”’]\s*+[,:+]|,\s*+["'][\w-]{1,64}+\s*+:|\A[A-Za-z]{0,2}'.*'\Z""", re.DOTALL)
"""What looks like the end of one text and the beginning of another, or is in quotes itself with a sign before it."""


def _is_incomplete(text: str) -> bool:
    """Whether a value is absent or dots stand for it, or a text in single quotes has no end: it would be made up."""
    rest = STRINGS.sub('""', text)
    unpaired = rest.count("'") % 2 and not rest.rstrip("]} \t\r\n,").endswith("'")
    return bool(unpaired or _ABSENT_VALUE.search(rest) or "..." in rest or "…" in rest)


_MEANINGLESS = re.compile(r"""\\(?:u[0-9a-fA-F]{4}|.|\Z)|[^\x21-\x7e]|["'`{}\[\](),:;_]""", re.DOTALL)


def _meaning(text: str) -> str:
    """The characters that a repair must keep, in order: no blanks, quotes, brackets, separators and escapes."""
    return re.sub("none", "null", _MEANINGLESS.sub("", text).casefold())
