"""JSON whose quotes are the trouble: not escaped inside a text, tripled, single ones, one left out.

The same kind of readers as in `nearly`: each is for one slip, and nothing in them is a guess.
"""

import json
import re
from itertools import islice
from typing import Any, cast

from micro_agent.decoding.repair.backslashes import legal_escapes
from micro_agent.decoding.repair.nearly import STRING, changed, tightened
from micro_agent.decoding.repair.strict import Allowance, Unreadable
from micro_agent.decoding.scan.scanner import piece_at

_MARK = re.compile(r'[{}\[\],:"]')
_QUOTE_INSIDE = re.compile(r'"|\\.', re.DOTALL)
_CLOSES = {
    "key": re.compile(r"\s*+:"),
    "{": re.compile(r'\s*+(?:,\s*+"[^"\\]{1,100}"\s*+:|,?\s*+\}\s*+(?:[,}\]]|\Z))'),
    "[": re.compile(r'\s*+(?:,\s*+["{\[\d-]|,?\s*+\]\s*+(?:[,}\]]|\Z))'),
}

_TORN = re.compile(r'\\"\s*+(?:\\"|:)')
"""What looks like the end of a text and the beginning of another, or like a key."""


def inner_quotes(text: str, allowance: Allowance) -> Any:
    """Quotes inside a text that are not escaped: the one that closes it stands before what must follow a text.

    In each text they come in pairs, such as those of attributes; else one more reading would be possible.
    """
    legal = legal_escapes(text)
    escaped = _with_inner_escaped(legal, allowance)
    return changed(escaped if escaped != legal else None)


_SWAPPED = str.maketrans("\"'", "'\"")
_APOSTROPHE = re.compile(r"\w\"\w")


def single_quotes(text: str, allowance: Allowance) -> Any:
    """The same for a Python dict, whose quotes are single ones; one between two letters is an apostrophe."""
    if not re.match(r"[{\[\s]*+'", text):
        raise Unreadable("no single quotes")
    legal = legal_escapes(text.translate(_SWAPPED))
    escaped = _with_inner_escaped(legal, allowance, apostrophes=True)
    return _swapped_back(changed(tightened(escaped)))


