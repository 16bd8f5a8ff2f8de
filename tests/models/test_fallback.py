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
from micro_agent.models.fallback import Target, UnusableError, choose, ollama_models, provider_named
from micro_agent.models.settings import Provider, Settings

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


def chosen(asked: Target, settings: Settings, *, fallback: bool = True) -> tuple[Target, list[str]]:
    said: list[str] = []
    return choose(asked, settings, fallback=fallback, announce=said.append, probe_s=10), said


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


@pytest.mark.parametrize("asked", [Target("openai", base_url="http://box/v1"), Target("openai")])
def test_a_compatible_server_needs_no_key(asked: Target) -> None:
    target, said = chosen(asked, Settings(openai_base_url="http://box/v1"))
    assert (target.provider, target.base_url, target.api_key, said) == ("openai", "http://box/v1", None, [])


def test_without_a_key_ollama_is_next_with_its_own_model() -> None:
    with serving(tags("bge-embed", "minilm", "small:1b", "other", minilm="bert")) as url:
        target, said = chosen(Target("openai", "gpt-4o"), Settings(ollama_host=url))
    assert (target.provider, target.model, target.fallback_from) == ("ollama", "small:1b", (NO_KEY,))
    assert said[0] == "openai is not used: OPENAI_API_KEY is not set; trying ollama instead"
    assert said[1].startswith("OLLAMA_MODEL is not set: using small:1b, the first model that http://127.0.0.1")
    assert len(said) == 2


def test_without_anything_the_mock_is_last_and_says_so(nowhere: str) -> None:
    target, said = chosen(Target("openai"), Settings(ollama_host=nowhere))
    assert (target.provider, [passed["provider"] for passed in target.fallback_from]) == ("mock", ["openai", "ollama"])
    assert [line.split()[0] for line in said] == ["openai", "ollama", "the"]
    assert "is no model" in said[2]


def test_from_ollama_openai_is_next_when_a_key_is_set(nowhere: str) -> None:
    settings = Settings.model_validate({"openai_api_key": "sk-x"})
    target, said = chosen(Target("ollama", "llama3", nowhere, "unused"), settings)
    assert (target.provider, target.model, target.api_key) == ("openai", "gpt-4o-mini", "sk-x")
    reason = f"no Ollama answers at {nowhere} (Connection refused)"
    assert target.fallback_from == ({"provider": "ollama", "reason": reason},)
    assert said == [f"ollama is not used: {reason}; trying openai instead"]


def test_from_litellm_the_whole_chain_is_tried(nowhere: str) -> None:
    target, _ = chosen(Target("litellm"), Settings(ollama_host=nowhere))
    assert [passed["provider"] for passed in target.fallback_from] == ["litellm", "ollama", "openai"]


@pytest.mark.parametrize("fallback", [True, False])
def test_the_mock_when_asked_for_is_no_fallback(fallback: bool) -> None:
    target, said = chosen(Target("mock"), Settings(), fallback=fallback)
    assert (target, len(said)) == (Target("mock", "rules"), 1)


@pytest.mark.parametrize(
    ("provider", "told"),
    [("openai", ["OPENAI_API_KEY", "--provider ollama"]), ("ollama", ["ollama serve"]), ("litellm", ["LITELLM_MODEL"])],
)
def test_with_no_fallback_one_line_says_what_to_do(provider: Provider, told: list[str], nowhere: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        chosen(Target(provider), Settings(ollama_host=nowhere), fallback=False)
    assert all(words in str(caught.value) for words in told)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["small:1b", "other", "other:latest"])
def test_a_model_that_ollama_has_is_taken(name: str) -> None:
    with serving(tags("small:1b", "other:latest")) as url:
        by_argument, _ = chosen(Target("ollama", name, url), Settings(), fallback=False)
        by_setting, _ = chosen(Target("ollama"), Settings(ollama_host=url, ollama_model=name), fallback=False)
    assert by_argument == by_setting == Target("ollama", name, url)


def test_a_model_that_ollama_lacks_is_named_with_those_it_has() -> None:
    with serving(tags("small:1b", "other:latest")) as url, pytest.raises(ConfigurationError) as caught:
        chosen(Target("ollama", "big:70b", url), Settings(), fallback=False)
    assert str(caught.value) == (
        f"Ollama at {url} has no model 'big:70b': run `ollama pull big:70b`, or use one of small:1b, other:latest"
    )


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (b'{"models": null}', 200, "has no model: get one"),
        (b'{"models": []}', 200, "has no model: get one"),
        (b"<html>", 200, "is no Ollama"),
        (b"[]", 200, "is no Ollama"),
        (b'{"models": [{"name": 1}]}', 200, "is no Ollama"),
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
    with pytest.raises(ConfigurationError, match="no provider 'bard': use one of openai, ollama, litellm, mock"):
        provider_named("bard")
