"""The command line: as a user meets it, in a process and an empty directory of its own; or in this process, quickly."""

import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from micro_agent.cli import main

Command = Callable[..., "Done"]
ROOT = Path(__file__).resolve().parents[2]

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

    def start(self, *args: str, env: dict[str, str] | None = None, **options: Any) -> "subprocess.Popen[bytes]":
        """The running process; it has no input, and pipes for its output, unless ``options`` say otherwise."""
        for stream, usual in (("stdin", subprocess.DEVNULL), ("stdout", subprocess.PIPE), ("stderr", subprocess.PIPE)):
            options.setdefault(stream, usual)
        command = [sys.executable, "-m", "micro_agent", *args]
        return subprocess.Popen[bytes](command, cwd=self.directory, env=self.environment(env), **options)

    def __call__(self, *args: str, stdin: str | bytes = "", env: dict[str, str] | None = None) -> Done:
        """Run it to its end."""
        return self.end(
            self.start(*args, env=env, stdin=subprocess.PIPE), stdin if isinstance(stdin, bytes) else stdin.encode()
        )

    def end(self, process: "subprocess.Popen[bytes]", stdin: bytes = b"") -> Done:
        """Wait for the end of a process."""
        out, err = process.communicate(stdin, timeout=60)
        return Done(process.returncode, (out or b"").decode(), (err or b"").decode())

    def environment(self, more: dict[str, str] | None = None) -> dict[str, str]:
        """No setting of whoever runs the tests, but what coverage needs to measure subprocesses."""
        kept = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        own = {"PATH": os.environ["PATH"], "HOME": str(self.directory), "PYTHONPATH": str(ROOT)}
        return {**own, **kept, **(more or {})}

    def trace(self, index: int = -1) -> Any:
        """A record of the only run on disk."""
        (path,) = (self.directory / "traces").glob("*.jsonl")
        return json.loads(path.read_text().splitlines()[index])

    @property
    def plugin(self) -> dict[str, str]:
        """The environment in which there are the tools ``delete`` (to be confirmed) and ``wait``."""
        (self.directory / "plugin.py").write_text(PLUGIN)
        return {"TOOLS_MODULES": "plugin"}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line, in the test's temporary directory."""
    return Cli(tmp_path)


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
