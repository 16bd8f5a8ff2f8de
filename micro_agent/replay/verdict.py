"""What came of a recorded run that was driven through today's loop."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from micro_agent.replay.divergence import Divergence

_QUESTION = 60


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a run replays as recorded.

    Attributes:
        outcome: ``same``, ``differs`` or ``not_replayed``.
        run_id: The run's id; ``None`` where no run could be read.
        source: The file it was read from; ``None`` where it came as a `Run`.
        question: As asked.
        divergence: The first one, when it ``differs``.
        later: When a request (or a tool that was run for real) differed first: the next divergence of anything else.
            ``None`` when the record leads on to the recorded end.
        reason: Why it could not be replayed.
        notes: What is worth knowing and no divergence: changed repairs, what could not be compared.
    """

    outcome: Literal["same", "differs", "not_replayed"]
    run_id: str | None = None
    source: str | None = None
    question: str | None = None
    divergence: Divergence | None = None
    later: Divergence | None = None
    reason: str | None = None
    notes: list[str] = field(default_factory=list[str])

    def lines(self) -> Iterator[str]:
        """The verdict for a person."""
        named = self.source or self.run_id
        if self.divergence is None:
            yield f"not replayed  {named}: {self.reason}" if self.reason else f"same  {named}"
        else:
            yield f"differs  {named}  {' '.join((self.question or '').split())[:_QUESTION]}"
            yield from _told(self.divergence)
            if self.later is not None:
                yield from _told(self.later, "then ")
            elif self.divergence.kind in ("request", "tool"):
                yield "  the rest is as recorded"
        yield from (f"  note: {note}" for note in self.notes)


def _told(divergence: Divergence, before: str = "") -> Iterator[str]:
    yield f"  {before}{divergence.where}"
    yield f"    expected: {divergence.expected}"
    yield f"    got:      {divergence.got}"
