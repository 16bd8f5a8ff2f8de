"""Who watches the runs of this process, such as what sends spans; and the span that asked for a run.

Observers belong to the process as its log does: they hold nothing that a run needs, and no run waits for them.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Protocol

from micro_agent.run import Run
from micro_agent.run.span_ids import parsed


class Observer(Protocol):
    """Is told of every session of a run, in the thread or task of the run. Whatever it raises is a warning."""

    def began(self, run: Run) -> None:
        """A session begins; a resumed run has steps already."""
        ...

    def moved(self, run: Run) -> None:
        """The run has a step more."""
        ...

    def ended(self, run: Run) -> None:
        """The run has ended or paused."""
        ...


_observers: tuple[Observer, ...] = ()
_lock = Lock()
_caller: ContextVar[str | None] = ContextVar("micro_agent_traceparent", default=None)


def observers() -> tuple[Observer, ...]:
    """Those of now."""
    return _observers


@contextmanager
def observing(observer: Observer) -> Generator[None]:
    """Have ``observer`` watch all runs that begin in this block, in any thread."""
    global _observers
    with _lock:
        _observers = (*_observers, observer)
    try:
        yield
    finally:
        with _lock:
            _observers = tuple(one for one in _observers if one is not observer)


def caller() -> str | None:
    """The span that the run of this thread or task belongs to; ``None`` where nobody watches, or there is none."""
    return _caller.get() if _observers else None


@contextmanager
def called_by(traceparent: str | None) -> Generator[None]:
    """Runs that begin in this block, in this thread or task, belong to this span; what names none changes nothing."""
    if parsed(traceparent) is None:
        yield
        return
    token = _caller.set((traceparent or "").strip())
    try:
        yield
    finally:
        _caller.reset(token)
