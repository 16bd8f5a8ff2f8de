"""Which of several servers is asked: where the run is, else the least loaded; one that fails is left out a while.

No request is made here, and nobody waits: a `Route` says where a call is asked, and learns from how that ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from time import monotonic
from types import TracebackType
from typing import Literal

from dspy import (
    LMAuthError,
    LMBillingError,
    LMError,
    LMProviderError,
    LMServerError,
    LMTimeoutError,
    LMTransportError,
    LMUnsupportedModelError,
)

from micro_agent.models.announcing import Announce
from micro_agent.models.bodies import reply_from_failure
from micro_agent.models.engine import HttpEngine
from micro_agent.models.failures import fails_on_pattern, marked, one_line
from micro_agent.models.scope import CallScope, Seat, current

PAUSE_S, MOST_PAUSE_S = 1.0, 60.0
"""So long a server is left out at first; twice as long each time that it fails again, up to the most."""
_GONE = (LMTransportError, LMAuthError, LMBillingError, LMUnsupportedModelError)
_IN_DOUBT = 2
"""A request that so many servers could not answer is itself to blame."""
_TOLD = 200


def fault_of(error: LMError) -> Literal["gone", "doubt"] | None:
    """What an error says of the server: that others are to be asked, or that it or the request is to blame.

    ``None``: it answered, and the answer is for the run. It is ``gone`` without a connection, and where it would refuse
    any request (its key, its model, 502 and the like); 500 and a reply that does not come may be due to the request.
    """
    status = error.status or 0
    if reply_from_failure(error) or fails_on_pattern(error):
        return None
    if isinstance(error, _GONE) or (isinstance(error, LMServerError) and status > 501):
        return "gone"
    doubtful = isinstance(error, LMTimeoutError) or type(error) is LMProviderError
    return "doubt" if doubtful or (isinstance(error, LMServerError) and status != 501) else None


@dataclass(eq=False, slots=True)
class Server:
    """One of several, and how it is."""

    engine: HttpEngine
    lock: Lock = field(repr=False)
    """That of all of them."""
    number: int = 0
    load: int = 0
    """The runs that are asked here, and the calls under way that belong to no run."""
    due: float | None = None
    """It is left out, and may be asked again from this `time.monotonic` instant on; ``None``: it is well."""
    pause_s: float = 0.0
    on_trial: bool = False
    """Whether a call finds out just now if it is well again."""

    @property
    def url(self) -> str:
        """Its address."""
        return self.engine.base_url

    def vacate(self) -> None:
        """One run less is asked here."""
        with self.lock:
            self.load -= 1


class Pool:
    """The servers, and which of them are well. Safe to share between threads and event loops."""

    def __init__(self, engines: Sequence[HttpEngine], announce: Announce) -> None:
        self._lock = Lock()
        self.servers = [Server(engine, self._lock, number) for number, engine in enumerate(engines)]
        self.announce, self.pause_s = announce, PAUSE_S

    def route(self) -> "Route":
        """The way of one call, which is beginning."""
        return Route(self)

    def take(self, seat: Seat | None, asked: Sequence[Server]) -> Server | None:
        """Where to ask next after those ``asked`` in vain: where the run is, if that is well; ``None``: nowhere."""
        with self._lock:
            own = None if seat is None else seat.at
            if isinstance(own, Server) and own.due is None and not asked:
                return own
            server = self._least(asked)
            if server is None:
                return None
            server.on_trial = server.due is not None
            if seat is None or seat.at is None or (isinstance(own, Server) and own.due is not None):
                self._sit(seat, server)
            return server

    def _least(self, asked: Sequence[Server]) -> Server | None:
        """One that may be well again goes first, for one call; with none that is well, the one that is due first."""
        now = monotonic()
        ready = [
            one
            for one in self.servers
            if one not in asked and (one.due is None or (one.due <= now and not one.on_trial))
        ]
        if ready:
            return min(ready, key=lambda one: (one.due is None, one.load))
        return None if asked else min(self.servers, key=lambda one: one.due or 0.0)

    def moved(self, seat: Seat, server: Server) -> None:
        """A run goes on where it was answered."""
        with self._lock:
            self._sit(seat, server)

    def _sit(self, seat: Seat | None, server: Server) -> None:
        if seat is not None:
            if isinstance(seat.at, Server):
                seat.at.load -= 1
            seat.at = server
        server.load += 1

    def leave_out(self, server: Server, why: str) -> None:
        """Ask it again after a pause only. The first time is said."""
        with self._lock:
            now, first = monotonic(), server.due is None
            server.on_trial = False
            if first:
                server.pause_s = self.pause_s
            elif now >= (server.due or 0.0):
                server.pause_s = min(2 * server.pause_s, MOST_PAUSE_S)
            else:
                return  # a call that had begun before
            server.due = now + server.pause_s
        if first:
            self.announce(f"{server.url} is left out, and asked again later: {one_line(why, _TOLD)}")

    def well(self, server: Server) -> None:
        """It answered. One that had been left out is back, which is said."""
        with self._lock:
            back, server.due, server.on_trial = server.due is not None, None, False
        if back:
            self.announce(f"{server.url} is back")

    def undecided(self, server: Server) -> None:
        """A call that was to find out how it is was broken off."""
        with self._lock:
            server.on_trial = False


class Route:
    """The way of one call from server to server, each entered as a context manager, until one has answered.

    A block that ends with an error of its server ends quietly, and the next one is entered with another. With no other
    left, the error is raised.
    """

    __slots__ = ("_asked", "_doubted", "_error", "_pool", "_seat", "_server", "emitted", "over", "scope")

    def __init__(self, pool: Pool) -> None:
        self.scope: CallScope = current()
        self.emitted = self.over = False
        self._pool, self._server, seat = pool, pool.servers[0], self.scope.seat
        self._seat = None if seat is None or seat.over else seat
        self._asked: list[Server] = []
        self._doubted: list[tuple[Server, LMError]] = []
        self._error: LMError | None = None

    @property
    def last_resort(self) -> bool:
        """Whether no other server can be asked in its place."""
        return all(one.due is not None for one in self._pool.servers)

    def __enter__(self) -> Server:
        server = self._pool.take(self._seat, self._asked)
        if server is None:
            self.over = True
            assert self._error is not None, "the first can always be asked"
            raise self._error
        self._server = server
        return server

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        server, pool = self._server, self._pool
        if self._seat is None:
            server.vacate()
        if error is None:
            self._answered(server)
            return False
        if not isinstance(error, LMError) or getattr(error, "queued", False):
            pool.undecided(server)
            self.over = True
            return False
        fault = fault_of(error)
        if fault is None:
            pool.well(server)
            self.over = True
            return False
        if fault == "gone" or server.due is not None:
            pool.leave_out(server, str(error))
        else:
            self._doubted.append((server, error))
        self._asked.append(server)
        self._error = marked(error, server=server.url)
        shown = self.emitted or getattr(error, "emitted", False)
        self.over = shown or len(self._doubted) == _IN_DOUBT or not self._time_left(error)
        return not self.over

    def _answered(self, server: Server) -> None:
        self.over = True
        for other, error in self._doubted:
            self._pool.leave_out(other, str(error))
        if server.due is not None:
            self._pool.well(server)
        if self._seat is not None and self._seat.at is not server:
            self._pool.moved(self._seat, server)
        if self.scope.noted is not None:
            self.scope.noted.server = server.url

    def _time_left(self, error: LMError) -> bool:
        """Whether another server can still be asked: of one that did not answer in time, the time does not count."""
        scope, seat = self.scope, self._seat
        if isinstance(error, LMTimeoutError) and seat is not None and scope.deadline is not None:
            until = min(monotonic() + self._server.engine.endpoint.timeout_s, seat.until)
            self.scope = replace(scope, deadline=until)
        return self.scope.remaining() != 0
