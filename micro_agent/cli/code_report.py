"""What is said of a coding run at its end: the files, patches and commands, and how its gates stand."""

from collections.abc import Iterator, Mapping
from typing import Any

from micro_agent.coding.gates import GATES
from micro_agent.coding.summary import summary_of
from micro_agent.run import Run


def lines_of(run: Run) -> Iterator[str]:
    """The lines, for standard error."""
    found = summary_of(run)
    yield f"Changed: {', '.join(found.changed) or 'nothing'}"
    yield from (f"Patch: {patch} ({became})" for patch, became in found.patches.items())
    yield from (f"Ran: {command} ({_ended(status)})" for command, status in found.commands)
    if run.gates is not None:
        yield f"Gates: {_gates(run.gates)}"


def _ended(status: int | str | None) -> str:
    return status if isinstance(status, str) else f"exit {'unknown' if status is None else status}"


def _gates(status: Mapping[str, Any]) -> str:
    """Which passed, and what each of the others lacks; that a later one lacks those before it goes without saying."""
    passed = [name for name in GATES if status.get(name)]
    lacks: Mapping[str, str] = status.get("evidence", {}).get("missing", {})
    missing = [name for name in GATES if not status.get(name)]
    told = [
        f"{name} lacks {lacks.get(name, 'something')}" for name in missing if name != GATES[-1] or len(missing) == 1
    ]
    return "; ".join([f"{', '.join(passed) or 'none'} passed", *told])
