"""One pass over a reply: its special tokens and tags, each under one name however it is spelled.

    <｜｜DSML｜｜invoke name="f">   < | DSML | invoke name="f">   <atem:invoke name="f">   <longcat_tool_call>
    <TOOL_CALL>   <tool_call:6124c78e>   <｜tool▁calls▁begin｜>   <|tool_calls_begin|>   [TOOL_CALLS]

Case, bars, namespaces and what stands for a blank are settled here, so that no reader spells a marker twice. A tag that
is not known by its name keeps it. Values are taken from the text as it came.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from micro_agent.decoding.rows import ALIASES, KNOWN, PREFIXED

_BARS = "|｜‖│┃¦"
_AROUND = _BARS + " \n"
_QUOTED = (
    r"\"[^\"<>]{0,4000}\"|'[^'<>]{0,4000}'|[\"'][^\"'<>\n]{0,200}[\"']"
    r"|[\"'](?=\s?/?[>＞])|[\"'][^\"'<>\n]{0,200}\Z"
)
"""A value of an attribute; also with two different quotes, with its last one alone, or torn off."""
_MARK = re.compile(
    r"<\|(?P<side>open|close)\|>(?P<kind>[a-z]{1,20})(?P<more>(?:\s[^<>]{0,300})?)<\|sep\|>|"
    rf"[<＜](?:\s?(?P<before>[{_BARS}]))?(?P<inner>(?(before)(?:\"(?=[{_BARS}])|\s?[{_BARS}])?|(?=[/\w\s◁]))"
    rf"(?:[^<>＜＞{{}}\"'\n ]{{1,400}}+|[ ]|\n(?=[ \t]{{0,20}}[\w/])|(?>{_QUOTED})){{0,150}})"
    r"(?P<end>[>＞]|(?=[{\n]|\Z)|(?<=[\"'.])[ ]?(?=<))"
    r"|\[(?P<bracket>/?[A-Za-z_]{3,20}\d{0,2})\]"
)
_NAMESPACE = re.compile(
    rf"(?!(?:tool|function|invoke|param|arg)[a-z_]{{0,20}}:)[A-Za-z]{{2,12}}\s?[{_BARS}:]{{1,2}}\s?(?=/?[A-Za-z])(?!(?:start|end|value)\b)|[A-Za-z]{{2,12}}_(?=(?:{PREFIXED})\b)"
)
_WORD = re.compile(r"(?P<name>[A-Za-z_◁](?>(?:(?!Ġ)[\w.:▁\\-])*)|\")(?P<rest>.*)", re.DOTALL)
_SUFFIX = re.compile(r":[0-9a-f]{6,16}\Z")
_JOINT = re.compile(r"[\s_▁\\-]+")
_MAX_FOUND = 10_000
_MAX_MARKS = 1500
"""So many marks are looked at: a reply with more is a page."""


class Mark(NamedTuple):
    """A token or a tag: what it is called, whether it closes, and what stands behind its name inside it."""

    name: str
    start: int
    end: int
    closing: bool = False
    rest: str = ""
    token: bool = False
    """Whether it has bars or square brackets, which nobody writes by chance."""
    empty: bool = False
    said: str = ""
    """The name as it is written, for a tag that may be the name of a tool or of an argument."""

    @property
    def plain(self) -> bool:
        """Whether it is an opening tag with nothing but its name."""
        return not self.closing and not self.rest.strip()

    def names(self, name: str) -> bool:
        """Whether ``name`` is written in it, in any case."""
        return self.said.casefold() == name.casefold()


def marks_of(text: str) -> list[Mark]:
    """All tokens and tags of ``text``, in order."""
    if "<" not in text and "[" not in text and "＜" not in text:
        return []
    return list(islice(_marks(text), _MAX_MARKS))


def _marks(text: str) -> Iterator[Mark]:
    for found in islice(_MARK.finditer(text), _MAX_FOUND):
        mark = _bracket(found) if found["bracket"] else _sided(found) if found["side"] else _tag(found)
        if mark is not None:
            yield mark


def _bracket(found: re.Match[str]) -> Mark | None:
    name = found["bracket"].lower()
    known = f"[{name.removeprefix('/')}]"
    spelled = found["bracket"].removeprefix("/").isupper() or known in (
        "[tool_call]",
        "[tool_calls]",
        "[unused11]",
        "[unused12]",
    )
    if not spelled or known not in KNOWN:
        return None
    return Mark(known, found.start(), found.end(), closing=name.startswith("/"), token=True)


def _sided(found: re.Match[str]) -> Mark:
    """Kimi K3's ``<|open|>call tool="f"<|sep|>``."""
    name = {"tools": "tool_calls", "call": "invoke", "argument": "parameter"}.get(found["kind"], found["kind"])
    rest = found["more"].replace("&quot;", "'").replace(" tool=", " name=")
    return Mark(name, found.start(), found.end(), found["side"] == "close", rest, said=name)


def _tag(found: re.Match[str]) -> Mark | None:
    inner, before, end = found.group("inner", "before", "end")
    told = _spelled(inner.strip(), before is not None, end.strip())
    return told and Mark(told[0], found.start(), found.end(), *told[1:])


@lru_cache(maxsize=1024)
def _spelled(inner: str, bar: bool, end: str) -> tuple[str, bool, str, bool, bool, str] | None:
    """What a `Mark` is, wherever it stands, by what is in it, whether a bar is before that, and what ends it."""
    bars = bar or (inner != "" and inner[-1] in _BARS)
    trailing = not bar and inner[-1:] in _BARS and inner != ""
    inner = inner.strip(_AROUND)
    closing = inner.startswith("/") or trailing
    inner = inner.removeprefix("/").strip(_AROUND)
    if (space := _NAMESPACE.match(inner)) is not None:
        inner, bars = inner[space.end() :], bars and not any(bar in space[0] for bar in _BARS)
        closing, inner = closing or inner.startswith("/"), inner.removeprefix("/")
    word = _WORD.fullmatch(inner)
    if word is None:
        return None
    said, rest = _SUFFIX.sub("", word["name"]).rstrip(":"), word["rest"]
    if bars and rest and re.fullmatch(r"[\w ▁]*", rest):
        said, rest = said + rest, ""
    name = _JOINT.sub("_", said).strip("_").lower()
    name, rest = _split(name, rest.replace("Ġ", " "))
    name = "constrain" if name.startswith("reserved_") else name
    close, name = ALIASES.get(name, (closing, name))
    if not end and name not in KNOWN:
        return None
    empty = rest.rstrip().endswith("/")
    rest = rest.rstrip().removesuffix("/") if empty else rest
    closing = closing or close or name.endswith("_end")
    return name, closing, rest, bars, empty, said


def _split(name: str, rest: str) -> tuple[str, str]:
    """``function:f`` and ``invokename="f"``: a name that a known word is glued to."""
    if name in KNOWN:
        if rest.startswith((" calls", " call")):
            return f"{name}_{rest.strip()}", ""
        return name, rest
    head, colon, tail = name.partition(":")
    if colon and head in KNOWN:
        return head, f":{tail}{rest}"
    if name.endswith("name") and name[:-4] in KNOWN and rest.startswith("="):
        return name[:-4], f" name{rest}"
    return name, rest
