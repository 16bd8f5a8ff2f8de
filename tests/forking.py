"""The process that `tests.warm` forks others from: it imports everything, then does what it is asked for."""

import atexit
import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, cast

from tests.warm import LONGEST, ROOT

_MCP = ("micro_agent.mcp.", "micro_agent.doors.mcp")
"""What imports the SDK of MCP, which takes as long as all the rest."""


class Forking:
    """Forks for every request, and says to whoever asked when that process ended and how."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._running: dict[int, socket.socket] = {}
        self._ended: dict[socket.socket, int] = {}
        self._waiting = selectors.DefaultSelector()
        self._waiting.register(listening, selectors.EVENT_READ)

    def forked(self) -> dict[str, Any]:
        """Go on for ever; return a request in the process that is to do what it says."""
        wakes, woken = socket.socketpair()
        woken.setblocking(False)
        self._waiting.register(wakes, selectors.EVENT_READ)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
        while True:
            for key, _ in self._waiting.select():
                if key.fileobj is wakes:
                    wakes.recv(LONGEST)
                    self._tell()
                elif key.fileobj is not self._listening:
                    self._bury(cast("socket.socket", key.fileobj))
                elif (request := self._fork()) is not None:
                    wakes.close()
                    woken.close()
                    return request

    def _fork(self) -> dict[str, Any] | None:
        client, _ = self._listening.accept()
        data, streams, _, _ = socket.recv_fds(client, LONGEST, 3)
        if not data:  # whoever asked was killed meanwhile
            client.close()
            return None
        if any("mcp" in part for word in json.loads(data)["command"] for part in Path(word).parts[-2:]):
            import_mcp()
        if pid := os.fork():
            for descriptor in streams:
                os.close(descriptor)
            self._running[pid] = client
            with suppress(OSError):
                client.send(b"%d" % pid)
            return None
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._waiting.close()
        for ours in (self._listening, client, *self._running.values(), *self._ended):
            ours.close()
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
            os.close(descriptor)
        return json.loads(data)

    def _tell(self) -> None:
        for pid, client in list(self._running.items()):
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if ended is not None:
                del self._running[pid]
                self._ended[client] = pid
                self._waiting.register(client, selectors.EVENT_READ)
                with suppress(OSError):
                    client.send(b"%d" % (ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status))

    def _bury(self, client: socket.socket) -> None:
        """Whoever asked has closed it: until then no other process gets the pid, which may be signalled."""
        self._waiting.unregister(client)
        client.close()
        os.waitpid(self._ended.pop(client), 0)


@cache
def import_mcp() -> None:
    """Import what speaks MCP, before the first that wants it is forked."""
    import gc
    import importlib

    for name in ("micro_agent.mcp.tools", "micro_agent.mcp.http", "micro_agent.doors.mcp_server"):
        importlib.import_module(name)
    importlib.import_module("mcp.server.mcpserver")
    gc.freeze()


def become(request: Mapping[str, Any], path: Sequence[str]) -> None:
    """Take on the directory, the environment and the streams that Python would have if it were started there."""
    import io

    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    given = os.environ.get("PYTHONPATH", "")
    sys.path[:] = [request["directory"], *filter(None, given.split(os.pathsep)), *path]
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(os.fdopen(number, mode, closefd=False), "utf-8", errors, line_buffering=lines)
        for number, mode, errors, lines in (
            (0, "rb", "strict", False), (1, "wb", "strict", os.isatty(1)), (2, "wb", "backslashreplace", True)
        )
    )  # fmt: skip
    if request["fresh"]:
        for name in [name for name in sys.modules if name.partition(".")[0] == "micro_agent"]:
            del sys.modules[name]


def play(command: Sequence[str]) -> None:
    """Do what Python does with these words of a command line."""
    import runpy
    from types import ModuleType

    if command[0] == "-m":
        sys.argv = list(command[1:])
        sys.modules.pop(command[1], None)  # it runs anew as the main one
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    elif command[0] == "-c":
        sys.argv, sys.path[0] = ["-c", *command[2:]], ""
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(command[1], "<string>", "exec"), main.__dict__)
    else:
        sys.argv, sys.path[0] = list(command), str(Path(command[0]).resolve().parent)
        runpy.run_path(command[0], run_name="__main__")


def end(code: int) -> NoReturn:
    """End as Python does, but leave the modules as they are: to take them down takes as long as all the rest."""
    threading._shutdown()  # pyright: ignore - as multiprocessing does it
    atexit._run_exitfuncs()  # pyright: ignore
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 0xFF)
    sys.exit(code)  # what cannot be written is told by Python itself


def main() -> None:
    """Import everything, then run what is asked for."""
    import gc
    import importlib
    import pkgutil

    import micro_agent
    from micro_agent.cli import command
    from micro_agent.rules.required_tools import implied

    path = [*(folder for folder in sys.path[1:] if folder != str(ROOT)), str(ROOT)]  # it is installed from there
    importlib.import_module("dspy")  # what takes the time
    for module in pkgutil.walk_packages(micro_agent.__path__, "micro_agent."):
        if not module.name.endswith("__main__") and not module.name.startswith(_MCP):
            importlib.import_module(module.name)
    command()
    implied("What is 2+3?")  # it reads its words and weights when it is first asked
    gc.freeze()
    request = Forking(socket.socket(fileno=int(sys.argv[1]))).forked()
    become(request, path)
    code = 0
    try:
        play(request["command"])
    except SystemExit as leaving:
        if not isinstance(leaving.code, int | None):
            raise
        code = leaving.code or 0
    end(code)


if __name__ == "__main__":
    main()
