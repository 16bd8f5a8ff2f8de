"""Tries, waits and deadlines, with a real server where it counts."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from threading import Event, Timer
from time import monotonic
from typing import Any

import dspy
import pytest
from dspy import lm15

from micro_agent.models import retry
from micro_agent.models.failures import marked
from micro_agent.models.ollama import OllamaEngine
from micro_agent.models.openai import OpenAIEngine
from micro_agent.models.retry import aattempts, attempts
from micro_agent.models.scope import CallScope, calling
from micro_agent.testing import ModelServer, cut, error, text

REQUEST = lm15.Request(model="m", messages=(lm15.Message.user("hi"),))
Run = Callable[..., tuple[Any, int]]


def now(call: Callable[[], Any], **keys: Any) -> tuple[Any, int]:
    return attempts(call, **keys)


def later(call: Callable[[], Any], **keys: Any) -> tuple[Any, int]:
    async def acall() -> Any:
        return call()

    return asyncio.run(aattempts(acall, **keys))


both = pytest.mark.parametrize("run", [now, later])


def failing(*errors: dspy.LMError | None) -> Callable[[], str]:
    """A call that raises these, one after the other, and then gives its result."""
    script: Iterator[dspy.LMError | None] = iter([*errors, None])

    def call() -> str:
        exc = next(script)
        if exc is not None:
            raise exc
        return "done"

    return call


def soon(kind: type[dspy.LMError] = dspy.LMServerError) -> dspy.LMError:
    return kind("it broke", retry_after=0.0)


@both
def test_what_may_pass_is_tried_again_and_counted(run: Run) -> None:
    seen: list[tuple[type[Exception], float]] = []
    errors = [soon(), soon(dspy.LMRateLimitError), soon(dspy.LMTransportError)]
    result = run(failing(*errors), on_retry=lambda exc, wait_s: seen.append((type(exc), wait_s)))  # pyright: ignore
    assert result == ("done", 3)
    assert seen == [(dspy.LMServerError, 0.0), (dspy.LMRateLimitError, 0.0), (dspy.LMTransportError, 0.0)]
    assert run(failing()) == ("done", 0)


@both
def test_four_tries_are_all(run: Run) -> None:
    with pytest.raises(dspy.LMServerError) as caught:
        run(failing(*[soon() for _ in range(9)]))
    assert vars(caught.value)["retries"] == 3


@both
@pytest.mark.parametrize(
    "exc",
    [
        dspy.LMAuthError("no"),
        dspy.LMInvalidRequestError("no"),
        dspy.LMTimeoutError("late"),
        dspy.LMBillingError("no"),
        marked(soon(), emitted=True),
    ],
)
def test_what_does_not_pass_is_not_tried_again(run: Run, exc: dspy.LMError) -> None:
    with pytest.raises(type(exc)) as caught:
        run(failing(exc))
    assert vars(caught.value)["retries"] == 0


@both
def test_other_exceptions_pass_as_they_are(run: Run) -> None:
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 / 0)


@both
def test_the_waits_grow_with_some_jitter(run: Run) -> None:
    waits: list[float] = []

    def note(_: dspy.LMError, wait_s: float) -> None:
        waits.append(wait_s)
        if len(waits) == 2:
            raise InterruptedError  # seen enough

    with pytest.raises(InterruptedError):
        run(failing(dspy.LMServerError("a"), dspy.LMServerError("b")), on_retry=note)
    assert 0.375 <= waits[0] <= 0.625
    assert 0.75 <= waits[1] <= 1.25


@both
def test_a_server_may_ask_for_20_seconds_at_most(run: Run) -> None:
    def note(_: dspy.LMError, wait_s: float) -> None:
        assert wait_s == retry.MAX_RETRY_AFTER_S == 20.0
        raise InterruptedError

    with pytest.raises(InterruptedError):
        run(failing(dspy.LMRateLimitError("wait", retry_after=3600.0)), on_retry=note)


@both
def test_no_wait_passes_the_deadline(run: Run) -> None:
    start = monotonic()
    with pytest.raises(dspy.LMRateLimitError) as caught:
        run(failing(dspy.LMRateLimitError("wait", retry_after=15.0)), deadline=monotonic() + 10)
    assert vars(caught.value)["retries"] == 0
    assert monotonic() - start < 5
    assert run(failing(soon()), deadline=monotonic() + 10) == ("done", 1)


def test_a_wait_ends_when_somebody_says_stop() -> None:
    stop = Event()
    start = monotonic()
    timer = Timer(0.1, stop.set)
    timer.start()
    with pytest.raises(dspy.LMRateLimitError) as caught:
        attempts(failing(dspy.LMRateLimitError("wait", retry_after=15.0)), cancelled=stop)
    timer.join()
    assert vars(caught.value)["retries"] == 0
    assert monotonic() - start < 10


def test_a_wait_ends_with_its_task() -> None:
    async def run() -> None:
        async def call() -> None:
            raise dspy.LMRateLimitError("wait", retry_after=15.0)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await aattempts(call)

    start = monotonic()
    asyncio.run(run())
    assert monotonic() - start < 10


def test_retry_after_is_heard_from_a_server() -> None:
    waits: list[float] = []
    with ModelServer(
        [error(429, "slow", retry_after=0.05), error(503, "loading", retry_after=0), text("ok")]
    ) as server:
        engine = OpenAIEngine(model="m", base_url=server.openai_url)
        _, retries = attempts(lambda: engine.complete(REQUEST), on_retry=lambda _, wait_s: waits.append(wait_s))
        engine.close()
    assert (retries, waits, len(server.chats)) == (2, [0.05, 0.0], 3)


def test_text_that_was_shown_is_not_shown_twice() -> None:
    said: list[str] = []
    with ModelServer([cut(after_chunks=3, reply=text("some words to show")), text("ok")]) as server:
        engine = OllamaEngine(model="m", base_url=server.url)
        with calling(CallScope(on_text=said.append)), pytest.raises(dspy.LMTransportError) as caught:
            attempts(lambda: engine.complete(REQUEST))
        engine.close()
    assert len(said) > 0
    assert (vars(caught.value)["retries"], len(server.chats)) == (0, 1)


def test_an_async_call_is_tried_again_too() -> None:
    async def run(url: str) -> tuple[Any, int]:
        twin = OpenAIEngine(model="m", base_url=url).twin()
        call: Callable[[], Awaitable[lm15.Response]] = lambda: twin.complete(REQUEST)  # noqa: E731
        try:
            return await aattempts(call)
        finally:
            await twin.aclose()

    with ModelServer([error(500, "oops", retry_after=0), text("ok")]) as server:
        response, retries = asyncio.run(run(server.openai_url))
    assert (response.message.text, retries) == ("ok", 1)
