"""A web page in place of a model's reply, as a proxy or a captive portal sends it under 200."""

import asyncio
from collections.abc import Callable
from typing import Any

import dspy
import pytest
from dspy import lm15
from hypothesis import given
from hypothesis import strategies as st

from micro_agent import MicroAgent
from micro_agent.models import configure_lm
from micro_agent.models.failures import Refusal, failure_of, refuses_schema, refuses_tools
from micro_agent.models.ollama import OllamaEngine
from micro_agent.models.openai import OpenAIEngine
from micro_agent.models.reply import body_of
from micro_agent.models.scope import CallScope, calling
from micro_agent.testing import ModelServer, raw, text
from tests.each import each

REQUEST = lm15.Request(model="m", messages=(lm15.Message.user("hi"),))
PAGE = b"""\r\n<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<title>Sign in &amp; go
 online</title></head>
<body><p>data: {"choices": []}</p><p>tools are not supported, response_format is not supported</p></body></html>
"""
TITLED = "answered 200 with an HTML page, 'Sign in & go online', and no JSON"
TYPES = ("text/html; charset=utf-8", "text/plain", "application/json", "text/event-stream", "application/x-ndjson")
PROVIDERS = ("openai", "ollama")


def ask(provider: str, server: ModelServer, on_text: Callable[[str], None] | None) -> lm15.Response:
    made = {
        "openai": lambda: OpenAIEngine(model="m", base_url=server.openai_url),
        "ollama": lambda: OllamaEngine(model="m", base_url=server.url),
    }
    engine: Any = made[provider]()
    with calling(CallScope(on_text=on_text)):
        return engine.complete(REQUEST)


def aask(provider: str, server: ModelServer, on_text: Callable[[str], None] | None) -> lm15.Response:
    async def run() -> lm15.Response:
        made = {
            "openai": lambda: OpenAIEngine(model="m", base_url=server.openai_url).twin(),
            "ollama": lambda: OllamaEngine(model="m", base_url=server.url).twin(),
        }
        twin: Any = made[provider]()
        try:
            with calling(CallScope(on_text=on_text)):
                return await twin.complete(REQUEST)
        finally:
            await twin.aclose()

    return asyncio.run(run())


@each("ask", [ask, aask])
@each("provider", PROVIDERS)
@each("stream", [False, True])
@each("content_type", TYPES)
def test_a_page_is_named_with_its_title(ask: Any, provider: str, stream: bool, content_type: str) -> None:
    said: list[str] = []
    with ModelServer([raw(PAGE, content_type=content_type)]) as server, pytest.raises(dspy.LMServerError) as caught:
        ask(provider, server, said.append if stream else None)
    failure = failure_of(caught.value, base_url=server.url, model="m")
    assert (failure.code, failure.retryable, said) == ("SERVER_ERROR", True, [])
    assert TITLED in failure.message
    assert failure.message.endswith("check the base URL, and a proxy or a login page on the way to it")
    assert failure.message.startswith(server.url)
    assert "\n" not in failure.message
    assert vars(caught.value)["body"].strip() == PAGE.decode().strip()
    assert not refuses_tools(caught.value)
    assert not refuses_schema(caught.value)


@each(
    ("page", "told"),
    [
        (b"<html>", "answered 200 with an HTML page and no JSON"),
        (b"<HTML><HEAD><TITLE> </TITLE>", "answered 200 with an HTML page and no JSON"),
        (b"<html><title>half a tit", "answered 200 with an HTML page and no JSON"),
        (b"\xef\xbb\xbf<!-- made by x -->\n<!doctype html><title id='a'>502</title>", "an HTML page, '502', and"),
        (b'<?xml version="1.0"?>\n<html xmlns="x"><title>A</title></html>', "an HTML page, 'A', and"),
        (b"<html><title>" + b"word " * 99_999 + b"</title></html>", "an HTML page and no JSON"),
        (b"<html><title>" + b"word " * 99 + b"</title></html>", "word word\u2026', and no JSON"),
        (b"<html><title>sk-abcdefghijk</title>", "an HTML page, '***', and"),
    ],
)
@each("provider", PROVIDERS)
@each("content_type", TYPES[1:])
def test_pages_of_every_kind(page: bytes, told: str, provider: str, content_type: str) -> None:
    for on_text in (None, print):
        with (
            ModelServer([raw(page, content_type=content_type)]) as server,
            pytest.raises(dspy.LMServerError) as caught,
        ):
            ask(provider, server, on_text)
        assert told in str(caught.value)
        assert len(failure_of(caught.value).message) <= 500


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("body", [b"<Error><Code>NoSuchKey</Code></Error>", b"<" * 100_000])
def test_what_is_no_page_is_no_reply(provider: str, body: bytes) -> None:
    for on_text in (None, print):
        with (
            ModelServer([raw(body, content_type="application/xml")]) as server,
            pytest.raises(dspy.LMProviderError, match="sent no JSON object but '<") as caught,
        ):
            ask(provider, server, on_text)
        assert failure_of(caught.value).code == "BAD_REPLY"


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("content_type", TYPES)
def test_a_page_that_goes_away_is_asked_again(
    provider: str, content_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("micro_agent.models.retry.BACKOFF_S", (0.0, 0.0, 0.0))
    page = raw(PAGE, content_type=content_type)
    for on_event in (None, print):
        with ModelServer([page, text("Three.")], models=["m"]) as server:
            url = server.url if provider == "ollama" else server.openai_url
            lm = configure_lm(provider, "m", url, fallback=False)
            run = MicroAgent(tools=[], lm=lm, rules=[], finish="text", mode="native").ask("1 + 2?", on_event=on_event)
        assert (run.status, run.answer, run.calls[0].retries) == ("completed", "Three.", 1)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_page_that_stays_ends_the_run_in_one_line(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("micro_agent.models.retry.BACKOFF_S", (0.0, 0.0, 0.0))
    with ModelServer([raw(PAGE, content_type="text/html")], models=["m"], repeat=True) as server:
        url = server.url if provider == "ollama" else server.openai_url
        run = MicroAgent(tools=[], lm=configure_lm(provider, "m", url, fallback=False), rules=[]).ask("1 + 2?")
        assert len(server.chats) == 4
    assert run.error is not None
    assert (run.status, run.error["code"]) == ("failed", "SERVER_ERROR")
    assert TITLED in run.error["message"]


@given(st.text(max_size=80) | st.text(alphabet="<!-html>/title \n", max_size=80))
def test_no_page_breaks_the_reading(rest: str) -> None:
    for start in ("<!doctype html>", "<html><title>", "<"):
        with pytest.raises(dspy.LMError) as caught:
            body_of((start + rest).encode(), Refusal(200, "", {}, "http://127.0.0.1:8080", "m", "openai"))
        assert "\n" not in failure_of(caught.value).message
