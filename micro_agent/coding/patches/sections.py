"""A diff taken apart: which files it names, and the lines below each hunk header, as they stand there.

What surrounds a diff in the reply of a model (a fence, a shell command, tags, prose) is told from it here. What a line
means is not decided here but in `readings`, since wrong counts leave it open.
"""

import re
from dataclasses import dataclass, field

from micro_agent.coding.patches.faults import invalid, refused

MOST_FILES, MOST_HUNKS = 200, 10_000
_LARGEST_NUMBER = 10_000_000
"""More lines than a file has that is read at all."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*")
_LOOSE_HUNK = re.compile(r"@@?[ -]*(\d+)(?:,(\d+))? *\+(\d+)(?:,(\d+))?(?: *@+.*)?")
_ONE_AT = re.compile(r"@ -\d+(?:,\d+)? \+\d+(?:,\d+)?(?: |$)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[ \t]*+([\w+#.-]*+)[ \t]*+")
_HEREDOC = re.compile(r"<<[-~]?\s*(['\"]?)(\w+)\1\s*$")
_TAG = re.compile(r"\s*<([a-zA-Z][\w-]*)>\s*")
_SIGNATURE = re.compile(r"\d+\.\d+[\w. ()-]*")
_EXTENDED = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|similarity index"
    r"|dissimilarity index|index) (.*)"
)
_OTHER_FORMATS = re.compile(r"\*\*\* (?:Update|Add|Delete) File|\*{15}$|@@@|diff --(?:cc|combined) |<{7} ")
_BINARY = re.compile(r"GIT binary patch$|Binary files .* differ$")


@dataclass(slots=True)
class Hunk:
    """One hunk as it stands: its numbers, and the lines from its header to what certainly is none of its own.

    ``counted`` is how many of the lines the counts take, ``None`` where they cannot be right: the lines end before, or
    further edits follow.
    """

    number: int
    at: int
    old: tuple[int, int] | None
    new: tuple[int, int] | None
    lines: list[str]
    counted: int | None
    is_loose: bool = False
    header_returns: bool = False


@dataclass(slots=True)
class Section:
    """What a diff says of one file: the names in its headers as they stand, and its hunks."""

    at: int
    git: str | None = None
    extended: dict[str, str] = field(default_factory=dict[str, str])
    old: str | None = None
    new: str | None = None
    hunks: list[Hunk] = field(default_factory=list[Hunk])


def is_start(lines: list[str], at: int) -> bool:
    """Whether the part of a file begins with this line."""
    return lines[at].startswith("diff --git ") or _is_pair(lines, at)


def _is_pair(lines: list[str], at: int) -> bool:
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def _is_triple(lines: list[str], at: int) -> bool:
    """A pair of names with a hunk below: two edited lines can look like the names alone."""
    return _is_pair(lines, at) and at + 2 < len(lines) and _is_header(lines[at + 2])


def _is_header(line: str) -> bool:
    return line.startswith("@@") or bool(_ONE_AT.match(line))


def sections_of(lines: list[str], *, ends: bool = True) -> tuple[list[Section], list[str]]:
    """The parts of a diff, and which of `prose` and `fences` stands around them.

    Args:
        lines: The lines of the text.
        ends: Whether the last one ends with a newline.

    Raises:
        PatchError: It is no unified diff, is of something binary, is too large, or is cut off.
    """
    taken = _Taking(lines)
    while taken.at < len(lines):
        taken.step()
    if taken.sections and taken.sections[-1].hunks:
        _check_end(lines, taken.sections[-1].hunks[-1], ends=ends)
    if len(taken.sections) > MOST_FILES:
        raise refused(f"the diff changes {len(taken.sections)} files; {MOST_FILES} are the most")
    if sum(len(section.hunks) for section in taken.sections) > MOST_HUNKS:
        raise refused(f"the diff has more than {MOST_HUNKS} hunks")
    return taken.sections, taken.around


class _Taking:
    """Where the lines have been read to, and what was found."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.at = lines, 0
        self.sections: list[Section] = []
        self.around: list[str] = []
        self._closers: list[str] = []
        self._is_behind_end = False

    def step(self) -> None:
        """Read on by one header, hunk or other line."""
        line = self.lines[self.at].rstrip("\r")
        if line.startswith("diff --git "):
            self.sections.append(Section(self.at + 1, git=line.removeprefix("diff --git ")))
            self.at += 1
            self._read_extended()
        elif _is_pair(self.lines, self.at):
            section = self._named()
            section.old, section.new = line[4:], self.lines[self.at + 1].rstrip("\r")[4:]
            self.at += 2
            self._hunk_without_header()
        elif self._is_lone_name(line):
            section = self._named()
            section.old, section.new = (line[4:], None) if line.startswith("--- ") else (None, line[4:])
            self.at += 1
        elif _is_header(line) and not line.startswith("@@@"):
            self._hunk(line)
        else:
            self._other(line)

    def _is_lone_name(self, line: str) -> bool:
        is_name = line.startswith(("--- ", "+++ ")) and self.at + 1 < len(self.lines)
        return is_name and _is_header(self.lines[self.at + 1])

    def _named(self) -> Section:
        """The part that the names at hand belong to."""
        last = self.sections[-1] if self.sections else None
        if last is None or last.hunks or last.git is None or last.old is not None or last.new is not None:
            self.sections.append(Section(self.at + 1))
        self._is_behind_end = False
        return self.sections[-1]

    def _read_extended(self) -> None:
        self._is_behind_end = False
        while self.at < len(self.lines):
            found = _EXTENDED.fullmatch(self.lines[self.at].rstrip("\r"))
            if not found:
                return
            if found[1] in self.sections[-1].extended:
                raise refused(f"the header of file {len(self.sections)} says `{found[1]}` twice")
            self.sections[-1].extended[found[1]] = found[2]
            self.at += 1

    def _hunk(self, line: str) -> None:
        if not self.sections:
            raise invalid("a hunk stands before any file name: begin with the lines `--- a/PATH` and `+++ b/PATH`")
        section = self.sections[-1]
        found = _HUNK.fullmatch(line) or _LOOSE_HUNK.fullmatch(line)
        numbers = [None if number is None else _number(number) for number in found.groups()] if found else []
        old = (numbers[0] or 0, 1 if numbers[1] is None else numbers[1]) if numbers else None
        new = (numbers[2] or 0, 1 if numbers[3] is None else numbers[3]) if numbers else None
        begin = self.at + 1
        taken = None
        if old and new and (old[1] or new[1]):
            taken = counted(self.lines, begin, old[1], new[1])
        end = begin + (taken or 0)
        while end < len(self.lines) and not self._is_end(end, is_counted=taken is not None):
            end += 1
        hunk = Hunk(len(section.hunks) + 1, self.at + 1, old, new, self.lines[begin:end], taken)
        hunk.is_loose = not _HUNK.fullmatch(line)
        hunk.header_returns = self.lines[begin - 1].endswith("\r")
        section.hunks.append(hunk)
        self.at = end

    def _hunk_without_header(self) -> None:
        """Lines that stand right below the names, where a hunk header should be."""
        begin = end = self.at
        if begin == len(self.lines) or not self.lines[begin].startswith((" ", "+", "-")):
            return
        while end < len(self.lines) and not self._is_end(end, is_counted=False):
            end += 1
        self.sections[-1].hunks.append(Hunk(1, begin, None, None, self.lines[begin:end], None))
        self.at = end

    def _is_end(self, at: int, *, is_counted: bool) -> bool:
        """Whether a line is certainly none of the hunk above it."""
        line = self.lines[at].rstrip("\r")
        if line.startswith("diff --git ") or _is_header(line) or _is_triple(self.lines, at):
            return True
        if is_counted and (_is_pair(self.lines, at) or self._is_signature(at)):
            return True
        return self._is_closer(line.strip(), at)

    def _is_signature(self, at: int) -> bool:
        is_dashes = self.lines[at].rstrip("\r") in ("-- ", "--")
        return is_dashes and at + 1 < len(self.lines) and bool(_SIGNATURE.fullmatch(self.lines[at + 1].rstrip("\r")))

    def _is_closer(self, line: str, at: int) -> bool:
        if self._closers and line == self._closers[-1] and not self.lines[at].startswith((" ", "+", "-")):
            return True
        found = _FENCE.fullmatch(line)
        is_bare = found is not None and not found[2] and self.lines[at][0] in "`~"
        return is_bare and not any(map(str.strip, self.lines[at + 1 :]))

    def _other(self, line: str) -> None:
        """A line outside of all hunks."""
        if _BINARY.match(line):
            raise refused("the diff changes something binary; only text is changed by a patch")
        if _OTHER_FORMATS.match(line) and not self._is_behind_end:
            raise invalid("this is no unified diff: send `--- a/PATH`, `+++ b/PATH`, `@@ -LINE,COUNT +LINE,COUNT @@`")
        if line.strip() and "prose" not in self.around and not _FENCE.fullmatch(line):
            self.around.append("prose")
        if self.sections and not self._is_behind_end and line.lstrip().startswith(("+", "-", "@@")):
            if not self._is_signature(self.at):
                raise invalid(f"line {self.at + 1} of the diff stands outside of all hunks: {line[:80]!a}")
            self._is_behind_end = True
        self._open_or_close(line)
        self.at += 1

    def _open_or_close(self, line: str) -> None:
        stripped, fence = line.strip(), _FENCE.fullmatch(line)
        if self._closers and stripped == self._closers[-1]:
            self._closers.pop()
            self._is_behind_end = True
        elif fence:
            self._closers.append(fence[1])
            if "fences" not in self.around:
                self.around.append("fences")
            if self._is_behind_end and not fence[2] and self._has_edits_before():
                raise invalid("a bare fence stands within the diff: put a blank before each line that stays as it is")
        elif stripped == "*** Begin Patch":
            self._closers.append("*** End Patch")
        elif found := _HEREDOC.search(line):
            self._closers.append(found[2])
        elif found := _TAG.fullmatch(line):
            self._closers.append(f"</{found[1]}>")

    def _has_edits_before(self) -> bool:
        """Whether lines that look like edits stand between the end of the diff before and this one."""
        at = self.at - 1
        while at >= 0 and not _FENCE.fullmatch(self.lines[at].rstrip("\r")):
            if self.lines[at].startswith(("+", "-")):
                return True
            at -= 1
        return False


