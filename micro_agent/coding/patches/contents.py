"""The text of a file as lines, and back to the very same bytes: encoding, line endings, last newline."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field

from micro_agent.coding.contents import decoded
from micro_agent.coding.patches.faults import misfit, refused
from micro_agent.tools.error import ToolError

MOST_LINES = 1_000_000
Key = Callable[[str], str]
_Index = tuple[str, list[int]]
"""All lines of a text one after the other, and where each begins in it."""


@dataclass(slots=True)
class Content:
    """The text of a file.

    Attributes:
        lines: Its lines without the newline; a carriage return before it is part of the line.
        ends: Whether the last line ends with a newline.
        encoding: ``utf-8``, or ``latin-1``, in which any bytes are a text.
    """

    lines: list[str]
    ends: bool
    encoding: str = "utf-8"
    _keyed: dict[str, tuple[str, list[int]]] = field(
        default_factory=dict[str, tuple[str, list[int]]], repr=False, compare=False
    )

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines) + ("\n" if self.ends and self.lines else "")

    def marked(self) -> list[str]:
        """Its lines, the last one with a mark if it lacks its newline."""
        return self.lines if self.ends or not self.lines else [*self.lines[:-1], self.lines[-1] + "\0"]

    def bytes(self, path: str) -> bytes:
        """The file as it is written. Raises `PatchError` where its encoding lacks a sign."""
        text = self.text
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            lacking = text[error.start]
            raise misfit(f"{path} is not UTF-8, and its encoding lacks {lacking!a}: write it otherwise") from error

    def places(self, wanted: list[str], name: str, key: Key) -> list[int]:
        """The first two places, as line numbers from 0, where these keys stand one after the other."""
        if name not in self._keyed:
            self._keyed[name] = self._index(key)
        hay, starts = self._keyed[name]
        needle = "\n" + "\n".join(wanted) + "\n"
        found: list[int] = []
        at = hay.find(needle)
        while at >= 0 and len(found) < 2:
            found.append(bisect_left(starts, at))
            at = hay.find(needle, at + 1)
        return found

    def _index(self, key: Key) -> _Index:
        """All keys in one text, each after a newline, and where these newlines are."""
        keys = [key(line) for line in self.lines]
        starts: list[int] = []
        at = 0
        for text in keys:
            starts.append(at)
            at += len(text) + 1
        return "".join(f"\n{text}" for text in keys) + "\n", starts


def content_of(data: bytes, path: str) -> Content:
    """The text of a file. Raises `PatchError` for what is none, or none that git reads line by line."""
    try:
        found = decoded(data, path)
    except ToolError as error:
        raise refused(error.message) from error
    if b"\0" in data:
        raise refused(f"{path} is in {found.encoding}, in which a patch changes nothing")
    if data.count(b"\n") > MOST_LINES:
        raise refused(f"{path} has more than {MOST_LINES} lines")
    return in_lines(found.mark.decode() + found.text, found.encoding)


def in_lines(text: str, encoding: str = "utf-8") -> Content:
    """A text as the content of a file."""
    lines = text.split("\n")
    ends = lines[-1] == ""
    return Content(lines[:-1] if ends else lines, ends, encoding)
