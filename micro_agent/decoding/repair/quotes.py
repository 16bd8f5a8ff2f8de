"""JSON whose quotes are the trouble: not escaped inside a text, one left out, one too many beside a name.

Each reader is for one slip, and nothing in them is a guess. It takes text whose backslashes are legal, and the
allowance; it returns what it is in JSON, and raises `Unreadable` when the slip is another one.
"""

import re

from micro_agent.decoding.repair.loose import requoted, tightened
from micro_agent.decoding.repair.strict import Allowance, Unreadable, as_json
from micro_agent.decoding.scan.scanner import piece_at

_MARK = re.compile(r"""[{}\[\],:"]|'(?<=[{\[,:\s]')""")
_INSIDE = re.compile(r"""["'“”]|\\.""", re.DOTALL)
_ENDS = {
    "key": re.compile(r"\s*+:"),
    "{": re.compile(r"""\s*+(?:,\s*+(["'])[^"'\\]{1,100}\1\s*+:|,?\s*+\}\s*+(?:[,}\]]|\Z))"""),
    "[": re.compile(r"""\s*+(?:,\s*+["'{\[\d-]|,?\s*+\]\s*+(?:[,}\]]|\Z))"""),
}
"""What follows the quote that ends a text, by where the text stands."""
_TORN = {
    quote: re.compile(rf"{quote}(?:\s*+(?:\\?{quote}|:|,\s*+,)|[\s,]++(?:\#|//|/\*|[\w-]{{1,64}}+\s*+:))")
    for quote in ('"', "'")
}
"""What looks like the end of a text and the beginning of another, or like a key."""
_PIECE_COST = 1000


def inner_quotes(text: str, allowance: Allowance) -> str:
    """Quotes inside a text that are not escaped: the one that ends it stands before what must follow a text.

    In each text they come in pairs, such as those of attributes, or belong to an object; else one more reading would be
    possible. In single quotes one between two letters is an apostrophe. A curly one may end what a straight one opens.
    """
    parts: list[str] = []
    open_in: list[str] = []
    marks: set[str] = set()
    at, wants_key = 0, False
    while mark := _MARK.search(text, at):
        parts.append(text[at : mark.start()])
        at = mark.end()
        marks.add(mark[0])
        if mark[0] in "\"'":
            place = "key" if wants_key else open_in[-1] if open_in else "{"
            inside, at = _inside(text, at, place, allowance)
            parts.append(f'"{inside}"')
            continue
        parts.append(mark[0])
        if mark[0] in "{[":
            open_in.append(mark[0])
        elif mark[0] in "}]" and open_in:
            open_in.pop()
        wants_key = bool(open_in) and open_in[-1] == "{" and mark[0] in "{,"
    whole = "".join([*parts, text[at:]])
    return tightened(whole)[0] if "'" in marks or "”" in text else whole


def _inside(text: str, start: int, place: str, allowance: Allowance) -> tuple[str, int]:
    """What the text that opens before ``start`` is between the quotes of JSON, and where it ends."""
    quote = text[start - 1]
    if text[start : start + 1] in ("{", "[") and allowance.spend(_PIECE_COST):
        piece = piece_at(text, start)
        if piece.closed and text.startswith(quote, piece.end) and _ENDS[place].match(text, piece.end + 1):
            return as_json(piece.text)[1:-1], piece.end + 1
    inner, curly = 0, 0
    for mark in _INSIDE.finditer(text, start):
        sign, at = mark[0], mark.start()
        curly += (sign == "“") - (sign == "”")
        if sign != quote and not (sign == "”" and quote == '"' and curly < 0):
            continue
        if quote == "'" and text[at - 1].isalnum() and text[at + 1 : at + 2].isalnum() and at > start:
            continue
        if not _ENDS[place].match(text, at + 1):
            inner += sign == quote
        elif inner % 2 or _TORN[quote].search(text, start, at):
            break
        else:
            return requoted(text[start:at]), at + 1
    raise Unreadable("a text has no end")


_BEGUN = re.compile(
    r"(?P<begun>[\[{\s]{1,20}+\"[\w-]{1,64}\"\s{0,20}:\s{0,20}\".{1,2000}?)[\s,]{0,40}+(?:```\w{0,20}\s{0,40}+)?(?P<again>(?P=begun))",
    re.DOTALL,
)


def begun_again(text: str, _: Allowance) -> str:
    """What a text breaks off to begin again, word for word: ``{"tool": "add",{"tool": "add", "args": …}}``."""
    found = _BEGUN.match(text)
    piece = piece_at(text, text.index(text.lstrip()[0], found.start("again"))) if found else None
    if piece is None or not piece.closed or text[piece.end :].strip(" \t\r\n}]"):
        raise Unreadable("it is not begun again")
    return tightened(piece.text)[0]


_WORD = r"[\w./-]{1,64}+"
_HALF_QUOTED = re.compile(
    rf"(?P<before>[:\[,{{]\s{{0,20}})(?:\"(?P<open>{_WORD})(?=\s{{0,20}}(?:,\s{{0,20}}\"{_WORD}\"\s{{0,20}}:|[}}\]]|:[\s\"{{\[]))"
    rf"|(?P<shut>[A-Za-z_][\w./-]{{0,63}}+)\"(?=\s{{0,20}}[,}}\]:]))"
)
# From the quote that ends a key to the next one: each stretch is looked at once. No key follows a comma in it.
_UNOPENED = re.compile(
    r"(?P<colon>\"\s{0,20}:\s{0,20})(?!(?:true|false|null|-?\d[\d.]{0,40})\s{0,20}\")"
    r"(?P<text>[^\W_](?>(?:[^\"\\{}\[\]\n,]|,(?!\s{0,20}[\w-]{1,64}+\s{0,20}:)){0,2000}))\""
    r"(?=\s{0,20}(?:,\s{0,20}\"[\w-]{1,64}\"\s{0,20}:|[}\]]))"
)


def missing_quotes(text: str, _: Allowance) -> str:
    """One quote of the two around a key or around a single word, where the rest is JSON with the other one there."""
    return _HALF_QUOTED.sub(lambda half: f'{half["before"]}"{half["open"] or half["shut"]}"', text)


def unopened(text: str, _: Allowance) -> str:
    """A text whose opening quote is missing, where its closing one stands before the next key or a bracket."""
    return _UNOPENED.sub(r'\g<colon>"\g<text>"', text)


_NAMED = re.compile(
    r"(?P<before>[{,]\s{0,20})[\"']{1,2}(?P<key>(?:tool|function)(?:_?name)?|name|action)[\"':=\s]{1,12}"
    r"(?P<name>[A-Za-z_][\w.-]{0,127}+)[\"']{1,3}:?(?=\s{0,20}[,}])"
)


def stray_signs(text: str, _: Allowance) -> str:
    """Quotes and colons too many or too few around the name: ``"name":": "add"``, ``"name="add"``."""
    return tightened(_NAMED.sub(r'\g<before>"\g<key>": "\g<name>"', text))[0]