def _check_end(lines: list[str], hunk: Hunk, *, ends: bool) -> None:
    """The last hunk is no beginning of one: what its counts say and it lacks can be lines that stay, and no more."""
    if hunk.at + len(hunk.lines) < len(lines) or not hunk.lines or hunk.old is None or hunk.new is None:
        return
    old = hunk.old[1] - sum(not line.startswith(("+", "\\")) for line in hunk.lines)
    new = hunk.new[1] - sum(not line.startswith(("-", "\\")) for line in hunk.lines)
    is_short = (old > 0 or new > 0) and (old != new or not ends)
    if is_short and hunk.lines[-1].startswith(("+", "-")) and min(old, new) >= 0:
        raise refused(f"the diff is cut off: the counts of its last hunk say {max(old, 0)} old and {max(new, 0)} new "
                      "lines more; send it whole")  # fmt: skip


def _number(digits: str) -> int:
    if len(digits) > len(str(_LARGEST_NUMBER)) or int(digits) > _LARGEST_NUMBER:
        raise refused(f"a hunk header has the number {digits:.30}, more lines than any file has")
    return int(digits)


def counted(lines: list[str], begin: int, old: int, new: int) -> int | None:
    """How many lines the counts of a hunk take; ``None`` where the lines are others than they say."""
    at = begin
    while old > 0 or new > 0:
        if at == len(lines) or _is_triple(lines, at):
            return None
        sign = lines[at][:1]
        if sign not in ("", " ", "-", "+", "\\") and lines[at] != "\r":
            return None
        old -= sign in ("", "\r", " ", "-")
        new -= sign in ("", "\r", " ", "+")
        at += 1
    if at < len(lines) and lines[at].startswith("\\ "):
        at += 1
    return at - begin if old == new == 0 else None
