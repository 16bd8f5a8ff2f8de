"""Tools that do whatever a tool can do: each kind of exception, of handler, and of what is raised or hangs, by name."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

from micro_agent.tools import Tool

SLOW_S = 0.3
"""The time limit of the tools that never end."""
ENDLESS_S = 60.0


class Own(BaseException):
    """What no framework knows of."""


def raises(kind: type[BaseException]) -> Callable[[], Any]:
    def deed() -> Any:
        raise kind("zoo")

    return deed


def hangs() -> Any:
    time.sleep(ENDLESS_S)


def spins() -> Any:
    end = time.monotonic() + 5 * SLOW_S  # Python code cannot be ended: one that never came back would stay for good
    while time.monotonic() < end:
        pass


def nests() -> Any:
    return nests()


DEEDS: dict[str, Callable[[], Any]] = {
    **{kind.__name__: raises(kind) for kind in (ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, Own)},
    **{kind.__name__: raises(kind) for kind in (asyncio.CancelledError, StopIteration, MemoryError)},
    "hangs": hangs, "spins": spins, "nests": nests, "exits": sys.exit,
    "waits_for_a_process": lambda: subprocess.run(["sleep", "60"], check=False),
}  # fmt: skip


class Result:
    """What does something when it is shown."""

    def __init__(self, deed: Callable[[], Any]) -> None:
        self.deed = deed


class Shown(Result):
    def __repr__(self) -> str:
        return self.deed()


class Dumped(Result):
    def model_dump(self) -> Any:
        return self.deed()


class Said(Exception):
    def __init__(self, deed: Callable[[], Any]) -> None:
        super().__init__()
        self.deed = deed

    def __str__(self) -> str:
        return self.deed()


def raised(deed: Callable[[], Any]) -> Any:
    raise Said(deed)


PLACES: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "handler": lambda deed: deed(), "repr": Shown, "dump": Dumped, "str": raised, "key": lambda deed: {Shown(deed): 1},
}  # fmt: skip


def _sync(work: Callable[[], Any]) -> Callable[[], Any]:
    return work


def _async(work: Callable[[], Any]) -> Callable[[], Coroutine[Any, Any, Any]]:
    async def handler() -> Any:
        await asyncio.sleep(0)
        return work()

    return handler


def _task(work: Callable[[], Any]) -> Callable[[], Coroutine[Any, Any, Any]]:
    async def handler() -> Any:
        return await asyncio.create_task(_async(work)())

    return handler


WAYS: dict[str, Callable[[Callable[[], Any]], Any]] = {"sync": _sync, "async": _async, "task": _task}
BLOCKING = ("hangs", "spins", "nests", "waits_for_a_process")


def _work(deed: str, place: str) -> Callable[[], Any]:
    return lambda: PLACES[place](DEEDS[deed])


def names() -> list[str]:
    """All of them, but those that hold up the loop that they are awaited on: nobody can take it back from them."""
    every = [f"{way}-{place}-{deed}" for way in WAYS for place in PLACES for deed in DEEDS]
    return [
        name for name in every if not (name.startswith(("async-handler", "task-handler")) and name.endswith(BLOCKING))
    ]


def _made(name: str) -> Tool:
    way, place, deed = name.split("-")
    return Tool(name, "A beast.", {"type": "object"}, WAYS[way](_work(deed, place)), timeout_s=SLOW_S)


def _asks(deed: str) -> Tool:
    return Tool(
        f"confirm-{deed}", "A beast.", {"type": "object"}, lambda: "well", timeout_s=SLOW_S,
        requires_confirmation=lambda args: DEEDS[deed](),
    )  # fmt: skip


def get_tools() -> dict[str, Tool]:
    """The tools for the command line (``TOOLS_MODULES``)."""
    bystander = Tool("bystander", "Waits.", {"type": "object"}, lambda: time.sleep(3 * SLOW_S) or "well")
    tools = [*map(_made, names()), *map(_asks, DEEDS), bystander]
    return {tool.name: tool for tool in tools}
