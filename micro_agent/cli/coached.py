"""What an agent is made with so that it goes on with a run, or replays it, as the run was coached."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def as_coached(record: Mapping[str, Any] | None, demos: Path | None = None, **other: Any) -> dict[str, Any]:
    """Arguments of `MicroAgent` from ``Run.coach``, with ``other`` settings in the place of some there.

    A run that was coached has no demos but those that are named.

    Raises:
        ConfigurationError: It was coached in a way that this version does not know.
    """
    if record is None:
        return {"demos": demos}
    from micro_agent.coding.coach import coach_of

    return {"coach": coach_of({**record, **other}), "demos": demos or []}
