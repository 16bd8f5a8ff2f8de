"""JSON that is nearly JSON, read by what each slip is: nothing in these readers is a guess.

Each takes the text and the allowance, returns the value, and raises `Unreadable` when the slip is another one.
"""

import ast
import json
import re
from typing import Any, cast

from micro_agent.decoding.strict import Allowance, Unreadable, exact

_MAX_ESCAPES = 2000

_CONTROL = re.compile(r"[\x00-\x1f]")


def control_characters(text: str, _: Allowance) -> Any:
    """Raw line breaks and tabs inside texts."""
    return _changed(text if _CONTROL.search(text) else None)


def _changed(after: str | None) -> Any:
    """``after`` as JSON with raw control characters, if there was anything to change."""
    if after is None:
        raise Unreadable("nothing to change")
    return exact(after, strict=False)


_LEGAL = re.compile(r'(?:[^\\]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')


def escapes(text: str, _: Allowance) -> Any:
    r"""Markdown's ``\_`` and a shell's ``\'`` lose the backslash; any other (``\d``, ``C:\Users``) is meant as one."""
    legal = legal_escapes(text)
    return _changed(legal if legal != text else None)


def legal_escapes(text: str) -> str:
    """``text`` with the backslashes doubled that begin no escape of JSON, or dropped where they mean nothing."""
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


STRING = r'"[^"\\]*(?:\\.[^"\\]*)*+"?'  # or up to the end: were the last quote wanted, the time would be quadratic
_TRAILING_COMMA = re.compile(rf"({STRING})|,(?=\s*+[}}\]])", re.DOTALL)


def trailing_commas(text: str, _: Allowance) -> Any:
    """Commas before a closing bracket."""
    legal = legal_escapes(text)
    without = _TRAILING_COMMA.sub(lambda match: match[1] or "", legal)
    return _changed(without if without != legal else None)


_LOOSE_PART = re.compile(
    rf"(?P<string>{STRING})|“(?P<smart>[^“”\"\\]*)”|(?<=[{{\[,:\s])'(?P<single>[^'\"\\\n]*+)'(?=\s*+[,:}}\]])"
    r"|(?P<blank>[\u00a0\u200b\u2028\u2029\u3000\ufeff]+)|(?P<comment>//[^\n]*|\#[^\n]*|/\*.*?(?:\*/|\Z))|(?<![\w-])(?P<key>[A-Za-z_][\w-]*+)(?=\s*+:)|(?P<word>\b(?:True|False|None)\b)",
    re.DOTALL,
)
_JSON_WORDS = {"True": "true", "False": "false", "None": "null"}


def loose_json(text: str, _: Allowance) -> Any:
    """Comments, keys without quotes, other quotes around text without quotes in it, Python's words, odd blanks."""
    legal = legal_escapes(text)
    loose = _LOOSE_PART.sub(_as_json, legal)
    return _changed(_TRAILING_COMMA.sub(lambda match: match[1] or "", loose) if loose != legal else None)


def _as_json(part: re.Match[str]) -> str:
    if part["string"] is not None:
        return part["string"]
    if part["word"] is not None:
        return _JSON_WORDS[part["word"]]
    if part["blank"] is not None:
        return " "
    text = next((part[kind] for kind in ("smart", "single", "key") if part[kind] is not None), None)
    return "" if text is None else f'"{text}"'


_PYTHON_ESCAPE = re.compile(r"\\[\\'\"abfnrtvxuUN]")
_PYTHON_STRING = re.compile(r"""'[^'\\\n]*(?:\\.[^'\\\n]*)*+'?|"[^"\\\n]*(?:\\.[^"\\\n]*)*+"?""")
_PYTHON_REST = re.compile(
    r"(?:''(?!\s*')|(?:True|False|None|true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\b|[\s{}\[\](),:])*+"
)
_JSON_WORD = re.compile(rf"({_PYTHON_STRING.pattern})|\b(?:true|false|null)\b")
_PYTHON_WORDS = {"true": "True", "false": "False", "null": "None"}


def python_literal(text: str, allowance: Allowance) -> Any:
    """A Python dict or list. What the compiler would warn of, and strings beside each other, are not tried."""
    rest = _PYTHON_STRING.sub("''", text)
    if "\\" in _PYTHON_ESCAPE.sub("", text) or not _PYTHON_REST.fullmatch(rest) or not allowance.spend(len(text)):
        raise Unreadable("no plain Python literal")
    words = _JSON_WORD.sub(lambda match: match[1] or _PYTHON_WORDS[match[0]], text)
    try:
        return exact(json.dumps(ast.literal_eval(words.strip())))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise Unreadable("no plain Python literal") from None


_MARK = re.compile(r'[{}\[\],:"]')
_QUOTE_INSIDE = re.compile(r'"|\\.', re.DOTALL)
_CLOSES = {
    "key": re.compile(r"\s*+:"),
    "{": re.compile(r'\s*+(?:,\s*+"[^"\\]{1,100}"\s*+:|\}\s*+(?:[,}\]]|\Z))'),
    "[": re.compile(r'\s*+(?:,\s*+["{\[\d-]|\]\s*+(?:[,}\]]|\Z))'),
}

_TORN = re.compile(r'\\"\s*+(?:\\"|:)')
"""What looks like the end of a text and the beginning of another, or like a key."""


def inner_quotes(text: str, allowance: Allowance) -> Any:
    """Quotes inside a text that are not escaped: the one that closes it stands before what must follow a text.

    In each text they come in pairs, such as those of attributes; else one more reading would be possible.
    """
    legal = legal_escapes(text)
    if not allowance.spend(len(legal) // 100 + 2 * sum(map(legal.count, '{}[],:"'))):
        raise Unreadable("too many quotes")
    parts: list[str] = []
    open_in: list[str] = []
    at, wants_key = 0, False
    while mark := _MARK.search(legal, at):
        parts.append(legal[at : mark.end()])
        at = mark.end()
        if mark[0] == '"':
            inside, at = _escaped_inside(legal, at, "key" if wants_key else open_in[-1] if open_in else "{")
            parts.append(inside)
        elif mark[0] in "{[":
            open_in.append(mark[0])
        elif mark[0] in "}]" and open_in:
            open_in.pop()
        wants_key = bool(open_in) and open_in[-1] == "{" and mark[0] in "{,"
    changed = "".join([*parts, legal[at:]])
    return _changed(changed if changed != legal else None)


def _escaped_inside(text: str, start: int, place: str) -> tuple[str, int]:
    """The rest of the text that opens before ``start``, its inner quotes escaped, and where it ends."""
    parts: list[str] = []
    at = start
    while quote := _QUOTE_INSIDE.search(text, at):
        parts.append(text[at : quote.start()])
        at = quote.end()
        if quote[0] != '"':
            parts.append(quote[0])
        elif not _CLOSES[place].match(text, at):
            parts.append('\\"')
        elif parts.count('\\"') % 2 or _TORN.search("".join(parts)):
            break
        else:
            return "".join([*parts, '"']), at
    raise Unreadable("a text has no end")
