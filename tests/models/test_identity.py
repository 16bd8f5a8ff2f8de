# pyright: reportUnknownMemberType=false
"""What is known of a model: provider, mode, and the model that a run goes on with."""

import dspy
import pytest

from micro_agent import Run, configure_lm
from micro_agent.errors import ConfigurationError
from micro_agent.models.identity import Wanted, mode_of, provider_of, traits_of
from micro_agent.models.recorded import model_of
from micro_agent.models.settings import load_settings
from micro_agent.run import Mode
from micro_agent.testing import ModelServer, ScriptedLM


def test_a_model_of_ours_says_its_provider() -> None:
    assert provider_of(configure_lm("openai", "x", "http://127.0.0.1:1/v1")) == "openai"
    assert provider_of(ScriptedLM([])) == "scripted"


@pytest.mark.parametrize(
    ("name", "provider", "mode"),
    [
        ("openai/anything", "openai", "native"),
        ("gpt-4o-mini", "openai", "native"),
        ("ollama_chat/llama3.2:1b", "ollama_chat", "json"),
    ],
)
def test_any_other_is_read_from_its_name(name: str, provider: str, mode: Mode) -> None:
    lm = dspy.LM(name, api_key="x")
    assert (provider_of(lm), mode_of(lm)) == (provider, mode)


@pytest.mark.parametrize("wanted", ["native", "json"])
def test_the_mode_that_is_asked_for_wins(wanted: Wanted) -> None:
    lm = ScriptedLM([], mode="json" if wanted == "native" else "native")
    traits_of(lm).refuses_tools = True
    assert mode_of(lm, wanted) == wanted


def test_auto_is_what_the_engine_says_until_tools_were_refused() -> None:
    lm = ScriptedLM([])
    assert (mode_of(lm), mode_of(ScriptedLM([], mode="json"))) == ("native", "json")
    traits_of(lm).refuses_tools = True
    assert mode_of(lm.copy()) == "json"


def test_what_was_found_out_is_shared_by_copies_also_without_an_engine_of_ours() -> None:
    lm = dspy.LM("openai/anything", api_key="x")
    assert not traits_of(lm).refuses_tools
    traits_of(lm.copy(temperature=1.0)).refuses_tools = True
    assert mode_of(lm) == "json"
    assert mode_of(dspy.LM("openai/anything", api_key="x")) == "native"


def test_a_run_goes_on_with_the_model_and_server_it_began_with() -> None:
    with ModelServer(models=["m:1b"]) as server, ModelServer(models=["m:1b"]) as other:
        run = Run(question="?", provider="ollama", model="ollama/m:1b", base_url=server.url)
        lm = model_of(run, load_settings())
        assert (lm.model, lm.engine.base_url) == ("ollama/m:1b", server.url)
        assert model_of(run, load_settings(), base_url=other.url).engine.base_url == other.url


def test_a_name_of_litellm_stays_whole() -> None:
    run = Run(question="?", provider="litellm", model="groq/x/y")
    assert model_of(run, load_settings()).model == "groq/x/y"


@pytest.mark.parametrize(("provider", "model"), [("scripted", "scripted"), (None, None), ("openai", None)])
def test_a_model_that_nobody_can_make_again_is_said(provider: str | None, model: str | None) -> None:
    run = Run(question="?", provider=provider, model=model)
    with pytest.raises(ConfigurationError, match=f"run {run.id} used the model {model}"):
        model_of(run, load_settings())


def test_a_server_that_is_gone_is_no_reason_for_another_model() -> None:
    run = Run(question="?", provider="ollama", model="ollama/m", base_url="http://127.0.0.1:9")
    with pytest.raises(ConfigurationError, match="no Ollama answers"):
        model_of(run, load_settings())
