"""Every way out of the process, walked with secrets of every source: none of them leaves it."""

import html
import json
import os
import pty
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from micro_agent.testing import ModelServer, Received, Reply, call, error, text

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, Command

RunId = Callable[[str], str]
ENV = {"SERVICE_PASSWORD": 'canary"ü\\of-the-environment'}
DOTENV = {
    "ANTHROPIC_API_KEY": "sk-ant-canary-of-no-setting",
    "OPENAI_API_KEY": "sk-canary-of-a-setting",
    "MICRO_AGENT_API_TOKEN": "canary-of-the-server",
    "TOOLS_MODULES": "plugin",
}
SECRETS = [*ENV.values(), *(DOTENV[name] for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MICRO_AGENT_API_TOKEN"))]
ALL = " and ".join(SECRETS)
INPUTS = {".env", "secrets.json", "sent.txt", "plugin.py", "broken.py", "tasks.jsonl"}

PLUGIN = """
import json, logging, sys, threading
from pathlib import Path
from micro_agent import Tool

ALL = json.loads(Path("secrets.json").read_text())

def look():
    logging.getLogger("plugin").error("it found %s", ALL)
    try:
        raise RuntimeError(ALL)
    except RuntimeError:
        logging.getLogger("plugin").exception("it failed")
    return {"found": ALL, "as text": json.dumps([ALL]), ALL: 1}

def fail():
    thread = threading.Thread(target=lambda: 1 / 0 if not ALL else json.loads(ALL + "x")["no"])
    for one in (thread, threading.Thread(target=sys.exit)):
        one.start()
        one.join()
    raise ValueError(ALL)

def send(text):
    Path("sent.txt").write_text(text)
    return "sent"

NONE = {"type": "object", "properties": {}}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = {
    "look": Tool("look", "Look.", NONE, look),
    "fail": Tool("fail", "Fail.", NONE, fail),
    "send": Tool("send", "Send.", TEXT, send, requires_confirmation=True),
}
"""
BROKEN = """
import json
from pathlib import Path
raise ImportError(json.loads(Path("secrets.json").read_text()))
"""
TASK = {"id": "t1", "question": f"Is it {ALL}?", "expect_contains": "nothing"}


def model(request: Received) -> Reply:
    """Looks, fails, sends what it has seen where it is asked to, and answers with it; or is refused."""
    said = [message["content"] for message in request.messages]
    asked = next(message["content"] for message in request.messages if message["role"] == "user")
    if "Break" in asked:
        return error(401, f"bad key {ALL}")
    script = (
        [call("look", {}), call("fail", {}), call("send", {"text": ALL})]
        if "Send" in asked
        else [call("look", {}), call("fail", {})]
    )
    done = sum(message["role"] == "tool" for message in request.messages)
    assert not done or "[env:" not in json.dumps(said)
    return script[done] if done < len(script) else text(f"It is {ALL}")


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the secrets in ``.env``, tools that tell them, and one secret in the environment."""
    for name, value in ENV.items():
        monkeypatch.setenv(name, value)
    (tmp_path / ".env").write_text("".join(f"{name}='{value}'\n" for name, value in DOTENV.items()))
    (tmp_path / "secrets.json").write_text(json.dumps(ALL))
    (tmp_path / "plugin.py").write_text(PLUGIN)
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    return tmp_path


def leaks(told: str) -> list[str]:
    """The secrets in what left the process, as they are or as they stand in JSON or HTML."""
    forms = {form: secret for secret in SECRETS for form in (
        secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], html.escape(secret),
        repr(secret)[1:-1], str(html.escape(secret)).replace("&quot;", "&#34;"),
    )}  # fmt: skip
    return sorted({secret for form, secret in forms.items() if form in told})


def written(folder: Path) -> str:
    """All that was written into a folder, but for what the test and the tools put there."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in INPUTS and path.suffix != ".pyc"]
    return "\n".join(path.read_text(errors="replace") for path in files)


def test_nothing_that_commands_print_or_write_holds_a_secret(
    scene: Path, command: "Command", run_id: RunId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", "state")
    monkeypatch.setattr(sys, "path", [str(scene), *sys.path])
    sys.modules.pop("plugin", None)

    def tell(*args: str) -> str:
        done = command(*args)
        told = done.out + done.err
        assert leaks(told) == [], args
        return told

    with ModelServer(model) as server:
        asked = ["--base-url", server.openai_url, "--model", "scripted"]
        assert "[env:ANTHROPIC_API_KEY]" in tell("ask", *asked, "What is it?")
        assert "[env:MICRO_AGENT_API_TOKEN]" in tell("ask", *asked, "--stream", "What is it?")
        ended = run_id(tell("ask", *asked, "--json", f"Is it {ALL}?"))
        assert "[env:OPENAI_API_KEY]" in tell("ask", *asked, "Break it.")
        paused = run_id(tell("ask", *asked, "Send it."))
        tell("resume", "--list")
        assert "send" in tell("resume", "--list", "--json")
        assert leaks(written(scene)) == []
        tell("approve", paused)
        tell("resume", paused, "--json")
        assert (scene / "sent.txt").read_text() == ALL
        tell("traces", "list")
        tell("traces", "list", "--json")
        tell("traces", "show", ended)
        tell("traces", "diff", ended, paused)
        tell("traces", "diff", "--json", ended, paused)
        tell("replay", "--path", f"traces/{ended}.jsonl")
        tell("replay", "--path", f"traces/{ended}.jsonl", "--json")
        assert "a secret is masked on record" in tell("replay", "--verify", "traces", "--json")
        tell("replay", "--verify", "traces")
        tell("tools", "--json")
        assert "[env:ANTHROPIC_API_KEY]" in tell("tools", "--tools", "broken")
        tell("doctor", *asked, "--json")
        tell("eval", "run", "--tasks", "tasks.jsonl", "--out", "results.jsonl", *asked)
        tell("eval", "report", "results.jsonl", "--html", "report.html")
        tell("eval", "score", "results.jsonl", "--json")
        tell("traces", "show", ALL)
    found = written(scene)
    assert leaks(found) == []
    assert "[env:ANTHROPIC_API_KEY]" in (scene / "report.html").read_text()


def test_nothing_that_a_server_sends_or_logs_holds_a_secret(scene: Path, cli: "Cli") -> None:
    env = {**ENV, "TOOLS_MODULES": "plugin", "MICRO_AGENT_STATE_DIR": "state"}
    with ModelServer(model) as server:
        served = cli.start(
            "serve", "--base-url", server.openai_url, "--provider", "openai", "--model", "scripted", "--port", "0",
            env={**env, "MICRO_AGENT_LOG": "error"},
        )  # fmt: skip
        assert served.stderr is not None
        line = served.stderr.readline().decode()
        assert line.startswith("micro-agent listens on "), line + served.stderr.read().decode()
        url = line.split()[-1]
        client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {DOTENV['MICRO_AGENT_API_TOKEN']}"},
            trust_env=False,
            timeout=60,
        )

        def tell(answer: httpx.Response) -> httpx.Response:
            assert leaks(answer.text + str(answer.headers)) == [], answer.request.url
            return answer

        with client:
            for question in (f"Is it {ALL}?", "Break it.", "Send it."):
                tell(client.post("/ask", json={"question": question}))
            streamed = tell(client.post("/ask/stream", json={"question": "What is it?"})).text
            waiting = tell(client.get("/approvals")).json()["approvals"][0]
            ident = waiting["run_id"]
            for path in (
                "/runs",
                f"/runs/{ident}",
                f"/trace/{ident}",
                f"/runs/{ident}/events",
                f"/{ALL}",
                f"/trace/{ALL}",
            ):
                tell(client.get(path))
            tell(client.post(f"/runs/{ident}/confirm", json={ALL: ALL}))
            tell(client.post(f"/runs/{ident}/confirm", json={"decision": "approve", "sha256": waiting["sha256"]}))
            tell(client.get("/health"))
        served.send_signal(signal.SIGTERM)
        done = cli.end(served)
    pieces = [line.removeprefix("data: ") for line in streamed.splitlines() if line.startswith('data: {"text"')]
    assert "".join(json.loads(piece)["text"] for piece in pieces).startswith("It is [env:SERVICE_PASSWORD] and [env:A")
    assert (scene / "sent.txt").read_text() == ALL
    assert leaks(done.out + done.err + written(scene)) == []
    assert "it failed" in done.err  # what others log, and the traceback of a thread
    assert "JSONDecodeError" in done.err


def test_json_on_a_terminal_hides_nothing_and_is_verbatim_for_a_program(cli: "Cli") -> None:
    odd = "a\x9b2Jb\u202ec\u200bd\ufeffe\U000e0041f\x7fgéh"
    with ModelServer([text(odd)], repeat=True) as server:
        args = ["ask", "--base-url", server.openai_url, "--model", "scripted", "--json", "Odd?"]
        piped = cli(*args, env={"LLM_PROVIDER": "openai"})
        ours, theirs = pty.openpty()
        shown = cli.start(*args, env={"LLM_PROVIDER": "openai"}, stdout=theirs)
        os.close(theirs)
        seen = b""
        while True:
            try:
                seen += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
        shown.communicate(timeout=60)
        os.close(ours)
    assert piped.record["answer"] == odd
    assert f'"answer":"{odd}"'.encode() in piped.out.encode()
    line = seen.decode()
    assert json.loads(line)["answer"] == odd
    assert r'"answer":"a\u009b2Jb\u202ec\u200bd\ufeffe\udb40\udc41f\u007fgéh"' in line
