"""Watching what was started: its outputs are read and cut, and it is ended for its time or for what it uses."""

import json
import os
import select
import selectors
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from micro_agent.coding.sandbox.contract import Bounds, Ran

_AT_ONCE = 65_536
_LOOK_EVERY_S = 0.05
_PIPE = 1_048_576
"""Bytes that may still be in a pipe when all is over, at most."""


@dataclass(slots=True)
class Kept:
    """The beginning and the end of an output, half each of the bytes that are kept.

    Attributes:
        most: How many are kept.
        count: How many there were.
    """

    most: int
    count: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        """Take what came next."""
        self.count += len(data)
        room = self.most - self.most // 2 - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > self.most + _AT_ONCE:
            del self._tail[: len(self._tail) - self.most // 2]

    def all(self) -> bytes:
        """What is kept of it."""
        return bytes(self._head + self._tail[max(0, len(self._tail) - self.most // 2) :])


@dataclass(slots=True)
class Started:
    """A sandbox that runs.

    Attributes:
        process: The process that we started, which ends when all others have ended.
        end: Ends all of them; it is called again until the process has ended.
        status: The end of a pipe for reading, by which the sandbox reports to us.
        usage: How many processes and threads there are, and the bytes of their own memory; ``None`` where the launcher
            looks at it.
        report: What came out of that pipe.
        first: A descriptor of the process whose end is the end of all, where that is not ``process`` itself; it is
            opened when ``report`` names it.
    """

    process: "subprocess.Popen[bytes]"
    end: Callable[[], None]
    status: int
    usage: Callable[[int], tuple[int, int]] | None = None
    report: bytes = b""
    first: int | None = None

    def reported(self, data: bytes) -> None:
        """Take what the sandbox says of itself, a line of JSON each."""
        self.report += data
        if self.first is None and b"\n" in self.report:
            with suppress(KeyError, ProcessLookupError):  # it may have ended already
                self.first = os.pidfd_open(json.loads(self.report.partition(b"\n")[0])["child-pid"])


def watch(started: Started, stdin: bytes, bounds: Bounds, *, since: float) -> Ran:
    """Wait until all is over: the exit status is the one of the process that we started."""
    out, err = Kept(bounds.output), Kept(bounds.output)
    process = started.process
    timed_out = False
    ended = os.pidfd_open(process.pid)
    try:
        timed_out = _serve(started, stdin, bounds, (out, err), ended, since + bounds.timeout_s)
    finally:
        os.close(ended)
        _close(process, out, err)
        while process.poll() is None:
            started.end()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_EVERY_S)
        _gone(started)
    code = process.returncode
    exit_status = None if timed_out else 128 - code if code < 0 else code
    took = time.monotonic() - since
    return Ran(exit_status, out.all(), err.all(), out.count, err.count, timed_out, took)


def _serve(
    started: Started, stdin: bytes, bounds: Bounds, outputs: tuple[Kept, Kept], ended: int, until: float
) -> bool:  # fmt: skip
    """Read and write until the process has ended or has to be; whether its time was over."""
    process, left = started.process, memoryview(stdin)
    look = time.monotonic() + _LOOK_EVERY_S
    with selectors.DefaultSelector() as waiting:
        waiting.register(ended, selectors.EVENT_READ, None)
        for stream, kept in zip((process.stdout, process.stderr), outputs, strict=True):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            waiting.register(stream, selectors.EVENT_READ, kept)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            waiting.register(process.stdin, selectors.EVENT_WRITE)
        os.set_blocking(started.status, False)
        waiting.register(started.status, selectors.EVENT_READ, started)
        while True:
            now = time.monotonic()
            if now >= until:
                return True
            if started.usage and now >= look:
                look = now + _LOOK_EVERY_S
                processes, memory = started.usage(bounds.processes)
                if processes > bounds.processes or memory > bounds.memory:
                    return False
            for key, _ in waiting.select(min(until, look) - now if started.usage else until - now):
                if key.fd == ended:
                    return False
                if process.stdin is not None and key.fileobj is process.stdin:
                    left = _written(process, left)
                    if not left:
                        waiting.unregister(key.fileobj)
                        process.stdin.close()
                elif _read(key.fd, key.data) == 0:
                    waiting.unregister(key.fileobj)


def _written(process: "subprocess.Popen[bytes]", left: memoryview) -> memoryview:
    """What is left to be written; nothing once nobody reads."""
    assert process.stdin is not None
    try:
        return left[os.write(process.stdin.fileno(), left[:_AT_ONCE]) :]
    except BrokenPipeError:
        return left[:0]


def _read(descriptor: int, into: Kept | Started) -> int:
    """Take what is in a pipe: the bytes that came, 0 at its end, -1 if there is nothing now."""
    try:
        data = os.read(descriptor, _AT_ONCE)
    except BlockingIOError:
        return -1
    if isinstance(into, Kept):
        into.add(data)
    else:
        into.reported(data)
    return len(data)


def _close(process: "subprocess.Popen[bytes]", out: Kept, err: Kept) -> None:
    """Take what is still in the outputs, without waiting for whoever holds them, and close them.

    Nothing that is to be ended then waits for us to read.
    """
    for stream, kept in ((process.stdout, out), (process.stderr, err)):
        assert stream is not None
        _drain(stream.fileno(), kept)
        stream.close()
    if process.stdin is not None:
        process.stdin.close()


def _gone(started: Started) -> None:
    """Take the last report, and wait for what ends after the process that we started."""
    _drain(started.status, started)
    os.close(started.status)
    if started.first is not None:
        select.select([started.first], [], [])  # not for ever: the system has ended it
        os.close(started.first)


def _drain(descriptor: int, into: Kept | Started) -> None:
    came, left = 1, _PIPE
    while came > 0 and left > 0:
        came = _read(descriptor, into)
        left -= came
