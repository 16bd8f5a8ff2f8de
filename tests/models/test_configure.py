# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""`configure_lm`: the LM that comes out, what is said on the way, and what it refuses."""

import asyncio
import inspect
import os
import re
from pathlib import Path
from typing import Any

import dspy
import pytest

from micro_agent import configure_lm
from micro_agent.errors import ConfigurationError
from micro_agent.models.settings import Settings
from micro_agent.testing import ModelServer, text
from tests.warm import Warm


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*map(str.upper, Settings.model_fields), "OLLAMA_API_BASE", "OLLAMA_BASE_URL"]:
        monkeypatch.delenv(name, raising=False)


def engine(lm: dspy.LM) -> Any:
    return lm.engine


def body(server: ModelServer) -> dict[str, Any]:
    found = server.chats[-1].body
    assert found is not None
    return found


def test_openai_gets_model_key_and_sampling() -> None:
    with ModelServer([text("hello"), text("again")]) as server:
        lm = configure_lm("openai", "m", server.openai_url, "the-key", seed=3)
        assert lm("hi") == ["hello"]
        assert asyncio.run(lm.acall("hi")) == ["again"]
        assert (lm.model, engine(lm).default_mode, lm.num_retries, lm.cache) == ("openai/m", "native", 0, False)
        sent = body(server)
        assert (sent["model"], sent["temperature"], sent["seed"]) == ("m", 0.2, 3)
        assert server.chats[0].headers["authorization"] == "Bearer the-key"


def test_ollama_gets_context_and_keep_alive(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer([text("hello")], models=("small:1b", "big:7b")) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        monkeypatch.setenv("OLLAMA_NUM_CTX", "4096")
        monkeypatch.setenv("OLLAMA_KEEP_ALIVE", "300")
        monkeypatch.setenv("MAX_TOKENS", "77")
        lm = configure_lm("ollama", fallback=False)
        assert lm("hi") == ["hello"]
        assert (lm.model, engine(lm).default_mode) == ("ollama/small:1b", "json")
        sent = body(server)
        assert (sent["model"], sent["keep_alive"]) == ("small:1b", 300)
        assert (sent["options"]["num_ctx"], sent["options"]["num_predict"]) == (4096, 77)
    said = capsys.readouterr().err
    assert said == f"micro-agent: OLLAMA_MODEL is not set: using small:1b, the first model that {server.url} lists\n"


@pytest.mark.parametrize(("given", "sent"), [("10m", "10m"), ("-1", -1), ("", None)])
def test_keep_alive_is_a_number_where_it_has_no_unit(
    monkeypatch: pytest.MonkeyPatch, given: str, sent: str | int | None
) -> None:
    monkeypatch.setenv("OLLAMA_KEEP_ALIVE", given)
    with ModelServer() as server:
        assert engine(configure_lm("ollama", "scripted", server.url, fallback=False)).keep_alive == sent


def test_the_provider_and_the_fallback_stay_with_a_copy(capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(ollama_host="http://127.0.0.1:1")
    copied: Any = configure_lm(settings=settings, fallback=True).copy(temperature=1.0)
    assert copied.provider_name == "mock"
    assert [passed["provider"] for passed in copied.fallback_from] == ["ollama", "openai"]
    said = capsys.readouterr()
    assert [line.split()[:2] for line in said.err.splitlines()] == [
        ["micro-agent:", "ollama"], ["micro-agent:", "openai"], ["micro-agent:", "the"],
    ]  # fmt: skip
    assert said.out == ""


def test_what_is_said_can_be_taken() -> None:
    said: list[str] = []
    configure_lm("mock", announce=said.append)
    assert said == ["the mock provider is not a model: it follows rules and knows arithmetic and the time only"]


@pytest.mark.parametrize("allowed", [None, "0"])
def test_a_named_provider_is_not_left(monkeypatch: pytest.MonkeyPatch, allowed: str | None) -> None:
    """What was seen: a question meant for Ollama went to OpenAI, because a key was set."""
    if allowed is not None:
        monkeypatch.setenv("LLM_FALLBACK", allowed)
    with ModelServer([text("I know it all now.")]) as canary:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody")
        monkeypatch.setenv("OPENAI_BASE_URL", canary.openai_url)
        for model in (None, "llama9"):
            with pytest.raises(ConfigurationError, match=r"no Ollama answers at http://127\.0\.0\.1:1 "):
                configure_lm("ollama", model, "http://127.0.0.1:1")
        monkeypatch.setenv("OLLAMA_HOST", canary.url)
        with pytest.raises(ConfigurationError, match="`ollama pull llama9`, or use one of scripted"):
            configure_lm("ollama", "llama9")
        assert [request.path for request in canary.requests] == ["/api/tags"]


def test_a_fall_back_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody")
    said: list[str] = []
    lm: Any = configure_lm("ollama", base_url="http://127.0.0.1:1", fallback=True, announce=said.append)
    monkeypatch.setenv("LLM_FALLBACK", "1")
    again: Any = configure_lm("ollama", base_url="http://127.0.0.1:1", announce=said.append)
    assert (lm.provider_name, again.provider_name, len(said)) == ("openai", "openai", 4)


def test_the_provider_of_the_environment_is_the_one_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_PROVIDER", "mock")
    assert configure_lm(announce=list[str]().append).model == "mock/rules"
    assert configure_lm("litellm", "a/b").model == "a/b"


@pytest.mark.parametrize("model", ["gpt-5-mini", "o3"])
def test_a_reasoning_model_gets_no_sampling_settings_of_ours(model: str) -> None:
    kwargs = configure_lm("openai", model, api_key="k").kwargs
    assert (kwargs.get("temperature"), kwargs.get("max_tokens"), kwargs.get("max_completion_tokens")) == (
        None,
        None,
        None,
    )
    assert configure_lm("openai", model, api_key="k", temperature=1.0).kwargs["temperature"] == 1.0


def test_a_setting_that_a_reasoning_model_refuses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPERATURE", "0.7")
    with pytest.raises(ConfigurationError, match="reasoning models") as caught:
        configure_lm("openai", "gpt-5-mini", api_key="k")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"timeout": 3}, {"num_retries": -1}, {"model_type": "chat", "engine": "nothing"}])
