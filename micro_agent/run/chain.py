"""The runs of a conversation: each names the one that it follows."""

from collections.abc import Callable

from micro_agent.errors import ConfigurationError
from micro_agent.run import Run

_OPEN = ("running", "confirmation_required")


def following(run: Run) -> dict[str, object]:
    """The fields of a run that follows this one.

    Raises:
        ConfigurationError: It has not ended, or follows one that nobody has.
    """
    if is_open(run):
        raise ConfigurationError(f"run {run.id} has not ended ({run.status}): resume it, then ask what follows")
    require_earlier(run)
    return {"follows": run.id, "earlier": (*run.earlier, run.model_copy(update={"earlier": ()}))}


def previous(run: Run) -> Run | None:
    """The run that this one follows, with those before it; ``None`` for the first of a conversation."""
    require_earlier(run)
    if not run.earlier:
        return None
    *earlier, last = run.earlier
    return last.model_copy(update={"earlier": tuple(earlier)})


def is_open(run: Run) -> bool:
    """Whether the run has not ended: it can be resumed, and not be followed."""
    return run.status in _OPEN


def require_earlier(run: Run) -> None:
    """Raises `ConfigurationError` for a run that follows one which nobody has."""
    if run.follows is not None and not run.earlier:
        told = f"run {run.id} follows run {run.follows}, and not all runs before it are on record"
        raise ConfigurationError(f"{told}: put their traces back beside its own, or ask without a history")


def earlier_of(run: Run, load: Callable[[str], Run | None]) -> tuple[Run, ...]:
    """The runs before a run, the first one first; none of them if one is missing.

    Args:
        run: As it is on record.
        load: Gives the run with an id, ``None`` if there is none.
    """
    found: list[Run] = []
    known, follows = {run.id}, run.follows
    while follows is not None:
        before = None if follows in known else load(follows)
        if before is None:
            return ()
        known.add(before.id)
        found.append(before)
        follows = before.follows
    return tuple(reversed(found))
