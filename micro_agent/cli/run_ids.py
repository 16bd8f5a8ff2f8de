"""Which run is meant: by its id, by the beginning of one, as the last one, or by the path of its trace."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from micro_agent.traces import OpenRun, TraceStore

_BEGINNING = re.compile(r"[0-9a-f]{4,32}")
_WHOLE = 32
_SHOWN = 5


def run_id_of(store: "TraceStore", named: str) -> str:
    """The id of the run that is named by its id, by 4 or more of its first digits, or as ``last``: the latest trace.

    Raises:
        ConfigurationError: It is the beginning of several ids, or of none by its form.
        RunNotFound: There is no such run.
    """
    from micro_agent.errors import ConfigurationError, RunNotFound

    if named == "last":
        if (latest := next(store.ids(1), None)) is None:
            raise RunNotFound(f"there is no run in {store.directory}")
        return latest
    if not _BEGINNING.fullmatch(named):
        told = "one is 32 of the digits 0-9 and a-f; the first 4 or more will do, and so will last"
        raise ConfigurationError(f"not a run id: {named[:60]!a}; {told}")
    if len(named) == _WHOLE:
        return named
    found = list(dict.fromkeys([*store.ids(beginning=named), *store.open_ids(beginning=named)]))
    if len(found) > 1:
        raise ConfigurationError(f"{named} is the beginning of {len(found)} runs: {_listed(found)}; type more of it")
    if not found:
        known = list(dict.fromkeys([*store.ids(_SHOWN + 1), *store.open_ids()]))
        latest = f"; the latest are {_listed(known)}" if known else ""
        raise RunNotFound(f"no run in {store.directory} begins with {named}{latest}")
    return found[0]


def open_run_of(store: "TraceStore", named: str, fits: Callable[["OpenRun"], object], none: str) -> str:
    """The same for a run that is open; ``last`` is the latest one that ``fits``, and without any ``none`` is raised."""
    from micro_agent.errors import RunNotFound

    if named != "last":
        return run_id_of(store, named)
    latest = next((run.id for run in store.open_runs() if fits(run)), None)
    if latest is None:
        raise RunNotFound(none)
    return latest


def trace_of(store: "TraceStore", named: str, *, here: bool = True) -> Path:
    """The trace of a run: as `run_id_of` finds it, or by its path where it is there or looks like nothing else.

    A path that looks like a run ID counts only where the working directory does (``here``).
    """
    if (named == "last" or _BEGINNING.fullmatch(named)) and not (here and Path(named).exists()):
        return store.path(run_id_of(store, named))
    return Path(named)


def _listed(ids: Iterable[str]) -> str:
    shown = [f"{run_id[:12]}…" for run_id in ids]
    return ", ".join(shown[:_SHOWN]) + (" and more" if len(shown) > _SHOWN else "")
