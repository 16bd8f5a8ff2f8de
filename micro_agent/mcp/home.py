"""A thread with an event loop, where connections live: calls come from other threads and other loops."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar

_T = TypeVar("_T")
_LOOK_S = 0.1


class Home:
    """An event loop in a daemon thread of its own. A process started there is no child of a tool's thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="micro-agent-mcp", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:  # ends what is still under way at its end
            runner.get_loop().run_forever()

    def is_here(self) -> bool:
        """Whether this is its thread."""
        return threading.current_thread() is self._thread

    def begin(self, work: Coroutine[Any, Any, _T]) -> "Future[_T]":
        """Begin some work there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    @staticmethod
    def result(begun: "Future[_T]") -> _T:
        """What came of work that was begun; raises what it raised, and `KeyboardInterrupt`.

        Python acts on a Ctrl-C that comes just before a lock is waited for only when that wait ends: so it ends often.
        """
        while not wait([begun], _LOOK_S).done:
            pass
        return begun.result()

    async def awaited(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do some work there, for another event loop. Where the wait is cancelled, so is the work."""
        return await asyncio.wrap_future(self.begin(work))

    def stop(self) -> None:
        """End the thread when what it is about is done."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join()
