"""Slips in calls that are nearly Python's: other signs between a name and its value, quotes that are not escaped."""

import re
from itertools import islice

# Texts and names are set aside as marks (see `pythonic.calls`) where signs are looked at, so that no value can change.
_SIGN = re.compile(
    r"[][(){}]|\x00s(?P<text>\d+)\x00[ ]?[:=](?!=)|\x00n(?P<name>\d+)\x00[ ]?=(?!=)"
    r"|(?<![\w.\x00])(?P<word>(?!(?:true|false|null|True|False|None)\b)[A-Za-z_][\w-]{0,63}+)[ ]?:"
)

_PARTNER = {")": "(", "]": "[", "}": "{"}
_OPENS_VALUE = re.compile(r"[=(,\[{:]\s{0,20}\Z")
_QUOTE_OR_BRACKET = re.compile(r"[\"'\[\](){}]")
_QUOTES = {"'": re.compile(r"\\.|'", re.DOTALL), '"': re.compile(r'\\.|"', re.DOTALL)}
_APOSTROPHE = re.compile(r"\w'\w")
_INNER = (re.compile(r"[\s=(\[{,:>][\"'][^\s,)]"), re.compile(r"\S[\"'](?!\w)"))
"""What an inner quote that opens and one that closes look like, with what stands before and behind them."""
_ENDS = {
    "(": re.compile(r"\s*+(?:,\s*+[A-Za-z_]\w{0,63}\s*+=(?!=)|,?\s*+\)\s*+(?:[\]),;`<]|\Z)|,?\s*+\)[ \t]*+\n)"),
    "[": re.compile(r"\s*+[,\]]"),
    "{": re.compile(r"\s*+[:,}]"),
}
_MAX_STEPS = 1_000
_MAX_INNER = 200


def with_usual_signs(bare: str, texts: list[str], names: list[str]) -> str:
    r"""``f(city: "Rome")`` and ``f({city: "Rome"})`` with the signs of Python: ``=`` in a call, ``:`` in an object.

    Args:
        bare: Calls whose texts (``\0s0\0``) and names (``\0n0\0``) are set aside.
        texts: The texts, to which keys of objects are added.
        names: The names, to which keywords are added.
    """
    parts: list[str] = []
    open_in = [""]
    at = 0
    for sign in _SIGN.finditer(bare):
        mark = sign[0]
        if mark in "([{":
            open_in.append(mark)
        elif mark in _PARTNER:
            open_in = open_in[:-1] or [""]
        else:
            parts += [bare[at : sign.start()], _usual(sign, open_in[-1], texts, names)]
            at = sign.end()
    return "".join([*parts, bare[at:]])


def _usual(sign: re.Match[str], place: str, texts: list[str], names: list[str]) -> str:
    word = sign["word"] or (names[int(sign["name"])] if sign["name"] else texts[int(sign["text"])])
    if place == "(":
        names.append(word)
        return f"\x00n{len(names) - 1}\x00="
    if place == "{":
        texts.append(word)
        return f"\x00s{len(texts) - 1}\x00:"
    return sign[0]


def requoted(text: str, start: int) -> tuple[str, int] | None:
    """The call or list at ``start`` with the quotes inside its texts escaped, and where it ends.

    A quote ends a text where the next argument or the end of the call follows it. In each text the others open and
    close something, as in ``'sed '3p' a.txt'``, or are apostrophes; else one more reading would be possible, such as
    that of ``'a' + 'b'``, and the result is ``None``.
    """
    parts: list[str] = []
    open_in: list[str] = []
    at = start
    for _ in range(_MAX_STEPS):
        found = _QUOTE_OR_BRACKET.search(text, at)
        if found is None:
            return None
        parts.append(text[at : found.end()])
        at, mark = found.end(), found[0]
        if mark in "([{":
            open_in.append(mark)
        elif mark in _PARTNER:
            if not open_in or open_in.pop() != _PARTNER[mark]:
                return None
            if not open_in:
                return "".join(parts), at
        else:
            whole = _text_at(text, found.start(), open_in[-1] if open_in else "")
            if whole is None:
                return None
            parts.append(whole[0])
            at = whole[1]
    return None


def _text_at(text: str, start: int, place: str) -> tuple[str, int] | None:
    """What stands behind the quote at ``start``, its inner quotes escaped and the last one added, and where it ends."""
    quote = text[start]
    if (
        place not in _ENDS
        or text.startswith(quote * 3, start)
        or not _OPENS_VALUE.search(text, max(0, start - 21), start)
    ):
        return None
    parts: list[str] = []
    at, inner = start + 1, 0
    for found in islice(_QUOTES[quote].finditer(text, start + 1), _MAX_INNER):
        parts.append(text[at : found.start()])
        at = found.end()
        if found[0] != quote:
            parts.append(found[0])
        elif _ENDS[place].match(text, at):
            return ("".join([*parts, quote]), at) if inner % 2 == 0 else None
        else:
            if not _APOSTROPHE.match(text, found.start() - 1):
                if not _INNER[inner % 2].match(text, found.start() - 1):
                    return None
                inner += 1
            parts.append(f"\\{quote}")
    return None
