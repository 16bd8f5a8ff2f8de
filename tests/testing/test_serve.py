"""``python -m micro_agent.testing.serve`` as a subprocess."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from micro_agent.testing import ModelServer
from tests.warm import Process, Warm


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.json"
    path.write_text(json.dumps([{"call": {"name": "add", "args": {"a": 1, "b": 2}}}, {"text": "3"}]))
    return path


COMMAND = ("-m", "micro_agent.testing.serve")


@contextmanager
def serving(warm: Warm, *options: str | Path, stdin: int) -> Generator[tuple[Process, str]]:
    """The running process and the URL that it printed."""
    with warm.start(*COMMAND, *options, stdin=stdin, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().decode().strip()


def test_it_serves_the_script_until_its_stdin_is_closed(script: Path, post: Any, warm: Warm):
    with serving(warm, "--script", script, stdin=subprocess.PIPE) as (process, url):
        _, _, body = post(f"{url}/v1/chat/completions")
        assert json.loads(body)["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "add"
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(20) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_as_a_background_job_until_it_is_ended(script: Path, post: Any, warm: Warm, number: signal.Signals):
    with serving(warm, "--script", script, "--repeat", "--model", "m1", stdin=subprocess.DEVNULL) as (process, url):
        assert [post(f"{url}/v1/chat/completions")[0] for _ in range(3)] == [200, 200, 200]
        process.send_signal(number)
        assert process.wait(20) == 0


def test_it_serves_in_a_terminal_until_end_of_file(script: Path, post: Any, warm: Warm):
    ours, theirs = pty.openpty()
    with serving(warm, "--script", script, stdin=theirs) as (process, url):
        assert post(f"{url}/v1/chat/completions")[0] == 200
        os.write(ours, b"\x04")
        assert process.wait(20) == 0
    os.close(ours)
    os.close(theirs)


def test_a_wrong_script_and_a_port_in_use_are_one_line_and_exit_2(script: Path, tmp_path: Path, warm: Warm):
    with ModelServer() as server:
        port = server.url.rpartition(":")[2]
        for options in (["--script", tmp_path / "none.json"], ["--script", script, "--port", port]):
            done = warm.run(*COMMAND, *options, timeout=60)
            assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
