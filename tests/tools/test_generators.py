# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
"""Tools that give their result piece by piece: a model sees a list."""

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from micro_agent import MicroAgent, tool
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.tools import Tool
from micro_agent.tools.execute import Outcome, aexecute, execute

Run = Callable[[Tool], Outcome]


def at_once(one: Tool) -> Outcome:
    return execute(one, {})


def awaited(one: Tool) -> Outcome:
    return asyncio.run(aexecute(one, {}))


both = pytest.mark.parametrize("run", [at_once, awaited])
timed = pytest.mark.parametrize("timeout_s", [None, 30.0])


def made(handler: Callable[..., Any], **options: Any) -> Tool:
    return Tool("f", "", {}, handler, **options)


def test_a_tool_may_yield() -> None:
    @tool
    def lines(count: int) -> Iterator[dict[str, int]]:
        """Give some lines."""
        for number in range(count):
            yield {"line": number}

    @tool
    async def pages(count: int) -> AsyncIterator[str]:
        """Give some pages."""
        for number in range(count):
            await asyncio.sleep(0)
            yield f"page {number}"

    lm = ScriptedLM([call("lines", {"count": 2}), call("pages", {"count": "2"}), text("Done.")])
    run = MicroAgent([lines, pages], lm, "native", []).ask("Give.")
    assert [step.observation for step in run.steps] == [[{"line": 0}, {"line": 1}], ["page 0", "page 1"]]


async def letters() -> AsyncIterator[str]:
    yield "a"
    await asyncio.sleep(0)
    yield "b"


async def later() -> AsyncIterator[str]:
    return letters()


class Counting:
    """An asynchronous iterator that is no generator."""

    def __init__(self) -> None:
        self.at = 0

    def __aiter__(self) -> "Counting":
        return self

    async def __anext__(self) -> int:
        self.at += 1
        if self.at > 3:
            raise StopAsyncIteration
        return self.at


@both
@timed
@pytest.mark.parametrize(
    ("handler", "observation"),
    [
        (lambda: (n * n for n in range(3)), [0, 1, 4]),
        (lambda: map(str, [1, 2]), ["1", "2"]),
        (lambda: {"rows": zip("ab", [1, 2], strict=True)}, {"rows": [["a", 1], ["b", 2]]}),
        (lambda: (iter([n]) for n in range(2)), [[0], [1]]),
        (letters, ["a", "b"]),
        (later, ["a", "b"]),
        (Counting, [1, 2, 3]),
        (lambda: iter(()), []),
    ],
)
def test_what_is_given_piece_by_piece_is_a_list(
    run: Run, handler: Callable[..., Any], observation: Any, timeout_s: float | None
) -> None:
    outcome = run(made(handler, timeout_s=timeout_s))
    assert (outcome.ok, outcome.observation) == (True, observation)


def test_a_file_is_not_read() -> None:
    assert execute(made(lambda: io.StringIO("a\nb")), {}).observation.startswith("<_io.StringIO")


@both
@timed
def test_what_fails_in_the_middle_has_failed(run: Run, timeout_s: float | None) -> None:
    def numbers() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    async def anumbers() -> AsyncIterator[int]:
        yield 1
        raise ValueError("no more")

    for handler in (numbers, anumbers):
        outcome = run(made(handler, timeout_s=timeout_s))
        assert outcome.error == "TOOL_EXCEPTION"
        assert "ValueError: no more" in outcome.observation["message"]


def forever(item: Any) -> Callable[[], Iterator[Any]]:
    def items() -> Iterator[Any]:
        while True:
            yield item

    return items


def aforever(item: Any) -> Callable[[], AsyncIterator[Any]]:
    async def items() -> AsyncIterator[Any]:
        while True:
            yield item

    return items


@pytest.mark.parametrize(
    ("run", "endless"),
    [
        (at_once, forever), (awaited, aforever),
        pytest.param(at_once, aforever, marks=pytest.mark.torture),
        pytest.param(awaited, forever, marks=pytest.mark.torture),
    ],
)  # fmt: skip
@pytest.mark.parametrize("item", [1, "x" * 1_000_000, b"x" * 1_000_000])
def test_what_has_no_end_is_cut(run: Run, endless: Callable[[Any], Callable[[], Any]], item: Any) -> None:
    outcome = run(made(endless(item)))
    assert outcome.ok
    assert outcome.observation["truncated"]


@both
def test_what_does_not_come_is_not_waited_for(run: Run) -> None:
    release = threading.Event()

    def slow() -> Iterator[int]:
        yield 1
        release.wait(60)

    async def aslow() -> AsyncIterator[int]:
        yield 1
        await asyncio.sleep(60)

    for handler in (slow, aslow):
        assert run(made(handler, timeout_s=0.2)).error == "TOOL_TIMEOUT"
    release.set()
