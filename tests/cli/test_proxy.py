"""`micro-agent proxy` as a process: it serves, ends with a signal, and leaves readable records, also when killed."""

import re
import signal
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx

from micro_agent.testing import ModelServer, hang, text

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

Soon = Callable[[Callable[[], object]], None]
CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
ADD: Any = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {}}}}}
BODY: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": "Add 1."}], "tools": [ADD]}
CHAT = "/v1/chat/completions"


@contextmanager
def proxying(cli: "Cli", *options: str, **env: str) -> Generator[tuple[Any, httpx.Client]]:
    """A proxy's process, and a client of it."""
    process = cli.start("proxy", "--port", "0", *options, env=env)
    assert process.stderr is not None
    line = process.stderr.readline().decode()
    found = re.fullmatch(r"micro-agent listens on (http://127\.0\.0\.1:\d+)\n", line)
    try:
        assert found is not None, line + process.stderr.read().decode()
        with httpx.Client(base_url=found[1], trust_env=False, timeout=60) as client:
            yield process, client
    finally:
        process.terminate()  # so that what was measured is kept
        process.communicate()


def test_it_mends_and_ends_with_a_signal(cli: "Cli", soon: Soon) -> None:
    with (
        ModelServer([text(CALL), text(f"Sure. {CALL}"), text("Three.").with_(delay_s=0.3)]) as model,
        proxying(cli, "--upstream", model.openai_url, "--heal", "embedded", MICRO_AGENT_UPSTREAM_KEY="a-key") as it,
        ThreadPoolExecutor(1) as threads,
    ):
        process, client = it
        found = client.post(CHAT, json=BODY)
        assert found.headers["x-micro-agent-repairs"] == "markup, dialect:hermes"
        assert client.post(CHAT, json=BODY).headers["x-micro-agent-repairs"].startswith("embedded")
        last = threads.submit(client.post, CHAT, json=BODY)
        soon(lambda: len(model.chats) == 3)
        process.send_signal(signal.SIGTERM)
        assert last.result().json()["choices"][0]["message"]["content"] == "Three."  # it ends before the proxy does
        assert cli.end(process).code == 0
        assert model.chats[0].headers["authorization"] == "Bearer a-key"
        shown = cli("replay", found.headers["x-micro-agent-run"])
        assert (shown.code, "repaired: dialect:hermes, markup" in shown.out) == (0, True)
        verified = cli("replay", "--verify", found.headers["x-micro-agent-run"])
        assert (verified.code, "not replayed" in verified.out) == (1, True)
        assert ": it went through micro-agent proxy: the agent that ran its tools is not this one\n" in verified.out


def test_killed_in_mid_stream_it_leaves_a_readable_record(cli: "Cli", soon: Soon) -> None:
    with (
        ModelServer([hang(60)]) as model,
        proxying(cli, "--upstream", model.url) as (process, client),
        client.stream("POST", CHAT, json=BODY | {"stream": True}) as response,  # it begins with a comment
    ):
        run_id = response.headers["x-micro-agent-run"]
        process.kill()
        process.wait()
        shown = cli("replay", run_id)
        assert (shown.code, shown.err) == (0, "")
        assert "Question: Add 1." in shown.out
        assert "Running (under way)" in shown.out


def test_in_front_of_ollama(cli: "Cli") -> None:
    with (
        ModelServer([text(CALL), text("Hi.")]) as model,
        proxying(cli, "--no-record", OLLAMA_HOST=model.url, OLLAMA_NUM_CTX="4096", MICRO_AGENT_MAX_BODY="900") as it,
    ):
        _, client = it
        found = client.post(CHAT, json=BODY)
        assert found.json()["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "add"
        assert "x-micro-agent-run" not in found.headers
        assert (model.chats[0].path, model.chats[0].body and model.chats[0].body["options"]["num_ctx"]) == (
            "/api/chat", 4096,
        )  # fmt: skip
        assert client.post(CHAT, json=BODY | {"more": "x" * 900}).status_code == 413
    assert not (cli.directory / "traces").exists()


def test_what_is_no_upstream(cli: "Cli") -> None:
    found = cli("proxy", "--upstream", "nowhere")
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("micro-agent: the upstream is not an http:// or https:// URL")
