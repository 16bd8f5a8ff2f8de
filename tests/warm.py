"""Runs `micro-agent` in processes forked from one that has imported it: that saves each of them a second.

Each is a process with a directory, an environment and streams of its own, and ends as any other does. What belongs to
the start itself (what is imported, the installed script, the locale) is tested where Python is started.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 1 << 17
"""Bytes of a command with its environment."""
SCRIPT = """\
#!{python} -IS
import os, sys
sys.path.append({root!r})
from tests.warm import run
sys.exit(run({address!r}, sys.argv[1:], os.getcwd(), os.environ, [0, 1, 2]) % 256)
"""


def empty_environment(home: Path) -> dict[str, str]:
    """No setting of whoever runs the tests, but what coverage needs to measure processes."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    return {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), **kept}


class Warm:
    """The process that commands are forked from."""

    def __init__(self, home: Path) -> None:
        self.address = str(home / "commands")
        """The path of its socket."""
        self.scripts = home / "bin"
        """The directory of a script `micro-agent` that runs there."""
        self.scripts.mkdir()
        script = self.scripts / "micro-agent"
        script.write_text(SCRIPT.format(python=sys.executable, root=str(ROOT), address=self.address))
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


def run(
    address: str, args: Sequence[str], directory: str, environment: Mapping[str, str], streams: Sequence[int],
    timeout_s: float | None = None,
) -> int:  # fmt: skip
    """Run a command on these three streams, to its end.

    Returns:
        Its exit code, as `subprocess` gives it.

    Raises:
        subprocess.TimeoutExpired: It did not end in time and was killed.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(address)
        request = {"args": list(args), "directory": directory, "environment": dict(environment)}
        socket.send_fds(server, [json.dumps(request).encode()], streams)
        pid = int(server.recv(LONGEST))
        server.settimeout(timeout_s)
        try:
            return os.waitstatus_to_exitcode(int(server.recv(LONGEST)))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(args, timeout_s or 0) from None


def become_a_command(listening: socket.socket) -> None:
    """Fork for every request; return in the process that is to run it."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who waits for a command is not waited for
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
            client.send(b"%d" % os.waitpid(pid, 0)[1])
            os._exit(0)
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
            os.close(descriptor)
        client.close()
        listening.close()
        request = json.loads(data)
        os.chdir(request["directory"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.argv[1:] = request["args"]
        sys.path[0] = request["directory"]  # as `python -m` has it
        return


def main() -> None:
    """Import everything, then run what is asked for."""
    import gc
    import importlib
    import io
    import pkgutil

    import micro_agent
    from micro_agent.cli import main

    importlib.import_module("dspy")  # what takes the time
    for module in pkgutil.walk_packages(micro_agent.__path__, "micro_agent."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.freeze()
    become_a_command(socket.socket(fileno=int(sys.argv[1])))
    sys.stdin, sys.stdout, sys.stderr = (  # as the interpreter makes them when it starts
        io.TextIOWrapper(os.fdopen(number, mode, closefd=False), "utf-8", errors, line_buffering=lines)
        for number, mode, errors, lines in (
            (0, "rb", "strict", False), (1, "wb", "strict", os.isatty(1)), (2, "wb", "backslashreplace", True)
        )
    )  # fmt: skip
    main()


if __name__ == "__main__":
    main()
