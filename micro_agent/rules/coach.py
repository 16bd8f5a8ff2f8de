"""A coach: what helps a weak model at one kind of work, beside the tools. All of it is rules and text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from micro_agent.rules.verdict import Rule
from micro_agent.run import Run


def _nothing(run: Run) -> None:
    """What a coach says that has nothing to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coach:
    """What an agent adds for one kind of work. Every function is pure: the same run gives the same text.

    Attributes:
        record: Its settings as JSON. They stand in ``Run.coach``, and make the coach again where a run is resumed,
            forked or verified.
        rules: Asked after those of the agent.
        system: A part of the system prompt, asked for once when a run begins. ``Run.system`` keeps it, so that what it
            was drawn from may change afterwards.
        state: The line that stands behind each observation; ``None``: no line. The run's last step is the one observed.
        status: How the run stands, as JSON, with evidence. ``Run.gates`` has that of its end.
    """

    record: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rules: Sequence[Rule] = ()
    system: Callable[[Run], str | None] = _nothing
    state: Callable[[Run], str | None] = _nothing
    status: Callable[[Run], dict[str, Any] | None] = _nothing


NO_COACH = Coach()
"""That of an agent which has none."""
