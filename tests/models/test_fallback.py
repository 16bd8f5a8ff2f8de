"""Which provider answers, and what is said when it is not the one asked for."""

import json
import socket
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from micro_agent.errors import ConfigurationError
from micro_agent.models.fallback import choose, named
from micro_agent.models.ollama_models import ollama_models
from micro_agent.models.settings import Provider, Settings
from micro_agent.models.target import Target, UnusableError, provider_named

NO_KEY = {"provider": "openai", "reason": "OPENAI_API_KEY is not set"}


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*map(str.upper, Settings.model_fields), "OLLAMA_API_BASE", "OLLAMA_BASE_URL"]:
        monkeypatch.delenv(name, raising=False)


@contextmanager
def serving(body: bytes, status: int = 200) -> Generator[str]:
    """A server that answers every GET with this; its base URL has a path, as behind a proxy."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/llm/api/tags"
            self.send_response(status if known else 404)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Stay quiet."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/llm"
        finally:
            server.shutdown()
            thread.join()


def tags(*names: str, **family: str) -> bytes:
    return json.dumps({"models": [{"name": n, "details": {"family": family.get(n, "llama")}} for n in names]}).encode()


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address that refuses connections."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


def chosen(asked: Target, settings: Settings, *, fallback: bool | None = None) -> tuple[Target, list[str]]:
    said: list[str] = []
    return choose(asked, settings, fallback=fallback, announce=said.append), said


def refused(asked: Target, settings: Settings, *, fallback: bool | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        chosen(asked, settings, fallback=fallback)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def at_home(url: str, **known: Any) -> Settings:
    """Settings that name nothing, as if ``url`` were Ollama's own address, which a test cannot count on."""
    settings = Settings.model_validate({"ollama_host": url, **known})
    settings.model_fields_set.discard("ollama_host")
    return settings


def test_openai_with_a_key_is_used_without_a_word() -> None:
    target, said = chosen(Target("openai"), Settings.model_validate({"openai_api_key": "sk-x"}))
    assert (target.provider, target.model, target.api_key, target.fallback_from, said) == (
        "openai", "gpt-4o-mini", "sk-x", (), [],
    )  # fmt: skip
    assert "sk-x" not in repr(target)


def test_arguments_win_over_settings() -> None:
    settings = Settings.model_validate({"openai_api_key": "sk-x", "openai_model": "a", "litellm_model": "b/c"})
    target, _ = chosen(Target("openai", "m", "http://box/v1/", "k"), settings)
    assert (target.model, target.base_url, target.api_key) == ("m", "http://box/v1", "k")
    target, _ = chosen(Target("litellm", "x/y", "http://box/", "k"), settings)
    assert target == Target("litellm", "x/y", "http://box", "k")
    assert chosen(Target("litellm"), settings)[0] == Target("litellm", "b/c")


# What names a provider


@pytest.mark.parametrize(
    ("asked", "settings", "provider"),
    [
        (Target("mock", "m", "http://box"), {"llm_provider": "openai"}, "mock"),
        (Target(base_url="http://box"), {"llm_provider": "ollama", "openai_base_url": "http://b/v1"}, "ollama"),
        (Target(base_url="http://box/v1"), {"ollama_host": "box", "ollama_model": "m"}, "openai"),
        (Target(), {"openai_base_url": "http://box/v1"}, "openai"),
        (Target(base_url=" "), {"ollama_host": "box", "ollama_model": "m"}, "ollama"),
        (Target(model="gpt-4o"), {"ollama_model": "m"}, "ollama"),
        (Target(), {"litellm_model": "a/b"}, "litellm"),
        (Target(model="gpt-4o"), {"openai_api_key": "k"}, "ollama"),
        (Target(api_key="k"), {"openai_api_key": "k", "openai_model": "gpt-4o"}, None),
    ],
)
def test_a_provider_is_named_by_itself_by_an_address_or_by_a_model(
    asked: Target, settings: dict[str, Any], provider: Provider | None
) -> None:
    assert named(asked, Settings.model_validate(settings)) == provider


def test_two_that_are_named_are_not_chosen_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_BASE", "http://gpu:11434")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://box/v1")
    assert refused(Target(), Settings()) == (
        "OLLAMA_API_BASE names ollama and OPENAI_BASE_URL names openai: say which with --provider or LLM_PROVIDER"
    )
    assert chosen(Target("openai"), Settings())[0].base_url == "http://box/v1"


