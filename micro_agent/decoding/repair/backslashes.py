r"""Backslashes that begin no escape of JSON: Markdown's, a shell's, those of paths and of regular expressions.

In a text that a model did not escape for JSON, what a backslash is for follows from what else stands in that text:

- before a letter or a digit (``\d``, ``C:\Users``) it is meant as one, and so is that of ``\b`` and ``\f`` beside it;
  in a path of Windows all are, ``\n`` and ``\t`` as well;
- ``\_`` and ``\'`` lose it everywhere: they mean nothing but themselves in any language;
- before what Markdown escapes (``\*``, ``\#``, …) it goes, unless the text or the name of its key looks like a regular
  expression, a path or a shell's command, where it means something;
- ``\.``, ``\(``, ``\[``, ``\+`` and their like are as often a regular expression or a formula: they go only beside one
  of those that nothing but Markdown has.
"""

import re

from micro_agent.decoding.repair.strict import Unreadable

_MAX_BACKSLASHES = 5000
_MAX_QUOTES = 10_000

_LEGAL = re.compile(r'(?>(?:[^\\]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*)')
_PART = re.compile(
    r"""(?P<key>(?<![\w"'])["']?\w{1,40}+["']?\s{0,9}:\s{0,9})?(?:"(?P<text>[^"\\]*(?>(?:\\.[^"\\]*)*))"""
    r"""|(?<=[:,{\[(\s])'(?P<single>[^'\\]*(?>(?:\\.[^'\\]*)*))')|\\.""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.|\Z)", re.DOTALL)
_NOTHING = "_'"
_MARKDOWN = "*#>~|`!-"
_AMBIGUOUS = ".()[]{}+"
_LITERAL_KEY = re.compile(r"pattern|regex|glob|command|cmd|shell|script|path|latex", re.IGNORECASE)
_LETTER = re.compile(r"(?<!\\)(?>(?:\\\\)*)\\(?:[ac-eg-mo-qsv-zA-Z0-9]|u(?![0-9a-fA-F]{4}))")
_REGEX = re.compile(r"\.\*|\.\+|\[\^|\(\?|\]\+|\)\+|\bgrep\b|\bsed\b|\bre\.|RegExp")
_MARKED = re.compile(r"\\[_#>~]|(?<!\S)\\\*|\\\*\\\*")
_DRIVE = re.compile(r"(?<!\w)[A-Za-z]:\\(?!\\)")


def legal_escapes(text: str) -> str:
    """``text`` with the backslashes doubled that are meant as such, or dropped where they mean nothing.

    Raises:
        Unreadable: There are too many.
    """
    if len(text) == _LEGAL.match(text).end():  # pyright: ignore[reportOptionalMemberAccess] it matches nothing as well
        return text
    if text.count("\\") > _MAX_BACKSLASHES or text.count('"') > _MAX_QUOTES:
        raise Unreadable("too many backslashes, or texts that they may be in")
    return _PART.sub(_part, text)


def _part(part: re.Match[str]) -> str:
    kind = "single" if part["text"] is None else "text"
    text = part[kind]
    if text is None:
        return _legal(part[0], "", "")
    if _LEGAL.fullmatch(text):
        return part[0]
    literal, dropped = _meant(part["key"] or "", text)
    start, end = part.start(kind) - part.start(), part.end(kind) - part.start()
    changed = _ESCAPE.sub(lambda found: _legal(found[0], literal, dropped, single=kind == "single"), text)
    return f"{part[0][:start]}{changed}{part[0][end:]}"


def _meant(key: str, text: str) -> tuple[str, str]:
    """The letters behind a backslash that is meant as one though JSON has an escape for it, and what needs none."""
    if _DRIVE.search(text):
        return "bfnrt", ""
    if _LETTER.search(text):
        return "" if "\\\\" in text else "bf", ""
    if _LITERAL_KEY.search(key) or _REGEX.search(text):
        return "", ""
    return "", _MARKDOWN + (_AMBIGUOUS if _MARKED.search(text) else "")


def _legal(escape: str, literal: str, dropped: str, *, single: bool = False) -> str:
    r"""One escape as JSON has it: ``\*`` as ``*``, ``\d`` as ``\\d``. In single quotes ``\'`` stays."""
    sign = escape[1:]
    if single and sign[:1] in ("'", "x"):
        return {2: escape, 4: f"\\u00{sign[1:]}"}[len(escape)]
    if sign and sign in _NOTHING + dropped:
        return sign
    return escape if _LEGAL.fullmatch(escape) and sign not in (*literal,) else f"\\{escape}"
