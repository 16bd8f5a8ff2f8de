"""Several servers have to have the same model: what they tell is compared before the first run."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from micro_agent import MicroAgent, configure_lm
from micro_agent.errors import ConfigurationError
from micro_agent.models.context_length import told_by
from micro_agent.models.identity import Served
from micro_agent.testing import ModelServer, text
from tests.each import each
from tests.models.several import held, listed

CPP = {"owned_by": "llamacpp"}


def props(template: str, length: int = 2048) -> dict[str, Any]:
    """What llama.cpp's ``/props`` answers."""
    return {"/props": {"default_generation_settings": {"n_ctx": length}, "chat_template": template}}


def weights(size: int) -> dict[str, Any]:
    return {"meta": {"n_params": 7, "size": size, "n_ctx": 2048}}


@each(
    ("one", "other", "says"),
    [
        (listed("qwen"), listed("llama"), "its name is qwen at {one} and llama at {other}"),
        (listed(max_model_len=4096), listed(max_model_len=2048), "its context in tokens is 4096 at {one} and 2048 at"),
        (listed(**CPP) | props("a" * 99), listed(**CPP) | props("b" * 99), "its chat template is "),
        (
            listed(**weights(5)),
            listed(**weights(6)),
            "its weights is n_params 7, size 5 at {one} and n_params 7,",
        ),
        (listed("qwen"), {"/v1/models": {"data": [{"id": "a"}, {"id": "b"}]}}, "its name is qwen at {one} and a, b at"),
    ],
)
def test_another_model_is_refused_with_both_addresses(
    one: Mapping[str, Any], other: Mapping[str, Any], says: str
) -> None:  # fmt: skip
    with held(one) as first, held(other) as second:
        with pytest.raises(ConfigurationError, match="the servers do not have the same model: ") as refused:
            configure_lm("openai", "m", [first.url, second.url])
        assert says.format(one=first.url, other=second.url) in str(refused.value)


@each(
    ("one", "other", "served"),
    [
        (listed(), listed(), Served("m")),
        ({}, {}, Served()),
        (listed(max_model_len=8), {}, Served("m", 8)),
        (
            listed("/a/b/qwen.gguf", **weights(5)), listed("C/other", **weights(5)),
            Served("qwen", 2048, "n_params 7, size 5"),
        ),
    ],
)  # fmt: skip
def test_what_does_not_contradict_is_taken_together(
    one: Mapping[str, Any], other: Mapping[str, Any], served: Served
) -> None:
    with held(one) as first, held(other) as second:
        assert told_by(configure_lm("openai", "m", [first.url, second.url])).served == served


def test_ollama_is_asked_for_the_model_on_each_server() -> None:
    with ExitStack() as open_:
        short = open_.enter_context(ModelServer(models=["m"], context_length=2048, strict_models=True))
        long = open_.enter_context(ModelServer(models=["m"], context_length=4096, strict_models=True))
        other = open_.enter_context(ModelServer(models=["n"], context_length=2048, strict_models=True))
        for there, says in (
            (long.url, "its context in tokens is 2048 at"),
            (other.url, "and no model of that name at"),
        ):
            with pytest.raises(ConfigurationError, match=says):
                configure_lm("ollama", "m", [short.url, there])
        said: list[str] = []
        lm: Any = configure_lm("ollama", None, ["127.0.0.1:9", short.url], announce=said.append)
        assert lm.model == "ollama/m"
        assert lm.engine.base_url == "http://127.0.0.1:9"
        assert said[0].startswith("OLLAMA_MODEL is not set: using m, the first model that " + short.url)
        assert said[1].startswith("http://127.0.0.1:9 is left out, and asked again later: it does not answer (")
        with pytest.raises(ConfigurationError, match="no Ollama answers at http://127"):
            configure_lm("ollama", "m", ["127.0.0.1:1", "127.0.0.1:9"])


@each(
    ("provider", "urls", "says"),
    [
        ("openai", ["http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/"], "http://127.0.0.1:9/v1 is named twice"),
        ("litellm", ["http://a/v1", "http://b/v1"], "litellm takes one base URL; several go with openai and ollama"),
        ("openai", ["http://a/v1", "ftp://b"], "the base URL is 'ftp://b'"),
    ],
)
def test_addresses_that_cannot_be_several_are_refused(provider: str, urls: list[str], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        configure_lm(provider, "m", urls)


def test_openais_own_server_is_not_asked() -> None:
    with held(listed("gpt-4o-mini")) as other:
        urls = ["https://api.openai.com/v1", other.url]
        lm: Any = configure_lm("openai", "gpt-4o-mini", urls, api_key="k", announce=lambda _: None)
        assert told_by(lm).length == told_by(configure_lm("openai", "gpt-4o-mini", urls[:1], api_key="k")).length
        assert lm.engine.answering == (urls[0], other.url)


def test_one_address_in_a_list_is_one_server() -> None:
    with ModelServer(lambda _: text("hello")) as server:
        for urls in ([server.openai_url], server.openai_url):
            lm: Any = configure_lm("openai", "m", urls)
            assert type(lm.engine).__name__ == "OpenAIEngine"
            run = MicroAgent([], lm, demos=[]).ask("Hello?")
            assert (run.answer, run.calls[0].server) == ("hello", None)
    nowhere: Any = configure_lm("openai", "m", [], api_key="k")
    assert nowhere.engine.base_url == "https://api.openai.com/v1"
