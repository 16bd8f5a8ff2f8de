"""Which steps are cut when a request does not fit: the oldest first, in one large piece, the latest last."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from micro_agent.context.views import View, chars_for

LATEST = 2
"""So many of the latest turns are left alone as long as cutting the older ones is enough."""
OLD_TOKENS = 48
"""What is left of an old result that is kept in its place."""
LEAST_TOKENS = 24
"""What is left of the latest result when nothing else helps."""
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
    share: int
    """Tokens for one result."""

    def levels(self) -> list[Cutting]:
        """All ways to cut, each shorter than the one before it; the first cuts nothing."""
        count = len(self.starts)
        old = max(0, count - LATEST)
        steps = [(0, index, None) for index in range(old + 1)]
        steps += [(index, old, None) for index in range(1, old + 1)]
        if count:
            steps += [(old, old, self.share), (count - 1, old, self.share), (count - 1, old, LEAST_TOKENS)]
        lines = min(_MOST_LINES, max(2, self.room // 10 // _LINE_TOKENS))
        found = [self._level(dropped, small, latest, lines) for dropped, small, latest in steps]
        end = self.now.start + len(self.views)
        return [*found, Cutting(end, lines), Cutting(end, 1)] if count else found

    def _level(self, dropped: int, small: int, latest: int | None, lines: int) -> Cutting:
        """The first ``dropped`` turns are no more shown, those up to ``small`` cut, the others to ``latest`` tokens."""
        start = self.starts[dropped] if dropped else self.now.start
        recent = self.starts[small] if small < len(self.starts) else self.now.start + len(self.views)
        chars = {step: kept for step, kept in self.now.chars.items() if step >= start}
        for step in range(start, self.now.start + len(self.views)):
            view, tokens = self.views[step - self.now.start], OLD_TOKENS if step < recent else latest
            if "call" in view and tokens is not None and (kept := chars_for(view, tokens)) is not None:
                chars[step] = min(kept, chars.get(step, kept))
        return Cutting(start, lines if start else 0, chars)


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
