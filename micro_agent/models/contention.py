"""Requests that share the context of one server: how many may be under way at once, and how that is found out.

llama.cpp without ``-np`` gives all its slots one context together. When it is full, every request under way fails with
500 ``Context size has been exceeded.``, although each of them would fit alone.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from math import inf
from threading import Lock

from dspy import LMError, LMRateLimitError

from micro_agent.models.endpoint import Deadline, Endpoint, timed_out
from micro_agent.models.failures import marked, overflows
from micro_agent.models.refusals import context_limit

MORE_AFTER = 8
"""After so many replies in a row one more request may be under way at once."""


def contended(error: BaseException) -> bool:
    """Whether a server's context was full and it did not say that this request is too long for it.

    One that is too long is refused with 400, its own tokens and the length of the context. Whether the request would
    fit alone is for the caller to know.
    """
    body = getattr(error, "body", None)
    named = context_limit(body) if isinstance(body, str) else None
    return getattr(error, "status", None) == 500 and named is None and overflows(error)


def crowded(error: LMError) -> LMRateLimitError:
    """What ``error`` is where the request would fit: a reason to try again after a pause."""
    told = LMRateLimitError(
        f"{error.message} Other requests hold its context", model=error.model, provider=error.provider, status=500,
        retry_after=error.retry_after,
    )  # fmt: skip
    return marked(told, emitted=getattr(error, "emitted", False), body=getattr(error, "body", None))


class Turns:
    """Bounds the requests under way at one server, for threads and event loops together.

    There is no bound until the server's context was full. From then on one is let through at a time, and one more after
    every `MORE_AFTER` replies. Who comes first is first. Never are there more than ``limit``, where that is set.
    """

    def __init__(self) -> None:
        self.limit: int | None = None
        self.most: int | None = None
        """How many may be under way; ``None``: any number."""
        self._lock = Lock()
        self._under_way = 0
        self._replies = 0
        self._waiting: deque[Future[None]] = deque()

    def bound(self, limit: int) -> None:
        """Let so many be under way from now on, at most."""
        with self._lock:
            self.limit = self.most = limit

    @contextmanager
    def taken(self, endpoint: Endpoint) -> Generator[None]:
        """Wait for a turn, keep it for the block, and learn from how that ends.

        Raises:
            LMTimeoutError: None came within the engine's time-out, or the call's own deadline if that is nearer.
        """
        if (turn := self._asked()) is not None:
            deadline = Deadline.of(endpoint.timeout_s)
            with self._waited(turn, endpoint.url, deadline):
                turn.result(deadline.left())
        with self._kept():
            yield

    @asynccontextmanager
    async def ataken(self, endpoint: Endpoint) -> AsyncGenerator[None]:
        """The same, without holding up the event loop."""
        if (turn := self._asked()) is not None:
            deadline = Deadline.of(endpoint.timeout_s)
            with self._waited(turn, endpoint.url, deadline):
                async with asyncio.timeout(deadline.left()):
                    await asyncio.wrap_future(turn)
        with self._kept():
            yield

    def _asked(self) -> "Future[None] | None":
        """A turn to wait for; ``None`` where it is there at once."""
        with self._lock:
            if self._under_way < (self.most or inf):
                self._under_way += 1
                return None
            turn: Future[None] = Future()
            self._waiting.append(turn)
            return turn

    @contextmanager
    def _waited(self, turn: "Future[None]", url: str, deadline: Deadline) -> Generator[None]:
        try:
            yield
        except BaseException as error:
            if not turn.cancel():  # it came at the same moment
                self._left()
            if isinstance(error, TimeoutError):
                raise marked(timed_out(url, deadline), queued=True) from error
            raise

    @contextmanager
    def _kept(self) -> Generator[None]:
        try:
            yield
            self._replied()
        except LMError as error:
            if contended(error):
                with self._lock:
                    self.most, self._replies = 1, 0
            raise
        finally:
            self._left()

    def _replied(self) -> None:
        with self._lock:
            if self.most is not None and self.most != self.limit:
                self._replies += 1
                self.most += self._replies % MORE_AFTER == 0

    def _left(self) -> None:
        with self._lock:
            self._under_way -= 1
            while self._waiting and self._under_way < (self.most or inf):
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    self._under_way += 1
                    turn.set_result(None)