def test_an_argument_that_dspy_refuses_is_said_in_a_line(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        configure_lm("mock", announce=list[str]().append, **wrong)


def test_nothing_is_configured_globally() -> None:
    configure_lm("mock", announce=list[str]().append)
    assert dspy.settings.lm is None


def test_an_lm_is_saved_and_loaded_without_its_key(tmp_path: Path) -> None:
    targets = [("mock", None, None), ("openai", "m", "http://127.0.0.1:9/v1"), ("litellm", "a/b", "http://127.0.0.1:9")]
    for provider, model, url in targets:
        lm = configure_lm(provider, model, url, "the-secret", announce=list[str]().append)
        state = lm.dump_state()
        assert "the-secret" not in str(state)
        loaded: Any = dspy.LM.load_state(state, allow_custom_lm_class=True)
        assert (type(loaded.engine), loaded.model) == (type(lm.engine), lm.model)
        assert loaded.dump_state() == state


def test_the_price_table_is_the_local_one_unless_the_user_says_otherwise(warm: Warm) -> None:
    code = "import os; from micro_agent import configure_lm; configure_lm('mock'); print(os.environ['LITELLM_LOCAL_MODEL_COST_MAP'])"  # noqa: E501
    environ = {key: value for key, value in os.environ.items() if key != "LITELLM_LOCAL_MODEL_COST_MAP"}
    done = warm.run("-c", code, env=environ, fresh=True)
    assert done.stdout == "True\n", done.stderr


def test_the_page_lists_every_parameter() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    section = page.partition("## In Python")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\**\w+=?)` \|", section, flags=re.MULTILINE)
    written = {"KEYWORD_ONLY": "{}=", "VAR_KEYWORD": "**{}"}
    parameters = inspect.signature(configure_lm).parameters.values()
    assert rows == [written.get(one.kind.name, "{}").format(one.name) for one in parameters]
