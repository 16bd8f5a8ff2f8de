"""What the driver of a run tells the engine about the call under way, beside the request: a deadline, where text goes.

DSPy's engine contract carries only the request, so this travels in a context variable. It is set around one call and
holds nothing of a run.
"""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import Protocol


class Place(Protocol):
    """A server that is one of several."""

    def vacate(self) -> None:
        """One run less is asked there."""
        ...


class Seat:
    """Where a run is asked, of several servers. It has one once it was asked, and keeps it while the server is well.

    ``until`` is the `time.monotonic` instant at which the time of the run is over.
    """

    __slots__ = ("at", "over", "until")

    def __init__(self) -> None:
        self.at: Place | None = None
        self.until, self.over = inf, False

    def leave(self) -> None:
        """The run is over: others may be asked there in its place."""
        self.over, at = True, self.at
        if at is not None:
            self.at = None
            at.vacate()


@dataclass(slots=True)
class Noted:
    """What an engine notes of a call: the address of the server that answered, where it has several."""

    server: str | None = None


@dataclass(frozen=True, slots=True)
class CallScope:
    """Bounds of one model call.

    ``deadline`` is a `time.monotonic` instant (seconds) at which the call is given up, ``None`` for no bound beyond the
    engine's own timeout. ``on_text`` gets pieces of answer text as they arrive; when it is set the engine streams. It
    returns ``False`` as long as nobody has seen anything of the reply, so that one that breaks off is asked for again.
    """

    deadline: float | None = None
    on_text: Callable[[str], object] | None = None
    count: int = 1
    """So many replies are asked for in one request, of a server that takes that."""
    traceparent: str | None = None
    """The span of this call, which servers are told where spans are sent (W3C Trace Context)."""
    seat: Seat | None = None
    """That of the run; ``None`` for a call that belongs to none."""
    noted: Noted | None = None

    def remaining(self) -> float | None:
        """Seconds until the deadline, not below 0; ``None`` without one."""
        return None if self.deadline is None else max(0.0, self.deadline - monotonic())


_NO_BOUNDS = CallScope()
_scope: ContextVar[CallScope] = ContextVar("micro_agent_call_scope", default=_NO_BOUNDS)


def _stands(record: logging.LogRecord) -> bool:
    """Whether DSPy's log line is shown: all are but, in our own calls, that of a reply which was cut off.

    It advises what the loop does anyway, which asks again with more tokens, and the run records it.
    """
    return current() is _NO_BOUNDS or not record.getMessage().startswith("LM response was truncated")


logging.getLogger("dspy.clients.lm").addFilter(_stands)


def current() -> CallScope:
    """The bounds of the call under way in this thread or task."""
    return _scope.get()


@contextmanager
def calling(scope: CallScope) -> Generator[None]:
    """Make ``scope`` the bounds of the model calls in this block."""
    token = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(token)


_thoughts: ContextVar[Callable[[str], object] | None] = ContextVar("micro_agent_thoughts", default=None)


@contextmanager
def hearing_thoughts(hear: Callable[[str], object]) -> Generator[None]:
    """Have ``hear`` get the reasoning of the replies that are streamed in this block, piece by piece."""
    token = _thoughts.set(hear)
    try:
        yield
    finally:
        _thoughts.reset(token)


def thought(text: str) -> None:
    """Tell whoever listens the next piece of a reply's reasoning."""
    if text and (hear := _thoughts.get()) is not None:
        hear(text)


@contextmanager
def several(count: int) -> Generator[None]:
    """Ask for so many replies in one request in this block."""
    with calling(replace(current(), count=count)) if count > 1 else nullcontext():
        yield


@contextmanager
def noting() -> Generator[Noted]:
    """Note in this block what an engine has to say of a call beside its reply."""
    noted = Noted()
    with calling(replace(current(), noted=noted)):
        yield noted


@contextmanager
def spanned(traceparent: str | None) -> Generator[None]:
    """Tell servers in this block which span asks them."""
    with calling(replace(current(), traceparent=traceparent)) if traceparent else nullcontext():
        yield
