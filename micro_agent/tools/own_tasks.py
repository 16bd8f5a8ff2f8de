"""The tasks that an async tool starts. asyncio ends its event loop for a SystemExit or KeyboardInterrupt in any task.

While a tool is awaited, the loop makes those that it starts so that they fail like others; all other tasks are made as
they would be without it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from micro_agent.tools.callbacks import described, from_outside

_Factory = Callable[..., "asyncio.Future[Any]"]
_of_a_tool: ContextVar[bool] = ContextVar("of_a_tool", default=False)


class _Making:
    """The task factory of a loop, with the one that was there before and how many tools are awaited."""

    def __init__(self, before: _Factory | None) -> None:
        self.before, self.tools = before, 0

    def __call__(self, loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **options: Any) -> Any:
        made: Any = self.before or asyncio.Task
        return made(loop=loop, coro=_Contained(coro) if _of_a_tool.get() else coro, **options)


@contextmanager
def own_tasks() -> Generator[None]:
    """Mark what runs inside, in a task of its own, as a tool's."""
    loop: Any = asyncio.get_running_loop()
    before: Any = loop.get_task_factory()
    making = before if isinstance(before, _Making) else _Making(before)
    making.tools += 1
    loop.set_task_factory(making)
    _of_a_tool.set(True)
    try:
        yield
    finally:
        making.tools -= 1
        if not making.tools and loop.get_task_factory() is making:
            loop.set_task_factory(making.before)


class _Contained(Coroutine[Any, Any, Any]):
    """A coroutine whose SystemExit and KeyboardInterrupt are a RuntimeError. It is for a task, which sends to it."""

    def __init__(self, inner: Coroutine[Any, Any, Any]) -> None:
        self._inner = inner

    def __await__(self) -> Generator[Any, Any, Any]:
        raise NotImplementedError

    def send(self, value: Any) -> Any:
        try:
            return self._inner.send(value)
        except (SystemExit, KeyboardInterrupt) as error:
            raise _as_failure(error) from None

    def throw(self, *error: Any) -> Any:
        try:
            return self._inner.throw(*error)
        except (SystemExit, KeyboardInterrupt) as raised:
            raise _as_failure(raised) from None

    def close(self) -> None:  # pragma: no cover - a coroutine has it; a task throws
        self._inner.close()


def _as_failure(error: BaseException) -> BaseException:
    return error if from_outside(error) else RuntimeError(described(error))
