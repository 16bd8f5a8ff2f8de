"""``python -m micro_agent.testing.serve`` as a subprocess."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from micro_agent.testing import ModelServer


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.json"
    path.write_text(json.dumps([{"call": {"name": "add", "args": {"a": 1, "b": 2}}}, {"text": "3"}]))
    return path


def command(*options: str | Path) -> list[str]:
    return [sys.executable, "-m", "micro_agent.testing.serve", *map(str, options)]


@contextmanager
def serving(*options: str | Path, stdin: int) -> Generator[tuple[subprocess.Popen[str], str]]:
    """The running process and the URL that it printed."""
    with subprocess.Popen(command(*options), stdin=stdin, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()


def test_it_serves_the_script_until_its_stdin_is_closed(script: Path, post: Any):
    with serving("--script", script, stdin=subprocess.PIPE) as (process, url):
        _, _, body = post(f"{url}/v1/chat/completions")
        assert json.loads(body)["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "add"
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(20) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_as_a_background_job_until_it_is_ended(script: Path, post: Any, number: signal.Signals):
    with serving("--script", script, "--repeat", "--model", "m1", stdin=subprocess.DEVNULL) as (process, url):
        assert [post(f"{url}/v1/chat/completions")[0] for _ in range(3)] == [200, 200, 200]
        process.send_signal(number)
        assert process.wait(20) == 0


def test_it_serves_in_a_terminal_until_end_of_file(script: Path, post: Any):
    ours, theirs = pty.openpty()
    with serving("--script", script, stdin=theirs) as (process, url):
        assert post(f"{url}/v1/chat/completions")[0] == 200
        os.write(ours, b"\x04")
        assert process.wait(20) == 0
    os.close(ours)
    os.close(theirs)


def test_a_wrong_script_and_a_port_in_use_are_one_line_and_exit_2(script: Path, tmp_path: Path):
    with ModelServer() as server:
        port = server.url.rpartition(":")[2]
        for options in (["--script", tmp_path / "none.json"], ["--script", script, "--port", port]):
            done = subprocess.run(command(*options), capture_output=True, text=True, timeout=60)
            assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
