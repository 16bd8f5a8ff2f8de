"""The record of what was damaged."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Damaged:
    """One reply that was damaged."""

    call: int
    """The number of the reply, from 0, among all that came."""
    name: str
    """The class of the damage."""
    before: dict[str, Any]
    """``text``, ``reasoning``, ``tool_calls`` as the model said it."""
    after: dict[str, Any]


class Damages(list[Damaged]):
    """What was damaged so far, by a `FaultyLM` and all its copies, in the order in which the replies came."""

    replies: int = 0
    """All replies that came, damaged or not."""

    @property
    def by_class(self) -> dict[str, int]:
        """How many of each class, most first."""
        return dict(Counter(one.name for one in self).most_common())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
