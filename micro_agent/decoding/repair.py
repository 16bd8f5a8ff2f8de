"""JSON that is nearly JSON, read by the first of a few readers, the exact ones first. Nothing is completed or lost.

``json_repair`` guesses: it reads ``{e: 1+1}`` as ``{"e": 1}`` and an absent value as an empty text, and its time grows
with the brackets and quotes times the length. So it comes last, on short text only, and what it returns counts when
every character that means something is still there.
"""

import ast
import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

import json_repair

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.scanner import MAX_DEPTH
from micro_agent.decoding.wording import shorten

_MAX_ESCAPES = 2000
_SHOWN = 200


class Unreadable(ValueError):
    """Text that is no JSON; ``str()`` says why, for a model."""


@dataclass(slots=True)
class Allowance:
    """What one decode may still spend on the slow readers, in microseconds as measured on one slow core."""

    left: int = 25_000

    def spend(self, cost: int) -> bool:
        """Take ``cost`` off, if that much is left."""
        if cost > self.left:
            return False
        self.left -= cost
        return True


def exact(text: str, *, strict: bool = True) -> Any:
    """``text`` as JSON: finite numbers only, at most 64 levels deep. ``strict=False`` allows raw control characters.

    Raises:
        Unreadable: It is none.
    """
    try:
        value = (_STRICT if strict else _LOOSE).decode(text)
    except json.JSONDecodeError as error:
        raise Unreadable(f"{error.msg[:1].lower()}{error.msg[1:]} at character {error.pos}") from None
    except Unreadable:
        raise
    except ValueError:  # Python reads no integer of more than sys.get_int_max_str_digits() digits
        raise Unreadable("a number with too many digits") from None
    except RecursionError:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels") from None
    if text.count("{") + text.count("[") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")
    return value


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
    for kind, read in _READERS if guess else _READERS[:-1]:
        try:
            value = read(text, allowance)
        except Unreadable:
            continue
        return value, [repair(kind, text, json.dumps(value, ensure_ascii=False))]
    raise reason


def repair(kind: str, before: str, after: str) -> Repair:
    """A `Repair` with both texts shortened to 200 characters."""
    return Repair(kind, shorten(before, _SHOWN), shorten(after, _SHOWN))


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise Unreadable(f"{shorten(digits, 20)} is no finite number")
    return value


def _constant(word: str) -> Any:
    raise Unreadable(f"{word} is no JSON")


_STRICT = json.JSONDecoder(parse_float=_finite, parse_constant=_constant)
_LOOSE = json.JSONDecoder(parse_float=_finite, parse_constant=_constant, strict=False)


def _deeper(value: Any, limit: int) -> bool:
    level = _containers([value])
    for _ in range(limit):
        level = [inner for part in level for inner in _containers(part.values() if isinstance(part, dict) else part)]
    return bool(level)


def _containers(values: Iterable[Any]) -> list[dict[str, Any] | list[Any]]:
    return [cast("list[Any]", value) for value in values if isinstance(value, dict | list)]


_CONTROL = re.compile(r"[\x00-\x1f]")


def _control_characters(text: str, _: Allowance) -> Any:
    return _changed(text if _CONTROL.search(text) else None)


def _changed(after: str | None) -> Any:
    """``after`` as JSON with raw control characters, if there was anything to change."""
    if after is None:
        raise Unreadable("nothing to change")
    return exact(after, strict=False)


_LEGAL = re.compile(r'(?:[^\\]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')


def _escapes(text: str, _: Allowance) -> Any:
    r"""Markdown's ``\_`` and a shell's ``\'`` lose the backslash; any other (``\d``, ``C:\Users``) is meant as one."""
    legal = _legal_escapes(text)
    return _changed(legal if legal != text else None)


