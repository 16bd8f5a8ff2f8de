"""The child processes that one thread started, and how to end them.

Linux lists the children forked by a thread in ``/proc/<pid>/task/<tid>/children`` (proc(5)). Elsewhere nothing is found
and nothing is ended.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

_GONE = (ProcessLookupError, PermissionError)
_MAX_PROCESSES = 10_000


def has_children(tid: int) -> bool:
    """Whether processes that a thread of this process started are still there."""
    # Asked before every tool call: one read will do, and a file object would double the cost.
    try:
        descriptor = os.open(f"/proc/self/task/{tid}/children", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return bool(os.read(descriptor, 1))
        finally:
            os.close(descriptor)
    except OSError:  # the thread has ended, or this is not Linux
        return False


def kill_children(tid: int) -> list[int]:
    """Kill the processes that a thread of this process started, and all below them.

    Each is stopped before its own children are looked up, so that none escapes in between. Where one leads a process
    group, the group is killed with it; our own group never is.

    Args:
        tid: The native id of the thread.

    Returns:
        The process ids found, parents first.
    """
    found: list[int] = []
    waiting = _children(f"/proc/self/task/{tid}/children")
    while waiting and len(found) < _MAX_PROCESSES:
        pid = waiting.pop(0)
        with suppress(*_GONE):
            os.kill(pid, signal.SIGSTOP)
        found.append(pid)
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            waiting += _children(path)
    for pid in found:
        with suppress(*_GONE):
            _kill(pid)
    return found


def _kill(pid: int) -> None:
    if os.getpgid(pid) == pid != os.getpgrp():
        os.killpg(pid, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)


def _children(path: str | Path) -> list[int]:
    try:
        return [int(word) for word in Path(path).read_bytes().split()]
    except OSError:  # the thread or the process has ended, or this is not Linux
        return []
