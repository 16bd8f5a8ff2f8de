"""Trying a model call again after transport faults, 429 and 5xx: a few times, within one deadline."""

import asyncio
from collections.abc import Awaitable, Callable
from random import uniform
from threading import Event
from time import monotonic
from typing import TypeVar

from dspy import LMError

from micro_agent.models.failures import marked, retryable

BACKOFF_S = (0.5, 1.0, 2.0)
"""Seconds before the second try, the third and the last."""
MAX_RETRY_AFTER_S = 20.0
"""A server that asks for more is asked again after this."""

T = TypeVar("T")
OnRetry = Callable[[LMError, float], None]
"""Is told the error of a try and the seconds until the next one."""


def attempts(
    call: Callable[[], T],
    *,
    deadline: float | None = None,
    cancelled: Event | None = None,
    on_retry: OnRetry | None = None,
) -> tuple[T, int]:
    """The result of ``call`` and how often it was tried again.

    Args:
        call: One try.
        deadline: A `time.monotonic` instant; a wait that would reach it is not begun.
        cancelled: Ends a wait when it is set.
        on_retry: Is told of each error that is followed by another try, before the wait.

    Raises:
        LMError: That of the last try; its attribute ``retries`` counts as the result does.
    """
    stop = cancelled or Event()
    retries = 0
    while True:
        try:
            return call(), retries
        except LMError as error:
            wait_s = _wait_s(marked(error, retries=retries), deadline)
            if wait_s is None:
                raise
            if on_retry is not None:
                on_retry(error, wait_s)
            if stop.wait(wait_s):
                raise
        retries += 1


async def aattempts(
    call: Callable[[], Awaitable[T]], *, deadline: float | None = None, on_retry: OnRetry | None = None
) -> tuple[T, int]:
    """`attempts` on the running event loop; cancelling the task ends a wait."""
    retries = 0
    while True:
        try:
            return await call(), retries
        except LMError as error:
            wait_s = _wait_s(marked(error, retries=retries), deadline)
            if wait_s is None:
                raise
            if on_retry is not None:
                on_retry(error, wait_s)
        await asyncio.sleep(wait_s)
        retries += 1


def _wait_s(error: LMError, deadline: float | None) -> float | None:
    """Seconds until the next try, ``None`` when there is to be none."""
    retries: int = error.__dict__["retries"]
    if retries >= len(BACKOFF_S) or not retryable(error):
        return None
    asked = error.retry_after
    wait_s = BACKOFF_S[retries] * uniform(0.75, 1.25) if asked is None else min(asked, MAX_RETRY_AFTER_S)
    return None if deadline is not None and monotonic() + wait_s >= deadline else wait_s