def _legal_escapes(text: str) -> str:
    kept: list[str] = []
    at = 0
    while len(kept) < 2 * _MAX_ESCAPES:
        end = cast("re.Match[str]", _LEGAL.match(text, at)).end()
        kept.append(text[at:end])
        if end == len(text):
            return "".join(kept)
        dropped = text[end + 1 : end + 2] in ("_", "'")
        kept.append("" if dropped else "\\\\")
        at = end + 1
    raise Unreadable("too many illegal escapes")


_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*+"?'  # or up to the end: were the last quote wanted, the time would be quadratic
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*+[}}\]])", re.DOTALL)


def _trailing_commas(text: str, _: Allowance) -> Any:
    legal = _legal_escapes(text)
    without = _TRAILING_COMMA.sub(lambda match: match[1] or "", legal)
    return _changed(without if without != legal else None)


_PYTHON_ESCAPE = re.compile(r"\\[\\'\"abfnrtvxuUN]")
_PYTHON_STRING = re.compile(r"""'[^'\\\n]*(?:\\.[^'\\\n]*)*+'?|"[^"\\\n]*(?:\\.[^"\\\n]*)*+"?""")
_PYTHON_REST = re.compile(r"(?:''(?!\s*')|(?:True|False|None|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\b|[\s{}\[\](),:])*+")


def _python_literal(text: str, allowance: Allowance) -> Any:
    """A Python dict or list. What the compiler would warn of, and strings beside each other, are not tried."""
    rest = _PYTHON_STRING.sub("''", text)
    if "\\" in _PYTHON_ESCAPE.sub("", text) or not _PYTHON_REST.fullmatch(rest) or not allowance.spend(len(text)):
        raise Unreadable("no plain Python literal")
    try:
        return exact(json.dumps(ast.literal_eval(text.strip())))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise Unreadable("no plain Python literal") from None


_JSON_STRING = re.compile(_STRING, re.DOTALL)
_ABSENT_VALUE = re.compile(r":\s*+[,}\]]")
_BRACKET = re.compile(r"[][{}()]")
_QUOTE = re.compile(r"""["'“”‘’]""")


def _json_repair(text: str, allowance: Allowance) -> Any:
    legal = _legal_escapes(text)
    cost = len(legal) * (2 * len(_BRACKET.findall(legal)) + len(_QUOTE.findall(legal)) // 5)
    if _is_incomplete(legal) or not allowance.spend(cost):
        raise Unreadable("not within the reach of json_repair")
    try:
        value = exact(json.dumps(json_repair.loads(legal, skip_json_loads=True)))
    except Exception:  # noqa: BLE001 a library that guesses may fail in any way; it is the last reader
        raise Unreadable("not within the reach of json_repair") from None
    if _meaning(json.dumps(value)) not in (_meaning(legal), _meaning(_without_comments(legal))):
        raise Unreadable("json_repair loses part of it")
    return value


def _is_incomplete(text: str) -> bool:
    """Whether a value is absent, or a text in single quotes lacks the last one: json_repair would make something up."""
    rest = _JSON_STRING.sub('""', text)
    unpaired = rest.count("'") % 2 and not rest.rstrip("]} \t\r\n,").endswith("'")
    return bool(unpaired or _ABSENT_VALUE.search(rest))


_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_MEANINGLESS = re.compile(r"""\\(?:u[0-9a-fA-F]{4}|.|\Z)|[^\x21-\x7e]|["'`{}\[\](),:;_]""", re.DOTALL)


def _meaning(text: str) -> str:
    """The characters that a repair must keep, in order: no blanks, quotes, brackets, separators and escapes."""
    return re.sub("none", "null", _MEANINGLESS.sub("", text).casefold())


def _without_comments(text: str) -> str:
    return _COMMENT.sub(lambda match: match[1] or "", text)


_READERS: tuple[tuple[str, Callable[[str, Allowance], Any]], ...] = (
    ("control_characters", _control_characters),
    ("escapes", _escapes),
    ("trailing_comma", _trailing_commas),
    ("python_literal", _python_literal),
    ("json_repair", _json_repair),
)
