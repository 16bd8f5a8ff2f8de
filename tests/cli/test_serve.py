"""`micro-agent serve` as a process: it serves, ends with a signal, and what it left is resumed."""

import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from micro_agent.cli import app
from micro_agent.errors import ConfigurationError
from micro_agent.testing import ModelServer, hang, text

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

Soon = Callable[[Callable[[], object]], None]


@contextmanager
def serving(cli: "Cli", model: ModelServer, *options: str) -> Generator[tuple[Any, str]]:
    """A server's process that asks this model, and its address."""
    args = ["--provider", "openai", "--base-url", model.openai_url, "--model", "scripted", "--port", "0"]
    process = cli.start("serve", *args, *options)
    assert process.stderr is not None
    line = process.stderr.readline().decode()
    found = re.fullmatch(r"micro-agent listens on (http://127\.0\.0\.1:\d+)\n", line)
    try:
        assert found is not None, line + process.stderr.read().decode()
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


def posted(url: str) -> tuple[int | None, Any]:
    try:
        answer = httpx.post(f"{url}/ask", json={"question": "Who are you?"}, trust_env=False, timeout=60)
    except httpx.TransportError:
        return None, None
    return answer.status_code, answer.json()


def test_a_run_under_way_at_the_end_is_resumed_from_the_command_line(cli: "Cli", soon: Soon) -> None:
    with (
        ModelServer([hang(60), text("A scripted one.")]) as model,
        serving(cli, model, "--grace", "0.1") as (process, url),
        ThreadPoolExecutor(1) as threads,
    ):
        asking = threads.submit(posted, url)
        soon(lambda: model.chats)
        process.send_signal(signal.SIGTERM)
        status, told = asking.result()
        done = cli.end(process)
        assert (done.code, status, told["error"]["code"]) == (0, 503, "shutting_down")
        (run_id,) = re.findall(r"micro-agent resume ([0-9a-f]{32})", told["error"]["message"])
        resumed = cli("resume", run_id)
        assert (resumed.code, resumed.out) == (0, "A scripted one.\n")
    assert cli.trace()["id"] == run_id


def test_a_second_signal_ends_at_once_and_loses_no_run(cli: "Cli", soon: Soon) -> None:
    with (
        ModelServer([hang(60)]) as model,
        serving(cli, model, "--grace", "50") as (process, url),
        ThreadPoolExecutor(1) as threads,
    ):
        asking = threads.submit(posted, url)
        soon(lambda: model.chats)
        process.send_signal(signal.SIGTERM)
        assert process.stderr.readline() == b"ending: 1 under way, 50 s for them; a second signal ends at once\n"
        process.send_signal(signal.SIGTERM)
        assert cli.end(process).code == -signal.SIGTERM
        assert asking.result() == (None, None)
    assert len(list((cli.directory / ".local/state/micro-agent/runs").glob("*.journal"))) == 1


def test_options_and_environment_reach_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MICRO_AGENT_API_TOKEN", "a-token-of-some-length")
    monkeypatch.setenv("MICRO_AGENT_MAX_RUNNING", "3")
    monkeypatch.setenv("MICRO_AGENT_MAX_BYTES", "5000")
    monkeypatch.setenv("USE_TOOL_CALLS", "0")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    answers: list[Any] = []

    def visit() -> None:
        transport = httpx.HTTPTransport(retries=8)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", transport=transport, timeout=30) as client:
            try:
                answers.append(client.get("/health").json())
                answers.append(client.post("/ask", json={"question": "What is 2*8?"}).status_code)
                token = {"Authorization": "Bearer a-token-of-some-length"}
                answers.append(client.post("/ask", json={"question": "What is 2*8?"}, headers=token).json())
                page = {"Origin": "http://localhost:5173", "Sec-Fetch-Site": "same-site"}
                answers.append(client.get("/version", headers={**token, **page}).status_code)
            finally:
                os.kill(os.getpid(), signal.SIGINT)

    visitor = threading.Thread(target=visit)
    visitor.start()
    args = ["serve", "--port", str(port), "--provider", "mock", "--max-steps", "4", "--traces-dir", "kept"]
    args += ["--allow-loopback-origins", "--max-connections", "20"]
    assert app(args, standalone_mode=False) is None
    visitor.join()
    health, refused, answer, from_a_page = answers
    assert from_a_page == 200
    assert (health["provider"], health["max_running"], refused) == ("mock", 3, 401)
    assert answer["answer"] == "The answer is 16."
    (trace,) = (tmp_path / "kept").glob("*.jsonl")
    assert '"mode":"json"' in trace.read_text().replace('": "', '":"')
    assert '"max_steps":4' in trace.read_text().replace(": ", ":")
    assert '"max_bytes":5000' in trace.read_text().replace(": ", ":")
    said = capfd.readouterr().err
    assert f"micro-agent listens on http://127.0.0.1:{port}" in said
    assert "a-token-of-some-length" not in said


def test_without_its_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(
        ConfigurationError, match=r"uvicorn is not installed: install the extra, with pip install '\.\[server\]' in"
    ):
        app(["serve"], standalone_mode=False)
