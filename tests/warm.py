"""Runs Python in processes forked from one that has imported what it needs: that saves each of them a second.

Each is a process with a directory, an environment and streams of its own, is sent signals and ends as any other does.
What belongs to the start itself (what is imported, the installed script, the locale) is tested where Python is started.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 1 << 17
"""Bytes of a command with its environment."""
SCRIPT = """\
#!{python} -IS
import _signal, _socket, array, os, sys
from _json import encode_basestring_ascii as text
# What `Process` does, with what costs nothing to import: a page of the docs runs it ten times.
command = ", ".join(map(text, [*{command!r}, *sys.argv[1:]]))
environment = ", ".join(text(name) + ": " + text(value) for name, value in os.environ.items())
request = '{{"command": [%s], "directory": %s, "environment": {{%s}}, "fresh": false}}'
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
server.connect({address!r})
streams = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
server.sendmsg([(request % (command, text(os.getcwd()), environment)).encode()], streams)
pid = int(server.recv(99))
_signal.signal({terminate}, lambda number, frame: os.kill(pid, number))
sys.exit(int(server.recv(99)) % 256)
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
            known = {"python": sys.executable, "address": self.address, "command": command}
            script.write_text(SCRIPT.format(terminate=int(signal.SIGTERM), **known))
            script.chmod(0o755)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(self.address)
            listening.listen()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forking", str(listening.fileno())],
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
