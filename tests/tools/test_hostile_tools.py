"""Whatever a tool, its result or its exception does is the failure of that one call, within its time, off the loop."""

import asyncio
import enum
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import pytest

from micro_agent.tools import Outcome, Tool, ToolError, aexecute, execute
from tests.each import each

SLOW = 0.3


class Own(BaseException):
    """What no framework knows of."""


KINDS = [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, StopIteration, RecursionError, Own]
Run = Callable[[Tool, dict[str, Any]], Outcome]


def run_async(tool: Tool, args: dict[str, Any]) -> Outcome:
    return asyncio.run(aexecute(tool, args))


both = pytest.mark.parametrize("run", [execute, run_async])
every_kind = each("kind", KINDS)


def made(handler: Callable[..., Any], **options: Any) -> Tool:
    return Tool("f", "", {"type": "object"}, handler, **options)


def sync_one(deed: Callable[[], Any]) -> Callable[[], Any]:
    return deed


def async_one(deed: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    async def handler() -> Any:
        await asyncio.sleep(0)
        return deed()

    return handler


def coroutine_of(deed: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    return lambda: async_one(deed)()


def tasks_of(deed: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    async def handler() -> Any:
        done, other = await asyncio.gather(async_one(deed)(), asyncio.create_task(asyncio.sleep(0)))
        return done, other

    return handler


handlers = each("handler", [sync_one, async_one, coroutine_of, tasks_of])


@both
@every_kind
@handlers
@each("timeout_s", [None, 30.0])
def test_what_a_handler_raises_is_its_failure(
    run: Run, kind: type[BaseException], handler: Callable[..., Any], timeout_s: float | None
) -> None:
    def deed() -> None:
        raise kind("no")

    if (run, kind, handler, timeout_s) == (execute, KeyboardInterrupt, sync_one, None):
        with pytest.raises(KeyboardInterrupt):  # in this very thread: it may be the user's
            run(made(handler(deed), timeout_s=timeout_s), {})
        return
    outcome = run(made(handler(deed), timeout_s=timeout_s), {})
    assert (outcome.ok, outcome.error) == (False, "TOOL_EXCEPTION")
    assert outcome.latency_s is not None


def test_a_keyboard_interrupt_in_another_thread_is_never_the_users() -> None:
    def deed() -> None:
        raise KeyboardInterrupt

    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(execute(made(deed, timeout_s=None), {})))
    thread.start()
    thread.join()
    assert outcomes[0].observation == {"error": "TOOL_EXCEPTION", "message": "KeyboardInterrupt"}


class Acts:
    """A result that does something whenever it is looked at."""

    def __init__(self, deed: Callable[[], Any]) -> None:
        self.deed = deed


class Repr(Acts):
    def __repr__(self) -> str:
        return self.deed()


class Dumps(Acts):
    def model_dump(self) -> Any:
        return self.deed()


class Lists(Acts):
    def tolist(self) -> Any:
        return self.deed()


class Named(Acts):
    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.deed()


class Items(Acts, Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        return self.deed()

    def __iter__(self) -> Iterator[str]:
        return iter("ab")

    def __len__(self) -> int:
        return self.deed()


class Row(list[Any]):
    deed: Callable[[], Any]

    def __iter__(self) -> Iterator[Any]:
        return self.deed()


def row(deed: Callable[[], Any]) -> Row:
    made = Row([1])
    made.deed = deed
    return made


def key(deed: Callable[[], Any]) -> dict[Any, int]:
    return {Repr(deed): 1}


def value_of(deed: Callable[[], Any]) -> Any:
    class Valued(enum.Enum):
        ONE = 1

        @property
        def value(self) -> Any:
            return deed()

    return Valued.ONE


LOOKS: list[Callable[[Callable[[], Any]], Any]] = [Repr, Dumps, Lists, Named, Items, row, key, value_of]


@both
@every_kind
@each("look", LOOKS)
def test_what_a_result_raises_is_the_calls_failure(
    run: Run, kind: type[BaseException], look: Callable[..., Any]
) -> None:
    def deed() -> Any:
        raise kind("no")

    for handler in (sync_one, async_one):
        outcome = run(made(handler(lambda: [look(deed)])), {})
        if outcome.ok:
            assert "its repr failed with" in str(outcome.observation)
        else:
            assert outcome.observation["message"].startswith("f has run, but its result cannot be shown: ")


class Says(Exception):
    def __init__(self, deed: Callable[[], Any]) -> None:
        super().__init__()
        self.deed = deed

    def __str__(self) -> str:
        return self.deed()


@both
@every_kind
def test_an_exception_that_cannot_be_shown_is_named(run: Run, kind: type[BaseException]) -> None:
    def deed() -> Any:
        raise kind("no")

    def handler() -> Any:
        raise Says(deed)

    for wrap in (sync_one, async_one):
        assert run(made(wrap(handler)), {}).observation == {"error": "TOOL_EXCEPTION", "message": "Says"}


@both
@every_kind
def test_an_error_of_the_tools_own_may_fail_to_say_what_it_is(run: Run, kind: type[BaseException]) -> None:
    class Mine(ToolError):
        def observation(self) -> dict[str, Any]:
            raise kind("no")

    def handler() -> Any:
        raise Mine("CODE", "message")

    assert run(made(handler), {}).error == "TOOL_EXCEPTION"


@each("look", [*LOOKS, Says])
@each("handler", [sync_one, async_one])
@each("timeout_s", [None, 30.0])
def test_the_event_loop_is_free_while_a_result_is_looked_at(
    look: Callable[..., Any], handler: Callable[..., Any], timeout_s: float | None
) -> None:
    """What is looked at waits for the loop: one that is held up would wait for ever."""
    looked, free = threading.Event(), threading.Event()

    def deed() -> Any:
        looked.set()
        assert free.wait(60)
        raise ValueError("freed")

    def result() -> Any:
        if look is Says:
            raise Says(deed)
        return look(deed)

    async def main() -> Outcome:
        async def watch() -> None:
            while not looked.is_set():
                await asyncio.sleep(0.001)
            free.set()

        watching = asyncio.create_task(watch())
        outcome = await aexecute(made(handler(result), timeout_s=timeout_s), {})
        await watching
        return outcome

    asyncio.run(main())
    assert looked.is_set()


@both
@pytest.mark.parametrize("look", [Repr, Dumps, Says])
@pytest.mark.parametrize("handler", [sync_one, async_one])
def test_a_result_that_takes_too_long_to_show_is_left_behind(
    run: Run, look: Callable[..., Any], handler: Callable[..., Any]
) -> None:
    release = threading.Event()

    def deed() -> Any:
        release.wait(60)
        return "late"

    def result() -> Any:
        if look is Says:
            raise Says(deed)
        return look(deed)

    outcome = run(made(handler(result), timeout_s=SLOW), {})
    release.set()
    assert outcome.error == "TOOL_TIMEOUT"


class Endless(list[int]):
    def __iter__(self) -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1


@pytest.mark.torture
@both
def test_a_result_without_end_is_cut(run: Run) -> None:
    outcome = run(made(lambda: Endless([1])), {})  # pyright: ignore[reportUnknownLambdaType]
    assert outcome.ok
    assert outcome.observation["truncated"]


@both
@pytest.mark.parametrize("size", [10, 5_000])
@pytest.mark.parametrize("timeout_s", [None, 30.0])
def test_small_and_large_results_look_the_same(run: Run, size: int, timeout_s: float | None) -> None:
    result: dict[str, Any] = {"text": "x" * size, "rows": [list(range(size)), (None, 1.5, True)], "more": {"a": "b"}}
    for handler in (sync_one, async_one):
        outcome = run(made(handler(lambda: result), timeout_s=timeout_s, max_chars=10_000_000), {})
        assert outcome.ok
        assert outcome.observation["text"] == result["text"]
        assert outcome.observation["rows"][1] == [None, 1.5, True]


def test_tasks_of_a_tool_are_contained_and_all_others_are_as_before() -> None:
    async def child() -> None:
        raise SystemExit(4)

    async def waits() -> None:
        await asyncio.sleep(60)

    async def handler() -> str:
        async def leaves() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                raise SystemExit(5)

        leaving = asyncio.create_task(leaves())
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(RuntimeError, match="SystemExit: 5"):
            await leaving
        unstarted, waiting = asyncio.create_task(waits()), asyncio.create_task(waits())
        unstarted.cancel()
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({unstarted, waiting})
        with pytest.raises(RuntimeError, match="SystemExit: 4"):
            await asyncio.create_task(child(), name="child")
        return "well"

    def factory(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Any:
        made.append(coro)
        return asyncio.Task(coro, loop=loop, **options)

    made: list[Any] = []

    async def main() -> None:
        loop: Any = asyncio.get_running_loop()
        for before in (None, factory):
            loop.set_task_factory(before)
            tool = Tool("f", "", {"type": "object"}, handler)
            for outcome in await asyncio.gather(aexecute(tool, {}), aexecute(tool, {})):
                assert outcome.observation == "well"
            assert loop.get_task_factory() is before
        assert made

    asyncio.run(main())


def test_a_tool_that_leaves_a_factory_of_its_own_keeps_it() -> None:
    def factory(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Any:
        return asyncio.Task(coro, loop=loop, **options)

    async def handler() -> None:
        loop: Any = asyncio.get_running_loop()
        loop.set_task_factory(factory)

    async def main() -> Any:
        await aexecute(made(handler), {})
        return asyncio.get_running_loop().get_task_factory()

    assert asyncio.run(main()) is factory


# Ctrl-C is the user's


def interrupt(started: threading.Event) -> None:
    def work() -> None:
        assert started.wait(60)
        time.sleep(0.05)  # asyncio.run misses a signal that comes in the moment before it waits for events
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=work, daemon=True).start()


@both
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_control_c_while_a_tool_runs_is_the_users(run: Run, kind: str) -> None:
    started, release = threading.Event(), threading.Event()

    def wait() -> None:
        started.set()
        release.wait(60)

    async def sleep() -> None:
        started.set()
        await asyncio.sleep(60)

    interrupt(started)
    with pytest.raises(KeyboardInterrupt):
        run(made(wait if kind == "sync" else sleep), {})
    release.set()


@pytest.mark.parametrize("in_task", [False, True])
def test_control_c_on_a_loop_without_a_handler_of_its_own_is_the_users(in_task: bool) -> None:
    """As in Jupyter: asyncio.run has a handler that cancels the task."""
    started = threading.Event()

    async def child() -> None:
        started.set()
        while True:  # so the signal comes while this runs
            sum(range(10_000))

    async def handler() -> None:
        await (asyncio.create_task(child()) if in_task else child())

    interrupt(started)
    loop = asyncio.new_event_loop()
    try:
        task = loop.create_task(aexecute(made(handler), {}))
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(task)
        for left in asyncio.all_tasks(loop):
            left.cancel()
        loop.run_until_complete(asyncio.sleep(0.01))
    finally:
        loop.close()
