"""Records are shared: a server that one names, and nobody today, gets neither a key nor, unasked, a fork's question."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent import Run
from micro_agent.testing import ModelServer, text
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from tests.cli.conftest import Command

KEY = "sk-a-secret-of-somebody"


@pytest.fixture
def canary() -> Iterator[ModelServer]:
    """The server that a record names."""
    with ModelServer([text("Thank you.")], repeat=True) as server:
        yield server


@pytest.fixture
def here(command: "Command", monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> "Command":
    """The command line with a key in its environment."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    return command


def shared(server: ModelServer, **more: Any) -> list[str]:
    """The options that name a trace from elsewhere."""
    known: dict[str, Any] = {"provider": "openai", "model": "openai/m", "base_url": server.openai_url}
    run = Run(question="my private diary", **{**known, **more})
    run.save("shared.jsonl")
    return ["replay", "--path", "shared.jsonl"]


def keys_sent(server: ModelServer) -> set[str | None]:
    return {request.headers.get("authorization") for request in server.chats}


@pytest.mark.parametrize("more", [[], ["--model", "other"], ["--provider", "openai"]])
def test_a_fork_asks_no_server_that_only_the_record_names(here: "Command", canary: ModelServer, more: list[str]):
    done = here(*shared(canary), "--fork-at", "0", *more)
    assert (done.code, done.out, canary.requests) == (2, "", [])
    assert done.err == (
        f"micro-agent: the record names the server {canary.openai_url}, and today's settings do not: "
        f"pass --base-url {canary.openai_url} to send it this run, or the address of another\n"
    )


@pytest.mark.parametrize("more", [[], ["--model", "other"]])
def test_with_its_address_named_it_is_asked_with_the_key(here: "Command", canary: ModelServer, more: list[str]):
    done = here(*shared(canary), "--fork-at", "0", "--base-url", canary.openai_url, *more)
    assert (done.code, done.out, keys_sent(canary)) == (0, "Thank you.\n", {f"Bearer {KEY}"})


def test_another_server_or_provider_needs_no_word_on_that_of_the_record(here: "Command", canary: ModelServer):
    with ModelServer([text("Mine.")]) as mine:
        assert here(*shared(canary), "--fork-at", "0", "--base-url", mine.openai_url).out == "Mine.\n"
        assert keys_sent(mine) == {f"Bearer {KEY}"}
    here(*shared(canary), "--fork-at", "0", "--provider", "mock")
    assert canary.requests == []


def test_a_record_of_litellm_takes_no_key_of_the_environment_along(here: "Command", canary: ModelServer):
    done = here(*shared(canary, provider="litellm", model="openai/m"), "--fork-at", "0")
    assert (done.code, canary.requests) == (2, [])


def test_a_resumed_run_takes_no_key_to_its_server_and_says_where_it_goes(
    here: "Command", canary: ModelServer, store: TraceStore
):
    run = Run(question="What?", provider="openai", model="openai/m", base_url=canary.openai_url, mode="native")
    store.start(run).close()
    done = here("resume", run.id)
    assert (done.code, done.out) == (0, "Thank you.\n")
    assert done.err.startswith(
        f"micro-agent: asking m at {canary.openai_url}, which the record names and today's settings do not; "
        f"it is sent no key (with --base-url {canary.openai_url} it is)\n"
    )
    assert keys_sent(canary) == {None}


def test_an_eval_that_goes_on_takes_no_key_to_the_server_of_its_file(here: "Command", canary: ModelServer):
    Path("tasks.jsonl").write_text('{"id": "a", "question": "Hello?", "expect_contains": "Thank"}\n')
    asked = ["--tasks", "tasks.jsonl", "--base-url", canary.openai_url, "--model", "m", "--out", "r.jsonl"]
    assert here("eval", "run", *asked).code == 0
    assert keys_sent(canary) == {f"Bearer {KEY}"}
    lines = Path("r.jsonl").read_text().splitlines()
    for more, key in (([], None), (["--base-url", canary.openai_url], f"Bearer {KEY}")):
        Path("r.jsonl").write_text(lines[0] + "\n")
        done = here("eval", "run", "--resume", "r.jsonl", *more)
        assert done.code == 0, done.err
        assert ("it is sent no key" in done.err, canary.chats[-1].headers.get("authorization")) == (key is None, key)
    assert json.loads(lines[0])["settings"]["base_url"] == canary.openai_url


# What comes with the working directory


def test_a_file_of_settings_sends_no_key_elsewhere_and_the_doctor_says_so(here: "Command", canary: ModelServer):
    Path(".env").write_text(f"OPENAI_BASE_URL={canary.openai_url}\n")
    done = here("ask", "Hello?")
    assert (done.code, keys_sent(canary)) == (0, {None})
    assert done.err.startswith(f"micro-agent: OPENAI_BASE_URL in .env names {canary.openai_url}: OPENAI_API_KEY, which")
    looked = here("doctor")
    assert looked.out.startswith(
        f"warn  provider  OPENAI_API_KEY is not sent to {canary.openai_url}, which .env names\n"
    )
    assert {request.headers.get("authorization") for request in canary.requests} == {None}


def test_code_that_a_file_of_settings_names_is_announced(here: "Command", monkeypatch: pytest.MonkeyPatch):
    Path("extra_of_env.py").write_text("TOOLS = {}\n")
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    Path(".env").write_text("TOOLS_MODULES=extra_of_env\n")
    assert here("tools").err == "micro-agent: TOOLS_MODULES in .env names code that is loaded: extra_of_env\n"
    Path(".env").unlink()
    monkeypatch.setenv("TOOLS_MODULES", "extra_of_env")
    assert here("tools").err == ""