def _swapped_back(value: Any) -> Any:
    if isinstance(value, str):
        return value.translate(_SWAPPED)
    if isinstance(value, list):
        return [_swapped_back(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key.translate(_SWAPPED): _swapped_back(item) for key, item in cast("dict[str, Any]", value).items()}
    return value


def _with_inner_escaped(text: str, allowance: Allowance, *, apostrophes: bool = False) -> str:
    if not allowance.spend(len(text) // 100 + 2 * sum(map(text.count, '{}[],:"'))):
        raise Unreadable("too many quotes")
    parts: list[str] = []
    open_in: list[str] = []
    at, wants_key = 0, False
    while mark := _MARK.search(text, at):
        parts.append(text[at : mark.end()])
        at = mark.end()
        if mark[0] == '"':
            place = "key" if wants_key else open_in[-1] if open_in else "{"
            inside, at = _escaped_inside(text, at, place, apostrophes)
            parts.append(inside)
        elif mark[0] in "{[":
            open_in.append(mark[0])
        elif mark[0] in "}]" and open_in:
            open_in.pop()
        wants_key = bool(open_in) and open_in[-1] == "{" and mark[0] in "{,"
    return "".join([*parts, text[at:]])


def _escaped_inside(text: str, start: int, place: str, apostrophes: bool) -> tuple[str, int]:
    """The rest of the text that opens before ``start``, its inner quotes escaped, and where it ends."""
    parts: list[str] = []
    at, inner = start, 0
    while quote := _QUOTE_INSIDE.search(text, at):
        parts.append(text[at : quote.start()])
        at = quote.end()
        if quote[0] != '"':
            parts.append(quote[0])
        elif apostrophes and quote.start() > start and _APOSTROPHE.match(text, quote.start() - 1):
            parts.append('\\"')
        elif not _CLOSES[place].match(text, at):
            parts.append('\\"')
            inner += 1
        elif inner % 2 or _TORN.search("".join(parts)):
            break
        else:
            return "".join([*parts, '"']), at
    raise Unreadable("a text has no end")


_TRIPLED = re.compile(rf"(?<=[:,\[\s])(\"{{3}}|'{{3}}|`)(?P<text>.*?)\1(?=\s*+[,}}\]])|{STRING}", re.DOTALL)
_ESCAPE_OR_QUOTE = re.compile(r'\\.|"', re.DOTALL)


def tripled_quotes(text: str, allowance: Allowance) -> Any:
    """Python's ``\"\"\"…\"\"\"`` around a text, or JavaScript's backticks."""
    openings = sum(map(text.count, ('"""', "'''", "`")))
    # From each of them the rest of the text may be looked through.
    if not openings or not allowance.spend(openings * len(text) // 50):
        raise Unreadable("no tripled quotes, or too many")
    return changed(tightened(legal_escapes(_TRIPLED.sub(_once_quoted, text))))


def _once_quoted(found: re.Match[str]) -> str:
    if found["text"] is None:
        return found[0]
    escaped = _ESCAPE_OR_QUOTE.sub(lambda part: '\\"' if part[0] == '"' else part[0], found["text"])
    return f'"{escaped}"'


# A text alone matches as well: were the sign wanted, each quote in one without an end would be followed to the end.
# Without a blank beside it the sign is as often part of one text, as in "1 "+" 1" for 1 + 1.
_SUM = re.compile(rf"(?>{STRING})(?>(?:(?:\s++\+\s*+|\+\s++)(?>{STRING}))*)", re.DOTALL)
_TERM = re.compile(STRING, re.DOTALL)


def joined(text: str, _: Allowance) -> Any:
    """Texts that a ``+`` puts together, as a program would."""
    if "+" not in text:
        raise Unreadable("nothing is put together")
    legal = legal_escapes(text)
    whole = _SUM.sub(_put_together, legal)
    return changed(whole if whole != legal else None)


def _put_together(found: re.Match[str]) -> str:
    terms = _TERM.findall(found[0])
    return f'"{"".join(term[1:-1] for term in terms)}"' if len(terms) > 1 else found[0]


_OBJECT = re.compile(r"[:\[,]\s{0,20}\"(?=\s{0,20}\{\s{0,20}[\"'}])")
_CLOSED = re.compile(r'\s*+"(?=\s*+[,}\]])')
_MAX_OBJECTS = 20


def quoted_objects(text: str, _: Allowance) -> Any:
    """An object in quotes whose own quotes are not escaped: ``"arguments": "{"city": "Rome"}"``."""
    legal = legal_escapes(text)
    parts: list[str] = []
    at = 0
    for opened in islice(_OBJECT.finditer(legal), _MAX_OBJECTS):
        piece = piece_at(legal, legal.index("{", opened.end()))
        closing = _CLOSED.match(legal, piece.end) if opened.start() >= at and piece.closed else None
        if closing:
            parts += [legal[at : opened.end() - 1], json.dumps(piece.text)]
            at = closing.end()
    return changed("".join([*parts, legal[at:]]) if parts else None)


_WORD = r"[\w./-]{1,64}+"
_HALF_QUOTED = re.compile(
    rf"(?P<before>[:\[,{{]\s{{0,20}})(?:\"(?P<open>{_WORD})(?=\s{{0,20}}(?:,\s{{0,20}}\"{_WORD}\"\s{{0,20}}:|[}}\]:]))"
    rf"|(?P<shut>[A-Za-z_][\w./-]{{0,63}}+)\"(?=\s{{0,20}}[,}}\]:]))"
)


def missing_quotes(text: str, _: Allowance) -> Any:
    """One quote of the two around a key or around a single word, where the rest is JSON with the other one there."""
    legal = legal_escapes(text)
    quoted = _HALF_QUOTED.sub(lambda half: f'{half["before"]}"{half["open"] or half["shut"]}"', legal)
    return changed(quoted if quoted != legal else None)
