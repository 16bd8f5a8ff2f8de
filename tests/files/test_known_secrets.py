"""Secrets that come otherwise than by the environment: none is written, and what is shown again is the same one."""

import json
import logging
from pathlib import Path

import dspy
import pytest
from pydantic import SecretStr

from micro_agent import MicroAgent, Tool, configure_lm
from micro_agent.files.known_secrets import given, is_secret, remember, remember_file, remember_model
from micro_agent.files.masking import mask_of
from micro_agent.models.litellm import LiteLLMEngine
from micro_agent.models.settings import Settings, load_settings
from micro_agent.run import LMCall, Run, Step, Usage
from micro_agent.server.settings import ServerSettings
from micro_agent.testing import ModelServer, call, text
from micro_agent.traces import TraceStore

KEY = "sk-canary-0123456789"


def masked(value: str) -> str:
    return mask_of({}).text(value)


def test_every_variable_of_a_dotenv_file_that_is_named_like_a_secret_counts(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text(f"ANTHROPIC_API_KEY={KEY}\nexport DB_PASSWORD='open sesame'\nPLAIN=not-a-secret\nEMPTY_KEY\n")
    assert load_settings(env_file=str(path)).openai_api_key is None
    assert masked(f"{KEY}, open sesame, not-a-secret") == "[env:ANTHROPIC_API_KEY], [env:DB_PASSWORD], not-a-secret"
    remember_file(tmp_path / "none")
    remember_file(None)


def test_settings_arguments_and_headers_count(tmp_path: Path) -> None:
    Settings(openai_api_key=SecretStr("sk-of-a-setting"))
    ServerSettings(api_token=SecretStr("token-of-the-server"))
    configure_lm("openai", "m", "http://127.0.0.1:9/v1", "sk-of-an-argument", fallback=False)
    LiteLLMEngine(model="x/y", api_key="sk-of-litellm")
    headers = {"Authorization": "Bearer header-credential", "X-Trace": "trace-value-1"}
    MicroAgent(tools=[], lm=dspy.LM("openai/m", api_key="sk-of-dspy", extra_headers=headers))
    assert masked("sk-of-a-setting token-of-the-server") == "[env:OPENAI_API_KEY] [env:MICRO_AGENT_API_TOKEN]"
    told = masked("sk-of-an-argument sk-of-litellm sk-of-dspy Bearer header-credential header-credential trace-value-1")
    assert [part.split(":")[:2] for part in told.split()[:3]] == [["[secret", "api_key"]] * 3
    assert [part.split(":")[1] for part in told.split()[3:5]] == ["Authorization", "Authorization"]
    assert told.endswith(" trace-value-1")


def test_what_is_remembered_twice_is_known_once_and_a_name_is_that_of_the_latest_value() -> None:
    remember("api_key", None)
    remember("api_key", "")
    for value in ("first-value", "other-value", "first-value", "first-value"):
        remember("A_KEY", value, variable=True)
        remember("api_key", "of-no-variable")
    assert len(given()) == 3
    assert masked("first-value").startswith("[env:A_KEY]")
    assert masked("other-value").startswith("[secret:A_KEY:")
    assert mask_of({"A_KEY": "of-the-environment"}).text("first-value").startswith("[secret:A_KEY:")


def test_a_key_of_no_variable_comes_back_only_where_the_same_is_given_again(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []

    def send(text: str) -> str:
        """Send."""
        sent.append(text)
        return "sent"

    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    tool = Tool("send", "Send.", schema, send, requires_confirmation=True)

    def agent(server: ModelServer, key: str) -> MicroAgent:
        lm = configure_lm("openai", "scripted", server.openai_url, key, fallback=False)
        return MicroAgent(tools=[tool], lm=lm, rules=[], traces=store)

    with ModelServer([call("send", {"text": f"key {KEY}"}), text("Sent.")]) as server:
        run = agent(server, KEY).ask("Send it.")
        (journal,) = (store.state_dir / "runs").glob("*.journal")
        assert KEY not in journal.read_text() + store.path(run.id).read_text()
        assert json.loads(journal.read_text().splitlines()[1])["masked"] == [masked(KEY)[1:-1]]
        monkeypatch.setattr("micro_agent.files.known_secrets._given", ())  # another process
        agent(server, "sk-another-key")
        (listed,) = store.open_runs()
        assert "set [secret:api_key:" in str(listed.damage)
        again = agent(server, KEY)
        store.decide(run.id, "approve")
        assert again.resume(run.id).answer == "Sent."
    assert sent == [f"key {KEY}"]


def test_what_the_package_logs_shows_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    remember("api_key", KEY)
    logging.getLogger("micro_agent").warning("a tool failed: %s", KEY)
    assert caplog.records[-1].getMessage().startswith("a tool failed: [secret:api_key:")


def test_an_agent_remembers_the_key_of_the_model_that_it_finds(store: TraceStore) -> None:
    agent = MicroAgent(tools=[], rules=[], traces=store)
    with ModelServer([text(f"It is {KEY}.")]) as server:
        agent.lm = dspy.LM("openai/m", api_base=server.openai_url, api_key=KEY, cache=False)
        run = agent.ask("Which?")
    assert run.answer == f"It is {KEY}."
    assert KEY not in store.path(run.id).read_text()
    remember_model({"headers": {"X-Api-Key": KEY}, "timeout": 3})


def test_no_field_of_a_trace_is_taken_for_a_secret() -> None:
    fields = {name for kind in (Run, Step, LMCall, Usage) for name in kind.model_fields}
    assert [name for name in sorted(fields) if is_secret("MY_PASSWORD", name)] == []
