"""Text made safe to look at: what a terminal would obey, what does not show and what reorders text is an escape."""

import json
import re

# Control characters but tab and newline, marks that reorder text (https://unicode.org/reports/tr9/), lone surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

# All that does not show, or moves what does (Unicode's Cc, Cf, Zl, Zp in the basic plane, and the tags).
_HIDDEN = re.compile(
    "[\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)

# What is drawn as nothing though its category is that of letters and marks (Unicode's Default_Ignorable_Code_Point).
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def printable(text: str) -> str:
    """``text`` with what a terminal would obey, or not be able to show, as an escape: what is shown is all there is."""
    if text.isprintable():  # most is, and this is two to three times as fast
        return text
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def visible(text: str) -> str:
    """``text`` with everything as an escape that does not show as itself, but newline, tab and the plain blank.

    For what is run or written as it is shown: blanks of other kinds and characters of no width are told as well.
    """
    if text.isascii():
        return printable(text)
    return "".join(char if _shows(char) else char.encode("unicode_escape").decode("ascii") for char in text)


def _shows(char: str) -> bool:
    return char in "\n\t" or (char.isprintable() and _BLANK.match(char) is None)


def printable_json(line: str) -> str:
    """A line of JSON with what does not show, or reorders text, as an escape of JSON: for programs it is the same."""
    return _HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], line)
