"""The MCP servers that an editor sends with a session."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from acp import text_block
from acp.schema import AcpMcpServer, EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio, SseMcpServer

from micro_agent.doors.acp.servers import Servers, named_apart, sent
from micro_agent.errors import ConfigurationError
from micro_agent.mcp import Server
from micro_agent.testing import ModelServer, call, text
from tests.acp.conftest import Started, model, run
from tests.coding.repositories import repository
from tests.mcp.conftest import ends
from tests.mcp.test_http import url
from tests.warm import Warm

__all__ = ["url"]

RUDE = Path(__file__).parents[1] / "mcp" / "rude.py"


def rude(name: str, kind: str = "", **env: str) -> McpServerStdio:
    """The rude server, as an editor names it."""
    variables = [EnvVariable(name=name, value=value) for name, value in env.items()]
    return McpServerStdio(name=name, command=sys.executable, args=["-IS", str(RUDE), kind], env=variables)


@pytest.fixture
def own(tmp_path: Path, warm: Warm) -> list[str]:
    """The options that name a server of the user's own. What a test waits for is not that the SDK is imported."""
    warm.run("-c", "pass", "mcp", timeout=600)
    spec = {"command": sys.executable, "args": ["-IS", str(RUDE)], "trust": ["echo"]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"notes": spec}}))
    return ["--mcp", "mcp.json"]


def test_their_tools_are_used_when_the_person_agrees(tmp_path: Path, editor: Started, own: list[str], url: str):
    script = [
        call("notes-2__env", {}), call("web__echo", {}), call("notes__echo", {"text": "mine"}),
        call("notes-2__pid", {}), text("Done."), text("Again."), call("notes-2__pid", {}), text("Still there."),
    ]  # fmt: skip
    web = HttpMcpServer(type="http", name="web", url=url, headers=[HttpHeader(name="Authorization", value="Bearer k")])
    none = McpServerStdio(name="none", command="/no/such/program", args=[], env=[])
    servers = [rude("notes", KEY="k3y"), web, none, SseMcpServer(type="sse", name="old", url=url, headers=[])]
    repo = repository(tmp_path / "repo")

    async def go() -> None:
        with ModelServer(script) as server:
            options = [*model(server), *own]
            async with editor(*options) as (agent, client, _):
                able = client.told.agent_capabilities.mcp_capabilities
                assert (able.http, able.sse) == (True, False)
                session = await agent.new_session(cwd=str(repo), mcp_servers=servers)
                ident = session.session_id
                await agent.set_session_mode(session_id=ident, mode_id="chat")
                done = await agent.prompt(session_id=ident, prompt=[text_block("Use them.")])
                again = await agent.prompt(session_id=ident, prompt=[text_block("And now?")])
            asked = [one.title.split()[0] for one in client.asked]
            assert asked == ["notes-2__env", "web__echo", "notes-2__pid"]
            seen = [one.raw_output for one in client.of("tool_call_update") if one.raw_output is not None]
            assert json.loads(seen[0])["KEY"] == "k3y"
            assert seen[1:3] == ["in s0", "mine"]
            left_out = done.field_meta["micro-agent"]["mcp_left_out"]
            assert left_out == again.field_meta["micro-agent"]["mcp_left_out"]
            assert list(left_out) == ["old", "none"]
            said = client.text()
            assert said.startswith("The MCP server old is left out: it is of type sse, which is not spoken here; ")
            assert "The MCP server none is left out: [Errno 2] No such file" in said
            assert said.endswith("\n\nDone.Again.")
            assert ends(int(seen[3]))
            async with editor(*options) as (agent, client, _):
                await agent.load_session(cwd=str(repo), session_id=ident, mcp_servers=servers)
                await agent.set_session_mode(session_id=ident, mode_id="code")
                await agent.prompt(session_id=ident, prompt=[text_block("Are they there?")])
            assert client.of("tool_call_update")[-1].raw_output not in (None, seen[3])
            assert client.text().endswith("Still there.")

    run(go())


def test_one_that_does_not_answer_keeps_no_session_and_no_cancelled_turn(
    tmp_path: Path, editor: Started, own: list[str]
):
    folder = tmp_path / "plain"
    folder.mkdir()
    mark = tmp_path / "where"
    said = ["-c", f"pwd > {mark}; exec sleep 600"]
    silent = McpServerStdio(name="silent", command="/bin/sh", args=said, env=[])

    async def go() -> None:
        with ModelServer([text("Hello.")]) as server:
            async with editor(*model(server), *own) as (agent, client, _):
                first = (await agent.new_session(cwd=str(folder), mcp_servers=[silent])).session_id
                turn = asyncio.ensure_future(agent.prompt(session_id=first, prompt=[text_block("Hi.")]))
                await client.until(lambda: mark.exists() and mark.read_text())
                second = (await agent.new_session(cwd=str(folder), mcp_servers=[])).session_id
                done = await agent.prompt(session_id=second, prompt=[text_block("Hi.")])
                assert (done.stop_reason, client.text()) == ("end_turn", "Hello.")
                assert not turn.done()
                await agent.cancel(session_id=first)
                assert (await turn).stop_reason == "cancelled"
        assert mark.read_text() == f"{folder}\n"

    run(go())


def test_without_the_extra_the_person_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "mcp", None)
    through = AcpMcpServer(type="acp", name="inside", server_id="1")

    async def go() -> None:
        servers = Servers(sent([rude("notes"), through], tmp_path), cast("Any", None))
        assert await servers.waited_for(asyncio.Event())
        assert servers.tools() is None
        assert servers.news() == (
            "The MCP server inside is left out: it is of type acp, which is not spoken here; stdio and http are\n\n"
            "The MCP server notes is left out: mcp is not installed: install the extra, with pip install '.[mcp]' in a "
            "checkout of micro-agent\n\n"
        )
        assert servers.news() == ""

    run(go())


def test_what_keeps_them_from_being_connected_to_is_told_to_who_asks_for_their_tools(tmp_path: Path):
    def connect(_: object) -> Any:
        raise ConfigurationError("own.json cannot be read")

    async def go() -> None:
        servers = Servers(sent([rude("notes")], tmp_path), connect)
        assert await servers.waited_for(asyncio.Event())
        with pytest.raises(ConfigurationError, match="cannot be read"):
            servers.tools()

    run(go())


def test_names_of_servers_become_those_that_tools_can_begin_with():
    told = ["my notes!", "my __notes?", "!", "a" * 30, "a" * 30]
    servers = [Server(name=name, command=("x",)) for name in told]
    assert [one.name for one in named_apart(servers, ["my_notes"])] == [
        "my_notes-2", "my_notes-3", "server", "a" * 24, "a" * 22 + "-2",
    ]  # fmt: skip