# A named provider is never left


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        (Target("ollama"), {}),
        (Target("ollama", "llama3"), {}),
        (Target(), {}),
        (Target(), {"llm_provider": "ollama"}),
        (Target(), {"ollama_model": "llama3"}),
    ],
)
def test_a_named_ollama_that_is_down_is_an_error_although_there_is_a_key(
    asked: Target, known: dict[str, str], nowhere: str
) -> None:
    told = refused(asked, Settings.model_validate({"ollama_host": nowhere, "openai_api_key": "sk-x", **known}))
    assert told.startswith(f"no Ollama answers at {nowhere} (Connection refused): start it with `ollama serve`, or set")


def test_a_model_that_is_named_with_its_provider_is_asked_for_nowhere_else() -> None:
    with serving(tags("small:1b", "other:latest")) as url:
        settings = Settings.model_validate({"ollama_host": url, "openai_api_key": "sk-x"})
        assert refused(Target("ollama", "big:70b"), settings) == (
            f"Ollama at {url} has no model 'big:70b': run `ollama pull big:70b`, or use one of small:1b, other:latest"
        )
        mistyped = settings.model_copy(update={"ollama_model": "big:70b"})
        assert "`ollama pull big:70b`, or use one of small:1b" in refused(Target(), mistyped)


@pytest.mark.parametrize(
    ("provider", "told"), [("openai", ["OPENAI_API_KEY", "--provider ollama"]), ("litellm", ["LITELLM_MODEL"])]
)
@pytest.mark.parametrize("fallback", [None, False])
def test_each_named_provider_says_what_to_do(provider: Provider, told: list[str], fallback: bool | None) -> None:
    message = refused(Target(provider), Settings(), fallback=fallback)
    assert all(words in message for words in told)


@pytest.mark.parametrize("asked", [Target("openai", base_url="http://box/v1"), Target("openai"), Target()])
def test_a_compatible_server_needs_no_key(asked: Target) -> None:
    target, said = chosen(asked, Settings(openai_base_url="http://box/v1"))
    assert (target.provider, target.base_url, target.api_key, said) == ("openai", "http://box/v1", None, [])


@pytest.mark.parametrize("fallback", [True, False, None])
def test_the_mock_when_asked_for_is_no_fallback(fallback: bool | None) -> None:
    target, said = chosen(Target("mock"), Settings(), fallback=fallback)
    assert (target, len(said)) == (Target("mock", "rules"), 1)


# With a fall-back that is asked for


def test_without_a_key_ollama_is_next_with_its_own_model() -> None:
    with serving(tags("bge-embed", "minilm", "small:1b", "other", minilm="bert")) as url:
        target, said = chosen(Target("openai", "gpt-4o"), Settings(ollama_host=url), fallback=True)
    assert (target.provider, target.model, target.fallback_from) == ("ollama", "small:1b", (NO_KEY,))
    assert said == [
        "openai is not used: OPENAI_API_KEY is not set; trying ollama instead",
        f"OLLAMA_MODEL is not set: using small:1b, the first model that {url} lists",
        f"asking small:1b at {url}",
    ]


def test_from_ollama_openai_is_next_when_a_key_is_set(nowhere: str) -> None:
    settings = Settings.model_validate({"openai_api_key": "sk-x"})
    target, said = chosen(Target("ollama", "llama3", nowhere, "unused"), settings, fallback=True)
    assert (target.provider, target.model, target.api_key) == ("openai", "gpt-4o-mini", "sk-x")
    reason = f"no Ollama answers at {nowhere} (Connection refused)"
    assert target.fallback_from == ({"provider": "ollama", "reason": reason},)
    assert said == [
        f"ollama is not used: {reason}; trying openai instead", "asking gpt-4o-mini at https://api.openai.com/v1",
    ]  # fmt: skip


def test_from_litellm_the_whole_chain_is_tried(nowhere: str) -> None:
    target, _ = chosen(Target("litellm"), Settings(ollama_host=nowhere), fallback=True)
    assert [passed["provider"] for passed in target.fallback_from] == ["litellm", "ollama", "openai"]


# With nothing named


def test_ollama_is_first_although_there_is_a_key() -> None:
    with serving(tags("small:1b")) as url:
        for fallback in (None, True, False):
            settings = at_home(url, openai_api_key="sk-x", openai_model="gpt-4o")
            target, said = chosen(Target(), settings, fallback=fallback)
            assert (target, len(said)) == (Target("ollama", "small:1b", url), 1)


@pytest.mark.parametrize(("asked", "known"), [(Target(), {"openai_api_key": "sk-x"}), (Target(api_key="sk-x"), {})])
def test_openai_is_second_where_there_is_a_key(asked: Target, known: dict[str, str], nowhere: str) -> None:
    target, said = chosen(asked, at_home(nowhere, **known))
    assert (target.provider, target.model, target.api_key) == ("openai", "gpt-4o-mini", "sk-x")
    assert [passed["provider"] for passed in target.fallback_from] == ["ollama"]
    assert said[-1] == "asking gpt-4o-mini at https://api.openai.com/v1"


