"""What is known of one failure."""

from collections.abc import Iterable
from dataclasses import dataclass

_LINES = 6
"""Of what a runner says about a failure: what was expected and found stands first, and a diff may follow."""


@dataclass(frozen=True, slots=True)
class Failing:
    """One test that failed.

    Attributes:
        test: As the runner names it, where it can be run by that name; else the file or package that failed to load.
        assertion: What the runner says of the failure, a few lines; ``None`` where it says nothing.
        place: ``file:line``, in the project's own code where the failure came up there; ``None`` where it is not said.
    """

    test: str
    assertion: str | None = None
    place: str | None = None


def told(lines: Iterable[str]) -> str | None:
    """What is said about a failure, from the lines it stands in: the first few that are not blank."""
    kept = [line.rstrip() for line in lines if line.strip()][:_LINES]
    indent = min((len(line) - len(line.lstrip()) for line in kept), default=0)
    return "\n".join(line[indent:] for line in kept) or None
