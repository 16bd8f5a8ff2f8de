"""What the model has seen of a file: its lines, by their numbers, and the places of edits in them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from micro_agent.testing.coding_model.plan import Edit

_TAGGED = re.compile(r"(\d+):([0-9A-Za-z]+)\|(.*)", re.DOTALL)
_NUMBERED = re.compile(r"(\d+): ?(.*)", re.DOTALL)
_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Spot:
    """The lines of an edit, as places in a page, and what stands there afterwards."""

    first: int
    last: int
    new: str


@dataclass(slots=True)
class Page:
    """The lines that were read: number, tag (where lines have one), text."""

    lines: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])

    def add(self, shown: Sequence[str]) -> None:
        """Lines as a tool shows them."""
        found = {number: (number, tag, text) for number, tag, text in self.lines}
        for row in shown:
            if tagged := _TAGGED.fullmatch(row):
                found[int(tagged[1])] = int(tagged[1]), f"{tagged[1]}:{tagged[2]}", tagged[3]
            elif plain := _NUMBERED.fullmatch(row):
                found[int(plain[1])] = int(plain[1]), plain[1], plain[2]
        self.lines = [found[number] for number in sorted(found)]

    @property
    def text(self) -> str:
        """All that was seen, one line after the other."""
        return "\n".join(text for _, _, text in self.lines)

    def number(self, at: int) -> int:
        """The number of a line."""
        return self.lines[at][0]

    def tag(self, at: int) -> str:
        """What a line is called."""
        return self.lines[at][1]

    def between(self, first: str, last: str) -> str:
        """The text from one line to another, by their tags or numbers."""
        named = [at for at, (number, tag, _) in enumerate(self.lines) if {str(number), tag} & {first, last}]
        return "\n".join(text for _, _, text in self.lines[named[0] : named[-1] + 1]) if named else ""

    def place(self, edit: Edit) -> Spot | None:
        """The whole lines that an edit changes; ``None`` if they were not seen."""
        target, new = edit.target, edit.replacement
        if target.endswith("\n"):
            target, new = target[:-1], new.removesuffix("\n")
        start = self.text.find(target) if target else -1
        if start < 0:
            return None
        first = self.text.count("\n", 0, start)
        last = first + target.count("\n")
        whole = "\n".join(text for _, _, text in self.lines[first : last + 1])
        return Spot(first, last, whole.replace(target, new, 1))

    def diff(self, edit: Edit) -> str | None:
        """An edit as a unified diff; ``None`` if its lines were not seen."""
        if not edit.target:
            rows = [f"+{line}" for line in edit.replacement.splitlines()]
            return "\n".join([f"--- /dev/null\n+++ b/{edit.path}\n@@ -0,0 +1,{len(rows)} @@", *rows, ""])
        spot = self.place(edit)
        if spot is None:
            return None
        texts = [text for _, _, text in self.lines]
        begin, end = max(0, spot.first - _CONTEXT), spot.last + 1 + _CONTEXT
        before, old, after = texts[begin : spot.first], texts[spot.first : spot.last + 1], texts[spot.last + 1 : end]
        new = spot.new.split("\n") if spot.new or edit.replacement else []
        around, number = len(before) + len(after), self.number(begin)
        rows = [*(f" {t}" for t in before), *(f"-{t}" for t in old), *(f"+{t}" for t in new), *(f" {t}" for t in after)]
        header = f"@@ -{number},{around + len(old)} +{number},{around + len(new)} @@"
        return "\n".join([f"--- a/{edit.path}\n+++ b/{edit.path}\n{header}", *rows, ""])
