"""Traces from elsewhere that name the server of somebody who waits for keys and questions: none arrives."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from micro_agent import MicroAgent, Run
from micro_agent.cli import app
from micro_agent.errors import ConfigurationError
from micro_agent.testing import ModelServer, text
from micro_agent.traces import TraceStore

pytestmark = pytest.mark.torture

KEYS = {name: f"sk-canary-of-{name.lower()}" for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY")}
SPELLINGS = [
    "http://127.0.0.1:{port}/v1", "http://127.0.0.1:{port}", "HTTP://127.0.0.1:{port}/v1", "http://localhost:{port}/v1",
    "http://0:{port}/v1", "http://127.1:{port}/v1", "http://2130706433:{port}/v1", "http://0x7f000001:{port}/v1",
    "http://[::ffff:127.0.0.1]:{port}/v1", "http://127\u30020\u30020\u30021:{port}/v1", " http://127.0.0.1:{port}/v1 ",
    "http://api.openai.com@127.0.0.1:{port}/v1", "https://api.openai.com\\@127.0.0.1:{port}/v1",
    "http://127.0.0.1:{port}\\@api.openai.com/v1", "http://127.0.0.1:{port}/v1?host=api.openai.com",
    "http://127.0.0.1:{port}#@api.openai.com/v1", "http://api.openai.com\t@127.0.0.1:{port}/v1",
    "http://127.0.0.1:{port}\n.api.openai.com/v1", "http://api.openai.com:443:{port}/v1", "//127.0.0.1:{port}/v1",
    "http:/127.0.0.1:{port}/v1", "127.0.0.1:{port}", "http://127.0.0.1:{port}/https://api.openai.com/v1",
]  # fmt: skip
MODELS = {"openai": "openai/gpt-4o-mini", "ollama": "ollama/scripted", "litellm": "groq/llama", "mock": "mock/rules"}


@pytest.fixture
def canary() -> Iterator[ModelServer]:
    """Who waits."""
    with ModelServer([text("Thank you.")], repeat=True) as server:
        yield server


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


def hostile(server: ModelServer) -> Iterator[Run]:
    """One run for each provider and spelling of the address."""
    for provider, model in MODELS.items():
        for spelling in SPELLINGS:
            url = spelling.format(port=server.url.rpartition(":")[2])
            yield Run(question="my private diary", provider=provider, model=model, base_url=url, mode="json")


def got(server: ModelServer) -> str:
    return repr(server.requests)


def test_forks_send_nothing_at_all(canary: ModelServer) -> None:
    tried = 0
    for run in hostile(canary):
        run.save("shared.jsonl")
        for more in ([], ["--model", "other"], ["--provider", str(run.provider)]):
            done = CliRunner().invoke(app, ["replay", "--path", "shared.jsonl", "--fork-at", "0", *more])
            assert isinstance(done.exception, ConfigurationError), (run.base_url, more)
            assert "\n" not in str(done.exception)
            tried += 1
    assert (tried, canary.requests) == (3 * len(MODELS) * len(SPELLINGS), [])


def test_resumed_runs_send_no_key(canary: ModelServer) -> None:
    store = TraceStore("traces", state_dir=Path("state"))
    for run in hostile(canary):
        store.start(run).close()
        CliRunner().invoke(app, ["resume", run.id])
        paused = run.model_copy(update={"status": "confirmation_required"})
        with suppress(ConfigurationError):
            MicroAgent(tools=[], rules=[]).resume(paused)
    assert canary.chats, "plain spellings do reach their server"
    assert [key for key in KEYS.values() if key in got(canary)] == []
    assert {request.headers.get("authorization") for request in canary.requests} == {None}
