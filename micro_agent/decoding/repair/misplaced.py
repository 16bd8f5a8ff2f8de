"""JSON with a sign in the wrong place beside a name or before a text, and objects that are begun twice.

The same kind of readers as in `nearly` and `quotes`: each is for one slip, and nothing in them is a guess.
"""

import re
from itertools import islice
from typing import Any

from micro_agent.decoding.repair.backslashes import legal_escapes
from micro_agent.decoding.repair.nearly import STRING, changed, tightened
from micro_agent.decoding.repair.strict import Allowance, Unreadable
from micro_agent.decoding.scan.scanner import piece_at

_NAMED = re.compile(
    r"(?P<before>[{,]\s{0,20})[\"']{1,2}(?P<key>(?:tool|function)(?:_?name)?|name|action)[\"':\s]{1,12}"
    r"(?P<name>[A-Za-z_][\w.-]{0,127}+)[\"']{1,3}:?(?=\s{0,20}[,}])"
)


def stray_signs(text: str, _: Allowance) -> Any:
    """Quotes and colons too many or too few around the name: ``"name":": "add"``, ``"name:"add"``."""
    mended = _NAMED.sub(_as_pair, text)
    return changed(tightened(legal_escapes(mended)) if mended != text else None)


def _as_pair(found: re.Match[str]) -> str:
    return f'{found["before"]}"{found["key"]}": "{found["name"]}"' if ":" in found[0] else found[0]


# From the quote that ends a key to the next one: each stretch is looked at once.
_UNOPENED = re.compile(
    r"\"(?P<colon>\s{0,20}:\s{0,20})(?!(?:true|false|null|-?\d[\d.]{0,40})\s{0,20}\")(?P<text>[^\W_][^\"\\{}\[\]\n]{0,2000}+)\""
    r"(?=\s{0,20}(?:,\s{0,20}\"[\w-]{1,64}\"\s{0,20}:|[}\]]))"
)
_NEXT_KEY = re.compile(r",\s*+[\w-]++\s*+:")


_MIXED = re.compile(
    rf'"(?P<text>[^"\\“”]*+(?>(?:\\.[^"\\“”]*+)*))”(?=\s*+(?:[}}\]:]|,\s*+["{{\[\d}}\]]))|(?P<string>{STRING})',
    re.DOTALL,
)
_ASSIGNED = re.compile(r'(?P<before>[{,]\s{0,20}"\w{1,40})=[ ]?(?="[^"\\=:]{1,128}"\s{0,20}[,}])')


def mixed_quotes(text: str, _: Allowance) -> Any:
    """Texts that open with a straight quote and close with a curly one; a key whose quote and colon are one ``=``."""
    if "”" not in text and "=" not in text:
        raise Unreadable("no curly quotes and no equals signs")
    legal = legal_escapes(text)
    assigned = _ASSIGNED.sub(r'\g<before>": ', legal)
    straight = _MIXED.sub(lambda part: part["string"] or f'"{part["text"]}"', assigned) if "”" in text else assigned
    return changed(tightened(straight) if straight != legal else None)


def unopened(text: str, _: Allowance) -> Any:
    """A text whose opening quote is missing, where its closing one stands before the next key or a bracket."""
    legal = legal_escapes(text)
    quoted = _UNOPENED.sub(_opened, legal)
    return changed(quoted if quoted != legal else None)


def _opened(found: re.Match[str]) -> str:
    return found[0] if _NEXT_KEY.search(found["text"]) else f'"{found["colon"]}"{found["text"]}"'


_BRACE = re.compile(r"[\[{]")
_ONE_KEY = re.compile(r"[\[{\s]*+\"[\w-]{1,64}\"\s*+:")
_BETWEEN = re.compile(r"[\s,]*+(?:```\w*\s*+)?\Z")
_CLOSERS = re.compile(r"[\s}\]]*+\Z")
_BLANK = re.compile(r"\s+")
_MAX_TRIES = 12
_MAX_BEGUN = 2000


def begun_again(text: str, _: Allowance) -> Any:
    """What a text breaks off to begin again, word for word: ``{"tool": "add",{"tool": "add", "args": …}}``."""
    for brace in islice(_BRACE.finditer(text, 1, _MAX_BEGUN), _MAX_TRIES):
        begun = _BLANK.sub("", _BETWEEN.sub("", text[: brace.start()]))
        rest = text[brace.start() :]
        if _ONE_KEY.match(text) and _BLANK.sub("", rest[: 2 * _MAX_BEGUN]).startswith(begun) and _ONE_KEY.match(begun):
            piece = piece_at(rest, 0)
            if piece.closed and _CLOSERS.match(rest, piece.end):
                return changed(tightened(legal_escapes(piece.text)))
    raise Unreadable("it is not begun again")
