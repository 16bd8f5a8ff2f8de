"""Runs Python in processes forked from one that has imported what it needs: that saves each of them a second.

Each is a process with a directory, an environment and streams of its own, is sent signals and ends as any other does.
What belongs to the start itself (what is imported, the installed script, the locale) is tested where Python is started.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 1 << 17
"""Bytes of a command with its environment."""
SCRIPT = """\
#!{python} -IS
import signal, sys
sys.path.append({root!r})
from tests.warm import Process
process = Process({address!r}, [*{command!r}, *sys.argv[1:]])
signal.signal(signal.SIGTERM, lambda number, frame: process.send_signal(number))
sys.exit(process.wait() % 256)
"""


def empty_environment(home: Path) -> dict[str, str]:
    """No setting of whoever runs the tests, but what coverage needs to measure processes, and how NumPy computes."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("COVERAGE_", "OPENBLAS_"))}
    return {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), **kept}


class Process:
    """A process that was forked for us; it is used as a `subprocess.Popen` of bytes."""

    def __init__(
        self, address: str, command: Sequence[str], *, cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None, stdin: Any = None, stdout: Any = None, stderr: Any = None,
        fresh: bool = False,
    ) -> None:  # fmt: skip
        """Start it; `Warm.start` has the arguments."""
        self.args = list(command)
        self.returncode: int | None = None
        self.stdin: IO[bytes] | None = None
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        request = {
            "command": self.args, "directory": os.fspath(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env), "fresh": fresh,
        }  # fmt: skip
        self._ended, self._signalling = threading.Event(), threading.Lock()
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server.connect(address)
        with ExitStack() as theirs:
            streams = [self._theirs(*given, theirs) for given in enumerate((stdin, stdout, stderr))]
            socket.send_fds(self._server, [json.dumps(request).encode()], streams)
        self.pid = int(self._server.recv(LONGEST))
        threading.Thread(target=self._await_its_end, daemon=True).start()

    def _theirs(self, number: int, given: Any, theirs: ExitStack) -> int:
        """The descriptor that the process is to have as this one; what it gets a copy of is closed with `theirs`."""
        if given is None:
            return number
        if given == subprocess.DEVNULL:
            return theirs.enter_context(open(os.devnull, "r+b", buffering=0)).fileno()
        if given == subprocess.PIPE:
            reads, writes = os.pipe()
            ours, other = (writes, reads) if number == 0 else (reads, writes)
            setattr(self, ("stdin", "stdout", "stderr")[number], os.fdopen(ours, "wb" if number == 0 else "rb"))
            return theirs.enter_context(open(other, "rb" if number == 0 else "wb", buffering=0)).fileno()
        return given if isinstance(given, int) else given.fileno()

    def _await_its_end(self) -> None:
        try:
            with self._server:
                code = int(self._server.recv(LONGEST))
                with self._signalling:
                    self.returncode = code
        finally:
            self._ended.set()

    def poll(self) -> int | None:
        """Its exit code as `subprocess` gives it, ``None`` while it runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code at its end.

        Raises:
            subprocess.TimeoutExpired: That did not come within so many seconds.
        """
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        assert self.returncode is not None, "the process that it was forked from is gone"
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it this signal, unless it has ended."""
        with self._signalling:
            if self.returncode is None:
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Send it SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Send it SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def communicate(self, data: bytes = b"", timeout: float | None = None) -> tuple[bytes, bytes]:
        """Write this, read all that it says, and wait for its end; both outputs, empty where there is no pipe.

        Raises:
            subprocess.TimeoutExpired: It did not end within so many seconds.
        """
        said = [b"", b""]

        def read(at: int, stream: IO[bytes]) -> None:
            with stream:
                said[at] = stream.read()

        pipes = [(at, pipe) for at, pipe in enumerate((self.stdout, self.stderr)) if pipe and not pipe.closed]
        reading = [threading.Thread(target=read, args=pipe, daemon=True) for pipe in pipes]
        for thread in reading:
            thread.start()
        if self.stdin and not self.stdin.closed:
            with suppress(BrokenPipeError), self.stdin:
                self.stdin.write(data)
        self.wait(timeout)
        for thread in reading:
            thread.join(timeout)
        return said[0], said[1]

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *exception: object) -> None:
        for pipe in (self.stdout, self.stderr, self.stdin):
            if pipe is not None:
                pipe.close()
        self.wait()


class Warm:
    """The process that others are forked from."""

    def __init__(self, home: Path) -> None:
        self.address = str(home / "commands")
        """The path of its socket."""
        self.scripts = home / "bin"
        """The directory of scripts `micro-agent` and `python` that run there."""
        self.scripts.mkdir()
        for name, command in (("micro-agent", ["-m", "micro_agent"]), ("python", list[str]())):
            script = self.scripts / name
            known = {"python": sys.executable, "root": str(ROOT), "address": self.address, "command": command}
            script.write_text(SCRIPT.format(**known))
            script.chmod(0o755)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(self.address)
            listening.listen()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.warm", str(listening.fileno())],
                cwd=home, env=empty_environment(home), pass_fds=[listening.fileno()],
            )  # fmt: skip

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(60)

    def start(
        self, *command: str | Path, cwd: str | Path | None = None, env: Mapping[str, str] | None = None,
        stdin: Any = None, stdout: Any = None, stderr: Any = None, fresh: bool = False,
    ) -> Process:  # fmt: skip
        """A process that runs what stands behind ``python`` on a command line.

        Args:
            command: ``-m`` and a module, ``-c`` and code, or the path of a file; then what it is given.
            cwd: Its directory; ``None`` is this process's.
            env: Its environment; ``None`` is this process's.
            stdin: As `subprocess` takes it, as are ``stdout`` and ``stderr``.
            stdout: What it prints.
            stderr: What else it says.
            fresh: Whether it imports the package itself, so that it has nothing of it that it does not import.
        """
        return Process(
            self.address, [str(word) for word in command], cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr,
            fresh=fresh,
        )  # fmt: skip

    def run(
        self, *command: str | Path, cwd: str | Path | None = None, env: Mapping[str, str] | None = None,
        timeout: float = 120, fresh: bool = False,
    ) -> "subprocess.CompletedProcess[str]":  # fmt: skip
        """Run it to its end, without input; what it said.

        Raises:
            subprocess.TimeoutExpired: It did not end within so many seconds and was killed.
        """
        process = self.start(
            *command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            fresh=fresh,
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return subprocess.CompletedProcess(process.args, process.wait(), out.decode(), err.decode())


def forked(listening: socket.socket) -> dict[str, Any]:
    """Fork for every request; return it in the process that is to do what it says."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who waits for a process is not waited for
    while True:
        client, _ = listening.accept()
        if os.fork():
            client.close()
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        data, streams, _, _ = socket.recv_fds(client, LONGEST, 3)
        if pid := os.fork():
            for descriptor in streams:
                os.close(descriptor)
            client.send(b"%d" % pid)
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            assert ended is not None
            client.send(b"%d" % (ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status))
            client.recv(1)  # until whoever asked has closed it: no other process gets the pid while it may be signalled
            os.waitpid(pid, 0)
            os._exit(0)
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
            os.close(descriptor)
        client.close()
        listening.close()
        return json.loads(data)


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
    from micro_agent.rules.required_tools import implied

    path = [*(folder for folder in sys.path[1:] if folder != str(ROOT)), str(ROOT)]  # it is installed from there
    importlib.import_module("dspy")  # what takes the time
    for module in pkgutil.walk_packages(micro_agent.__path__, "micro_agent."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    implied("What is 2+3?")  # it reads its words and weights when it is first asked
    gc.freeze()
    request = forked(socket.socket(fileno=int(sys.argv[1])))
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
