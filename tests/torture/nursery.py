"""A warmed-up process that forks: a run of an agent in a process of its own costs 30 ms there instead of a second.

Run as a script this is the process that forks. It reads one order a line, and a child of it does one task of
`lives.TASKS` and ends. A child waits for a signal before it begins, so that strace can take hold of it first and the
system calls that are counted are those of the task alone.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

GO = signal.SIGUSR1
BROKEN = 70
"""The exit status of a task that raised what it must not."""


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit status (negative: the signal), what it said, and whether strace did what it was told.

    ``log`` is what strace wrote.
    """

    status: int
    said: list[Any] = field(default_factory=list[Any])
    log: str = ""

    @property
    def killed(self) -> bool:
        """Whether a SIGKILL ended it."""
        return self.status == -signal.SIGKILL

    @property
    def injected(self) -> bool:
        """Whether a system call was made to fail."""
        return "(INJECTED)" in self.log

    def last(self) -> Any:
        """What it said last. Fails when the task broke."""
        assert self.status == 0, self
        return self.said[-1]


class Nursery:
    """The process that forks, seen from a test. ``prefix`` is a command that starts it, such as ``unshare -m``."""

    def __init__(self, url: str, folder: Path, *, prefix: Sequence[str] = ()) -> None:
        self._url, self._log = url, folder / "strace.log"
        self._process = subprocess.Popen(
            [*prefix, sys.executable, "-B", __file__, url, str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
        assert self._process.returncode == 0

    def start(self, task: str, folder: Path, **options: Any) -> int:
        """A child that waits for `GO`; returns its process id."""
        order = {"task": task, "options": {"url": self._url, "folder": str(folder), **options}}
        return self._order(order)["pid"]

    def wait(self, pid: int) -> Ended:
        """Wait for the end of a child."""
        return Ended(**self._order({"wait": pid}))

    def live(self, task: str, folder: Path, *, inject: str = "", log: str = "", **options: Any) -> Ended:
        """Have a child do a task to its end.

        ``inject`` is strace's: ``write:signal=KILL:when=3``, say. ``log`` names the system calls whose arguments are
        kept whole in the log, as hexadecimal numbers; else there are only those of ``inject``.
        """
        pid = self.start(task, folder, **options)
        if not inject and not log:
            os.kill(pid, GO)
            return self.wait(pid)
        command = ["strace", "-f", "-y", "-o", self._log, "-e", f"trace={log or inject.partition(':')[0]}"]
        command += ["-xx", "-s", "1000000"] if log else []
        command += ["-e", f"inject={inject}"] if inject else []
        with subprocess.Popen([*command, "-p", str(pid)], stderr=subprocess.PIPE, text=True) as strace:
            assert strace.stderr is not None
            attached = strace.stderr.readline()
            os.kill(pid, GO)
            ended = self.wait(pid)
        assert "attached" in attached, attached
        return Ended(ended.status, ended.said, self._log.read_text(encoding="utf-8", errors="replace"))

    def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the nursery has ended; its standard error says why"
        return cast("dict[str, Any]", json.loads(line))


def main(url: str, folder: str) -> None:
    """Warm up with one run, then do what is ordered until there are no more orders."""
    import lives

    signal.pthread_sigmask(signal.SIG_BLOCK, {GO})
    lives.warm_up(url, Path(folder))
    ears: dict[int, socket.socket] = {}
    print("{}", flush=True)  # noqa: T201 this is how it answers
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            _, status = os.waitpid(order["wait"], 0)
            answer = {"status": os.waitstatus_to_exitcode(status), "said": _heard(ears.pop(order["wait"]))}
        else:
            ear, mouth = socket.socketpair()
            pid = os.fork()
            if not pid:
                try:
                    _child(order, mouth)
                finally:  # also when a signal hits it on its way out
                    os._exit(BROKEN)
            mouth.close()
            ears[pid] = ear
            answer = {"pid": pid}
        print(json.dumps(answer), flush=True)  # noqa: T201


def _heard(ear: socket.socket) -> list[Any]:
    with ear, ear.makefile("rb") as lines:
        return [json.loads(line) for line in lines if line.endswith(b"\n")]


def _child(order: dict[str, Any], mouth: socket.socket) -> None:
    """Do one task. What it says goes through a socket, so that it is no `write` that strace would count."""
    import lives

    status = BROKEN
    try:
        signal.sigwait({GO})
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {GO})
        for word in lives.TASKS[order["task"]](**order["options"]):
            mouth.sendall(json.dumps(word).encode() + b"\n")
        status = 0
    except BaseException:  # noqa: BLE001 the test reads it: nothing else would tell
        mouth.sendall(json.dumps(traceback.format_exc()).encode() + b"\n")
    finally:
        os._exit(status)


if __name__ == "__main__":
    main(*sys.argv[1:])
