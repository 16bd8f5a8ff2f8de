"""Tools of MCP servers on the command line."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from micro_agent.testing import ModelServer, call, text
from tests.mcp.conftest import ends

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

RUDE = Path(__file__).parents[1] / "mcp" / "rude.py"


def named(cli: "Cli", **more: object) -> str:
    """A file that names the rude server."""
    spec = {"command": sys.executable, "args": ["-IS", str(RUDE), "hints"], **more}
    (cli.directory / "mcp.json").write_text(json.dumps({"mcpServers": {"rude": spec}}))
    return "mcp.json"


def on(server: ModelServer) -> list[str]:
    return ["--provider", "openai", "--base-url", server.openai_url, "--model", "scripted"]


def test_they_are_listed_called_when_trusted_and_asked_about_else(cli: "Cli") -> None:
    file = named(cli, trust=["reads"])
    listed = cli("tools", "--no-builtin-tools", "--mcp", file).out.splitlines()[::2]
    assert listed == [
        "rude__reads {text}", "rude__adds {text}  (asks for confirmation)",
        "rude__removes {text}  (asks for confirmation)", "rude__says_nothing {text}  (asks for confirmation)",
    ]  # fmt: skip
    script = [call("rude__reads", {"text": "hi"}), call("rude__adds", {"text": "ho"}), text("Done.")]
    with ModelServer(script) as server:
        paused = cli("ask", *on(server), "--mcp", file, "Say hi, then ho.")
        assert (paused.code, "rude__adds" in paused.err) == (4, True)
        assert "--mcp mcp.json" in paused.err
        assert cli("resume", "--last", "--approve", "all").code == 2
        done = cli("resume", "--last", "--approve", "all", "--mcp", file)
    assert (done.code, done.out) == (0, "Done.\n")
    ran = [step["observation"] for step in cli.trace()["steps"] if step["tool"].startswith("rude")]
    assert ran == ["hi", "ho"]
    assert "same" in cli("replay", "--verify", "last", env={"MICRO_AGENT_MCP": file}).out


def test_what_cannot_be_used_is_told(cli: "Cli") -> None:
    file = named(cli)
    missing = cli("tools", "--mcp", "missing.json")
    assert (missing.code, missing.err.count("\n")) == (2, 1)
    (cli.directory / ".env").write_text(f"MICRO_AGENT_MCP={file}\n")
    told = cli("tools", "--no-builtin-tools")
    assert told.err == f"micro-agent: MICRO_AGENT_MCP in .env names servers that are started: {file}\n"
    (cli.directory / "repo").mkdir()
    (cli.directory / file).rename(cli.directory / "repo" / file)
    inside = cli("code", "Fix it.", "--repo", "repo", "--mcp", f"repo/{file}", "--provider", "mock")
    assert (inside.code, "a file of MCP servers (--mcp)" in inside.err) == (2, True), inside.err


def test_ctrl_c_leaves_no_process(cli: "Cli", tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    file = named(cli, command="/bin/sh", args=["-c", f"echo $$ > {pid_file}; exec sleep 600"])
    process = cli.start("tools", "--mcp", file, stderr=subprocess.DEVNULL)
    while not (pid_file.exists() and pid_file.read_text().strip()):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    cli.end(process)
    assert ends(int(pid_file.read_text()))
