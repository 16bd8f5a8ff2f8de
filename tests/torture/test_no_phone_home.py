"""With the environment as it comes, nothing but the model's own server is looked up or called."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from micro_agent.testing import ModelServer, text

pytestmark = pytest.mark.torture  # a process and an import of LiteLLM each: too slow for every change

ROOT = Path(__file__).parents[2]
PLAY = Path(__file__).with_name("play_no_phone_home.py")


def hosts(provider: str, url: str, models: list[str], home: Path) -> set[str]:
    """What a child process with nothing in its environment looked up and called."""
    kept = {key: value for key, value in os.environ.items() if key == "PATH" or key.startswith("COV")}
    done = subprocess.run(
        [sys.executable, str(PLAY), provider, url, *models],
        env={**kept, "HOME": str(home), "PYTHONPATH": str(ROOT)},
        cwd=home, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout)) - {"process uname"}  # platform.processor(), in the SDK that LiteLLM uses


@pytest.mark.parametrize(
    ("provider", "api", "models"),
    [
        ("openai", "/v1", ["gpt-4o-mini", "no-such-model"]),
        ("", "/v1", ["gpt-4o-mini"]),
        ("ollama", "", ["scripted"]),
        ("litellm", "/v1", ["openai/gpt-4o-mini", "openai/no-such-model"]),
    ],
)
def test_only_the_models_server_is_called(provider: str, api: str, models: list[str], tmp_path: Path) -> None:
    with ModelServer([text("4")], repeat=True) as server:
        seen = hosts(provider, server.url + api, models, tmp_path)
        assert seen == {server.url.removeprefix("http://")}
        assert len(server.chats) == 2 * len(models)


def test_the_mock_calls_nobody(tmp_path: Path) -> None:
    assert hosts("mock", "", [""], tmp_path) == set()


def test_a_lookup_would_be_seen(tmp_path: Path) -> None:
    with ModelServer([text("4")], repeat=True) as server:
        url = server.openai_url.replace("127.0.0.1", "localhost")
        assert any(host.startswith("localhost:") for host in hosts("openai", url, ["m"], tmp_path))
