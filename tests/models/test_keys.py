# pyright: reportUnknownMemberType=false
"""Keys go to their own host: not to the server of a record, of a file in the working directory, or of a redirect."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from micro_agent import MicroAgent, Run, configure_lm
from micro_agent.errors import ConfigurationError
from micro_agent.models import load_settings
from micro_agent.models.lookup import LookupFailed, look_up
from micro_agent.models.recorded import model_of
from micro_agent.testing import ModelServer, text

KEY = "sk-a-secret-of-somebody"


@pytest.fixture
def canary() -> Iterator[ModelServer]:
    """A server that must get no key."""
    with ModelServer([text("Thank you.")], repeat=True) as server:
        yield server


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def keys_sent(server: ModelServer) -> set[str | None]:
    return {request.headers.get("authorization") for request in server.chats}


def record(server: ModelServer, **more: Any) -> Run:
    """A run that somebody recorded on a server."""
    known: dict[str, Any] = {"provider": "openai", "model": "openai/m", "base_url": server.openai_url}
    return Run(question="?", **{**known, **more})


def test_a_server_of_a_record_is_sent_no_key_and_announced(
    canary: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert model_of(record(canary), load_settings())("hi") == ["Thank you."]
    assert keys_sent(canary) == {None}
    assert capsys.readouterr().err == (
        f"micro-agent: asking m at {canary.openai_url}, which the record names and today's settings do not; "
        f"it is sent no key (with --base-url {canary.openai_url} it is)\n"
    )


def test_a_server_that_today_names_too_is_sent_the_key(
    canary: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model_of(record(canary), load_settings(), base_url=canary.openai_url)("hi")
    monkeypatch.setenv("OPENAI_BASE_URL", canary.url + "/other/path")
    model_of(record(canary), load_settings())("hi")
    assert keys_sent(canary) == {f"Bearer {KEY}"}
    assert len(canary.chats) == 2
    assert capsys.readouterr().err == ""


def test_the_port_is_part_of_the_host(canary: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    model_of(record(canary), load_settings())("hi")
    assert keys_sent(canary) == {None}


def test_a_key_for_another_server_is_none_for_openai_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    run = Run(question="?", provider="openai", model="openai/m", base_url="https://api.openai.com/v1")
    with pytest.raises(
        ConfigurationError, match=r"OPENAI_API_KEY is for http://127\.0\.0\.1:1/v1, not for https://api"
    ):
        model_of(run, load_settings())


def test_litellm_is_not_sent_to_a_server_of_a_record_as_it_reads_the_keys_itself(canary: ModelServer) -> None:
    run = record(canary, provider="litellm", model="openai/gpt-4o")
    with pytest.raises(ConfigurationError, match=r"LiteLLM would take keys .* pass --base-url http://127"):
        model_of(run, load_settings())
    named: Any = model_of(run, load_settings(), base_url=canary.openai_url)
    assert named.engine.base_url == canary.openai_url
    assert model_of(record(canary, provider="litellm", base_url=None), load_settings()).engine.base_url is None


def test_ollama_is_sent_no_key_anyway_and_announced(canary: ModelServer, capsys: pytest.CaptureFixture[str]) -> None:
    run = record(canary, provider="ollama", model="ollama/scripted", base_url=canary.url)
    model_of(run, load_settings())
    assert capsys.readouterr().err == (
        f"micro-agent: asking scripted at {canary.url}, which the record names and today's settings do not\n"
    )


def test_an_agent_that_resumes_sends_no_key_either(canary: ModelServer) -> None:
    paused = record(canary, status="confirmation_required", mode="native")
    assert MicroAgent(tools=[], rules=[]).resume(paused).answer == "Thank you."
    assert keys_sent(canary) == {None}


@pytest.mark.parametrize("url", ["https://box/v1?api_key=hunter2", "https://me:hunter2@box/v1", "ftp://hunter2?x"])
def test_a_recorded_address_that_may_hold_a_secret_is_not_repeated(url: str, canary: ModelServer) -> None:
    with pytest.raises(ConfigurationError, match="the base URL on record is not valid") as caught:
        model_of(record(canary, base_url=url), load_settings())
    assert "hunter2" not in str(caught.value)


# A file in the working directory


def test_a_file_does_not_send_a_key_elsewhere(canary: ModelServer, capsys: pytest.CaptureFixture[str]) -> None:
    Path(".env").write_text(f"OPENAI_BASE_URL={canary.openai_url}\n")
    found = load_settings(env_file=".env")
    configure_lm(settings=found)("hi")
    assert keys_sent(canary) == {None}
    assert capsys.readouterr().err == (
        f"micro-agent: OPENAI_BASE_URL in .env names {canary.openai_url}: OPENAI_API_KEY, which does not stand in that "
        f"file, is not sent there (with --base-url {canary.openai_url} it is)\n"
    )
    model_of(record(canary), found)("hi")
    assert keys_sent(canary) == {None}
    configure_lm(base_url=canary.openai_url, settings=found)("hi")
    assert keys_sent(canary) == {None, f"Bearer {KEY}"}


@pytest.mark.parametrize(
    ("file", "environment"),
    [
        ("OPENAI_BASE_URL={url}\nOPENAI_API_KEY=" + KEY, {"OPENAI_API_KEY": ""}),
        ("OPENAI_BASE_URL=http://elsewhere/v1", {"OPENAI_BASE_URL": "{url}"}),
        ("OPENAI_API_KEY=" + KEY, {"OPENAI_BASE_URL": "{url}", "OPENAI_API_KEY": ""}),
    ],
)
def test_a_key_and_an_address_that_belong_together_are_used(
    canary: ModelServer, file: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    Path(".env").write_text(file.format(url=canary.openai_url))
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(url=canary.openai_url))
    configure_lm(settings=load_settings(env_file=".env"))("hi")
    assert keys_sent(canary) == {f"Bearer {KEY}"}
    assert capsys.readouterr().err == ""


def test_a_file_that_names_openai_itself_redirects_nothing() -> None:
    Path(".env").write_text("OPENAI_BASE_URL=https://api.openai.com/v1/\n")
    lm: Any = configure_lm(settings=load_settings(env_file=".env"))
    assert lm.engine.endpoint.headers == {"Authorization": f"Bearer {KEY}"}


# A redirect


class Redirecting(BaseHTTPRequestHandler):
    """Sends everybody to the canary."""

    target = ""

    def do_GET(self) -> None:
        """Answer 307, which keeps the method and the body."""
        self.send_response(307)
        self.send_header("Location", f"{self.target}{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET  # noqa: N815 - the name that http.server looks for

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""


def test_a_redirect_takes_neither_key_nor_question_along(canary: ModelServer) -> None:
    handler = type("_Here", (Redirecting,), {"target": canary.url})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/v1"
            with pytest.raises(LookupFailed, match="HTTP 307"):
                look_up(f"{url}/models", timeout_s=10, headers={"Authorization": f"Bearer {KEY}"})
            run = MicroAgent(tools=[], lm=configure_lm("openai", "m", url)).ask("my private diary")
        finally:
            server.shutdown()
            thread.join()
    assert (run.status, canary.requests) == ("failed", [])
    assert KEY not in json.dumps(run.model_dump(mode="json"))


# A query in an address


@pytest.mark.parametrize("url", ["https://box/v1?api_key=hunter2", "https://box/v1#hunter2", "https://box/v1?"])
@pytest.mark.parametrize("provider", ["openai", "ollama", "litellm"])
def test_an_address_with_a_query_is_refused_and_not_repeated(provider: str, url: str) -> None:
    with pytest.raises(ConfigurationError, match="without a password and without a query") as caught:
        configure_lm(provider, "a/b", url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OLLAMA_HOST"])
def test_so_is_one_of_the_settings(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "https://box/v1?api_key=hunter2")
    with pytest.raises(ConfigurationError, match=f"{variable} is not valid .* without password and query") as caught:
        load_settings()
    assert "hunter2" not in str(caught.value)


def test_so_is_one_of_an_engine() -> None:
    from micro_agent.models.openai import OpenAIEngine

    with pytest.raises(ConfigurationError, match="the base URL is not valid") as caught:
        OpenAIEngine(model="m", base_url="https://box/v1?api_key=hunter2")
    assert "hunter2" not in str(caught.value)
