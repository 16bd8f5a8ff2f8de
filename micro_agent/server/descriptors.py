"""How many files and connections the process may have open, and what happens where it may not open any more."""

import asyncio
import errno
import resource
from collections.abc import Callable
from typing import Any

_FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def room_for(connections: int) -> int:
    """So many connections, or fewer where there would not be as many descriptors left for runs, tools and models.

    The soft limit is raised for it, as far as the hard one lets it be.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _fewer(soft, 2 * connections):
        soft = 2 * connections if not _fewer(hard, 2 * connections) else hard
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if not _fewer(soft, 2 * connections) else max(1, soft // 2)


def telling_once(say: Callable[[str], None]) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """A handler of an event loop's exceptions that says once that there are no descriptors left.

    asyncio pauses for a second, and says it with a traceback for each connection that waits.
    """
    told = False

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal told
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _FULL:
            loop.default_exception_handler(context)
        elif not told:
            told = True
            say(f"no connection can be taken now ({error.strerror}): allow more open files (ulimit -n); not said again")

    return handle


def _fewer(limit: int, wanted: int) -> bool:
    return limit != resource.RLIM_INFINITY and limit < wanted
