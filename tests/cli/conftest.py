"""The command line: as a user meets it, in a process and an empty directory of its own; or in this process, quickly."""

import json
import logging
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from micro_agent.cli import main
from tests.warm import Process, Warm, empty_environment

Command = Callable[..., "Done"]
USUAL: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}

PLUGIN = """
import time
from pathlib import Path
from micro_agent import Tool

def delete(path):
    with open("deleted.txt", "a") as file:
        print(path, file=file)
    return {"deleted": path}

def wait(seconds):
    Path("waiting").touch()
    time.sleep(seconds)
    return "waited"

def schema(name, kind):
    return {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}

TOOLS = {
    "delete": Tool("delete", "Delete a file.", schema("path", "string"), delete, requires_confirmation=True),
    "wait": Tool("wait", "Wait.", schema("seconds", "number"), wait),
}
"""


@dataclass
class Done:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def record(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


@dataclass
class Cli:
    """Runs ``micro-agent`` in a directory of its own."""

    directory: Path
    warm: Warm

    def start(self, *args: str, env: dict[str, str] | None = None, **streams: Any) -> Process:
        """A running one, forked; it has no input, and pipes for its output, unless ``streams`` say otherwise."""
        command = ["-m", "micro_agent", *args]
        return self.warm.start(*command, cwd=self.directory, env=self.environment(env), **{**USUAL, **streams})

    def start_python(self, *args: str, env: dict[str, str] | None = None, **options: Any) -> "subprocess.Popen[bytes]":
        """A running Python of its own, where its start is what is tested; ``options`` are those of `subprocess`."""
        command = [sys.executable, "-m", "micro_agent", *args]
        options = {**USUAL, **options}
        return subprocess.Popen[bytes](command, cwd=self.directory, env=self.environment(env), **options)

    def __call__(
        self, *args: str, stdin: str | bytes | IO[Any] | socket.socket = "", env: dict[str, str] | None = None
    ) -> Done:
        """Run it to its end, in a process that is forked and not started anew."""
        with ExitStack() as opened:
            if isinstance(stdin, str | bytes):
                source, sink = (
                    opened.enter_context(open(end, mode)) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True)
                )
                threading.Thread(
                    target=feed, args=(sink, stdin if isinstance(stdin, bytes) else stdin.encode())
                ).start()
                stdin = source
            out, err = (opened.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            process = self.start(*args, env=env, stdin=stdin, stdout=out, stderr=err)
            try:
                code = process.wait(60)
            finally:
                process.kill()
            for stream in (out, err):
                stream.seek(0)
            return Done(code, out.read().decode(), err.read().decode())

    def end(self, process: "Process | subprocess.Popen[bytes]", stdin: bytes = b"") -> Done:
        """Wait for the end of a process."""
        out, err = process.communicate(stdin, timeout=60)
        return Done(process.wait(), (out or b"").decode(), (err or b"").decode())

    def environment(self, more: dict[str, str] | None = None) -> dict[str, str]:
        """That of the test's directory, with more. A script's next reply is the next decision's."""
        return empty_environment(self.directory) | {"RESAMPLES": "0"} | (more or {})

    def trace(self, index: int = -1) -> Any:
        """A record of the only run on disk."""
        (path,) = (self.directory / "traces").glob("*.jsonl")
        return json.loads(path.read_text().splitlines()[index])

    @property
    def plugin(self) -> dict[str, str]:
        """The environment in which there are the tools ``delete`` (to be confirmed) and ``wait``."""
        (self.directory / "plugin.py").write_text(PLUGIN)
        return {"TOOLS_MODULES": "plugin"}


def feed(pipe: IO[bytes], data: bytes) -> None:
    """Write all of it, unless nobody reads."""
    with suppress(BrokenPipeError), pipe:
        pipe.write(data)


@pytest.fixture
def cli(tmp_path: Path, warm: Warm) -> Cli:
    """The command line, in the test's temporary directory."""
    return Cli(tmp_path, warm)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """The command line in this process, in a directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    log = logging.getLogger("micro_agent")
    before, factory = (log.handlers, log.level, log.propagate), logging.getLogRecordFactory()
    for module in (sys, threading):
        monkeypatch.setattr(module, "excepthook", module.excepthook)  # put back at the end

    def command(*args: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["micro-agent", *args])
        code: Any = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    yield command
    log.handlers, log.level, log.propagate = before
    logging.setLogRecordFactory(factory)


@pytest.fixture
def soon() -> Callable[[Callable[[], object]], None]:
    """Waits until something is so, half a minute at most."""

    def soon(condition: Callable[[], object]) -> None:
        end = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < end, "it has not come to that"
            time.sleep(0.02)

    return soon


@pytest.fixture
def run_id() -> Callable[[str], str]:
    """Finds the id of a run in what was printed."""

    def run_id(text: str) -> str:
        found = re.search(r"[0-9a-f]{32}", text)
        assert found is not None, text
        return found[0]

    return run_id
