"""A stretch of a reply that one reader takes for a call, an answer or an attempt at one."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.shapes import Shape


@dataclass(slots=True, eq=False)
class Claim:
    """What a reader found between two places of a text.

    With a fault, or when it is unfinished, its shapes are a hint at the tool that is meant and nothing more.
    """

    start: int
    end: int
    shapes: Sequence[Shape] = ()
    dialect: str = ""
    """The row or the reader that read it; empty for an object or a list without any markup."""
    answer: str | None = None
    """A final answer; beside calls, what stands with them in one object."""
    repairs: list[Repair] = field(default_factory=list[Repair])
    fault: str | None = None
    """Why it cannot be read, half a sentence; nothing of the reply is run then."""
    unfinished: bool = False
    """Whether the text ends inside it."""
    sure: bool = True
    """Whether its form says that it is a call, and not a thing that looks like one."""
    amid: bool = False
    """Whether words may stand inside it that are not part of the call: it counts as embedded then."""
    marked: bool = False
    """Whether a mark or a label opens it."""

    @property
    def is_lost(self) -> bool:
        """Whether it cannot be read, or not to its end."""
        return self.unfinished or self.fault is not None
