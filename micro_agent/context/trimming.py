"""Which steps are cut when a request does not fit: the oldest first, in one large piece, the latest last."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from micro_agent.context.budget import Budget
from micro_agent.context.views import View, chars_for

MOST_TRIMS = 4
"""So often a run is trimmed; as long as its results allow, and one without end more often."""
FIRST_TURNS, MORE_TURNS = 8, 3
"""So many turns at most are planned for after a trim, and so many more for each trim: they become rare."""
OLD_TOKENS = 48
"""What is left of an old result that is kept in its place."""
LEAST_TOKENS = 24
"""What is left of a latest result when nothing else helps."""
_LINE_TOKENS = 48
_MOST_LINES = 40


@dataclass(frozen=True, slots=True)
class Cutting:
    """What is shown of a run's steps.

    Steps before ``start`` are shown no more; the latest ``lines`` calls among them are named, on a line each. ``chars``
    has what is left of the texts of a later step, by its index in the run, where it is not all.
    """

    start: int = 0
    lines: int = 0
    chars: dict[int, int] = field(default_factory=dict[int, int])

    def args(self) -> dict[str, Any]:
        """As the step of a trim records it."""
        kept = [{"step": step, "chars": chars} for step, chars in sorted(self.chars.items())]
        return {"from": self.start, "lines": self.lines, "cut": kept}


def cutting_of(args: View) -> Cutting:
    """What `Cutting.args` recorded."""
    return Cutting(args["from"], args["lines"], {one["step"]: one["chars"] for one in args["cut"]})


@dataclass(frozen=True, slots=True)
class Turns:
    """What can be cut: the whole views of the steps from ``now.start`` on, where each turn starts, the present cuts."""

    views: Sequence[View]
    starts: Sequence[int]
    now: Cutting
    room: int
    """Tokens for everything after the question."""
    part: float
    """How much of it the latest results may have where they have to be cut."""
    _known: dict[tuple[int, int], int | None] = field(default_factory=dict[tuple[int, int], int | None], repr=False)
    """The cuts of a step to so many tokens: each level has the same of most steps."""

    def older(self) -> list[Cutting]:
        """The ways to cut all but the latest turn, each shorter than the one before it; the first cuts nothing."""
        old = max(0, len(self.starts) - 1)
        steps = [(0, index) for index in range(old + 1)] + [(index, old) for index in range(1, old + 1)]
        return [self._level(dropped, small) for dropped, small in steps]

    def latest(self) -> list[Cutting]:
        """The ways to cut the latest turn as well; the last shows nothing of it but a line."""
        if not self.starts:
            return []
        old, end = len(self.starts) - 1, self.now.start + len(self.views)
        results = sum("call" in view for view in self.views[self.starts[-1] - self.now.start :])
        parts = int(self.part * self.room) // results, LEAST_TOKENS
        return [*(self._level(old, old, part) for part in parts), Cutting(end, self._lines), Cutting(end, 1)]

    def fitting(self, size: Callable[[Cutting], int], budget: Budget, *, planned: int, exact: bool) -> Cutting | None:
        """What to show so that ``planned`` more turns have room; if need be less than that, or what may fit at all.

        Args:
            size: Estimated tokens of the request with a cutting.
            budget: What a request may take.
            planned: How many turns are planned for; the latest is shown whole if they have half of the room then.
            exact: Whether the budget is as long as the server's context, and a reply may have less than its reserve.
        """
        older, latest = self.older(), self.latest()
        least, most = size(older[-1]), budget.most
        bounds = [least + int(part * (most - least)) for part in ((1 / 3, 2 / 3) if planned else (2 / 3, 1))]
        leaves = most - least >= self.room / 2 if planned else most >= least
        found = (mildest(older, size, bounds) if leaves else None) or mildest(latest, size, [most])
        if found is None and exact:
            found = mildest([*older, *latest], size, [budget.utmost])
        if found is None and exact and latest and budget.may_fit(size(latest[-1])):
            found = latest[-1]
        return found

    @property
    def _lines(self) -> int:
        return min(_MOST_LINES, max(2, self.room // 10 // _LINE_TOKENS))

    def _level(self, dropped: int, small: int, latest: int | None = None) -> Cutting:
        """The first ``dropped`` turns are no more shown, those up to ``small`` cut, the others to ``latest`` tokens."""
        start = self.starts[dropped] if dropped else self.now.start
        recent = self.starts[small] if small < len(self.starts) else self.now.start + len(self.views)
        chars = {step: kept for step, kept in self.now.chars.items() if step >= start}
        for step in range(start, self.now.start + len(self.views)):
            view, tokens = self.views[step - self.now.start], OLD_TOKENS if step < recent else latest
            if "call" in view and tokens is not None and (kept := self._chars(step, tokens)) is not None:
                chars[step] = min(kept, chars.get(step, kept))
        return Cutting(start, self._lines if start else 0, chars)

    def _chars(self, step: int, tokens: int) -> int | None:
        if (step, tokens) not in self._known:
            self._known[step, tokens] = chars_for(self.views[step - self.now.start], tokens)
        return self._known[step, tokens]


def planned_after(trims: int, left: float) -> int:
    """How many turns are to share what the trim number ``trims`` leaves free; 0: results are shown whole.

    ``left`` turns are to come. Those that fit in no plan are shown whole, each at the cost of a trim.
    """
    more = max(0, MOST_TRIMS - trims)
    planned = min(FIRST_TURNS + MORE_TURNS * trims, max(0, left - more) / (more + 1))
    return ceil(planned)


def largest_part(planned: int) -> float:
    """How much of the room one turn's results may have, where so many turns are planned for."""
    return 1 / 3 if planned else 2 / 3


def mildest(levels: Sequence[Cutting], size: Callable[[Cutting], int], bounds: Sequence[int]) -> Cutting | None:
    """The mildest level that is within the first bound, else within the second, …; ``None`` when none is.

    Args:
        levels: Each shorter than the one before it, or nearly so.
        size: Tokens of the request with a level.
        bounds: Tokens.
    """
    for bound in bounds:
        first = bisect_left(levels, -bound, key=lambda level: -size(level))
        if found := next((level for level in levels[first:] if size(level) <= bound), None):
            return found
    return None