def test_without_anything_the_mock_is_last_and_says_so(nowhere: str) -> None:
    target, said = chosen(Target(), at_home(nowhere))
    assert (target.provider, [passed["provider"] for passed in target.fallback_from]) == ("mock", ["ollama", "openai"])
    assert [line.split()[0] for line in said] == ["ollama", "openai", "the"]
    assert "is not a model" in said[2]


def test_where_no_fall_back_is_wanted_it_is_ollama_or_an_error(nowhere: str) -> None:
    told = refused(Target(), at_home(nowhere, openai_api_key="sk-x"), fallback=False)
    assert "`ollama serve`" in told
    assert told.endswith(", or name another provider with --provider")


def test_a_model_without_a_provider_is_one_of_ollama_or_an_error() -> None:
    with serving(tags("small:1b")) as url:
        settings = at_home(url, openai_api_key="sk-x")
        assert chosen(Target(model="small:1b"), settings) == (Target("ollama", "small:1b", url), [])
        assert refused(Target(model="gpt-4o"), settings) == (
            f"Ollama at {url} has no model 'gpt-4o': run `ollama pull gpt-4o`, or use one of small:1b, "
            "or name another provider with --provider"
        )


# What Ollama has


@pytest.mark.parametrize("name", ["small:1b", "other", "other:latest"])
def test_a_model_that_ollama_has_is_taken(name: str) -> None:
    with serving(tags("small:1b", "other:latest")) as url:
        by_argument, _ = chosen(Target("ollama", name, url), Settings(), fallback=False)
        by_setting, _ = chosen(Target("ollama"), Settings(ollama_host=url, ollama_model=name), fallback=False)
    assert by_argument == by_setting == Target("ollama", name, url)


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (b'{"models": null}', 200, "has no model: get one"),
        (b'{"models": []}', 200, "has no model: get one"),
        (b"<html>", 200, "is not Ollama"),
        (b"[]", 200, "is not Ollama"),
        (b'{"models": [{"name": 1}]}', 200, "is not Ollama"),
        (b"{}", 503, "(HTTP 503)"),
    ],
)
def test_what_is_no_usable_ollama_is_told_apart(body: bytes, status: int, told: str) -> None:
    with serving(body, status) as url, pytest.raises(UnusableError) as caught:
        ollama_models(url, timeout_s=10)
    assert told in str(caught.value)


def test_a_model_without_details_is_listed() -> None:
    with serving(b'{"models": [{"name": "a"}, {"name": "b", "details": null}]}') as url:
        assert ollama_models(url, timeout_s=10) == ["a", "b"]


def test_an_ollama_that_hangs_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(UnusableError, match=r"no Ollama answers at .*(timed out|not within 0\.05 s)"):
            ollama_models(url, timeout_s=0.05)


def test_an_ollama_that_trickles_is_given_up_as_well() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def trickle() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):  # it hangs up in the end
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                for _ in range(100_000):
                    time.sleep(0.05)  # each byte comes in time for the socket, all of them never
                    connection.sendall(b" ")

        thread = Thread(target=trickle)
        thread.start()
        with pytest.raises(UnusableError, match=r"not within 0\.3 s"):
            ollama_models(f"http://127.0.0.1:{server.getsockname()[1]}", timeout_s=0.3)
        thread.join(30)
        assert not thread.is_alive()


def test_https_is_spoken_where_the_url_says_so() -> None:
    with serving(tags("a")) as url, pytest.raises(UnusableError, match="SSL"):
        ollama_models(url.replace("http://", "https://"), timeout_s=10)


@pytest.mark.parametrize("provider", ["openai", "ollama", "litellm"])
def test_an_address_that_is_none_is_refused_whatever_could_be_used_instead(provider: Provider) -> None:
    with pytest.raises(ConfigurationError, match="the base URL is 'ftp://box'"):
        chosen(Target(provider, "m", "ftp://box"), Settings())
    with pytest.raises(ConfigurationError, match="the base URL is not valid") as caught:
        chosen(Target(provider, "m", "http://me:hunter2@box"), Settings())
    assert "hunter2" not in str(caught.value)


def test_a_blank_address_counts_as_none() -> None:
    target, _ = chosen(Target("litellm", "a/b", " "), Settings())
    assert target.base_url is None


def test_a_provider_is_found_by_its_name_in_any_case() -> None:
    assert provider_named(" Ollama ") == "ollama"
    with pytest.raises(ConfigurationError, match="no provider 'bard': use one of openai, ollama, litellm, tiny, mock"):
        provider_named("bard")
