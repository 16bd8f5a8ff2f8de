"""What is said of a coding run at its end: the files, patches and commands, and how its gates stand."""

from collections.abc import Iterator, Mapping
from typing import Any

from micro_agent.coding.summary import summary_of
from micro_agent.run import Run

_GATES = ("understanding", "change", "verification")


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
    passed = [name for name in _GATES if status.get(name)]
    missing = [name for name in _GATES if not status.get(name)]
    said = [f"{', '.join(passed)} passed" if passed else "", f"{', '.join(missing)} missing" if missing else ""]
    return "; ".join(filter(None, said))
