"""What a server does harms nothing: it dies, hangs, floods, changes its tools, sends schemas that are bombs."""

import asyncio
import gc
import json
import logging
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent.mcp import mcp_tools
from micro_agent.tools import Tool
from tests.each import each
from tests.mcp.conftest import Spec, called, ends, is_running, seen

if TYPE_CHECKING:
    from micro_agent.mcp.tools import McpTools

Rude = Callable[..., Spec]


def by_name(tools: "McpTools") -> dict[str, Tool]:
    return {name.partition("__")[2]: tool for name, tool in tools.offered.items()}


def test_a_server_that_breaks_is_gone_and_is_started_again(rude: Rude, capsys: pytest.CaptureFixture[str]) -> None:
    with mcp_tools(rude("breaks", timeout_s=20), pause_s=0.01) as tools:
        tool = by_name(tools)
        first = seen(tool["pid"])
        assert seen(tool["echo"], text="hi") == "hi"
        for name in ("die", "flood", "die", "deaf"):
            outcome = called(tool[name])
            outcome = called(tool["echo"]) if name == "deaf" else outcome
            assert outcome.error == "MCP_SERVER_GONE", outcome
            assert seen(tool["echo"], text=name) == name
        assert seen(tool["pid"]) != first
        assert seen(tool["noise"], text="still there") == "still there"
        assert seen(tool["chatter"], text="at last") == "at last"
        assert seen(tool["refuse"])["error"] == "MCP_ERROR"
        assert seen(tool["bad"])["error"] == "MCP_BAD_RESULT"
        big = called(tool["big"])
        assert (len(json.dumps(big.observation)) < 9000, big.ok) == (True, True)
    said = capsys.readouterr().err
    assert said.count("the MCP server breaks is gone: it has ended") == 1
    assert said.count("the MCP server breaks is gone: it said more than") == 1


def test_one_that_cannot_be_started_again_is_waited_for_a_while(rude: Rude, tmp_path: Path) -> None:
    spec = rude("once", "once")
    with mcp_tools({**spec, "args": [*spec["args"], str(tmp_path / "mark")]}, pause_s=1.9) as tools:
        tool = by_name(tools)
        told = [seen(tool[name])["message"] for name in ("die", "echo", "echo")]
    assert "is gone (it has ended)" in told[0]
    assert "FileExistsError" in told[1]
    assert "it is not started again for the next 4 s" in told[2]


def test_ctrl_c_ends_a_server_that_does_not_end(rude: Rude) -> None:
    tools = mcp_tools(rude("stuck", timeout_s=0.1))
    tool = by_name(tools)
    pid = int(seen(tool["pid"]))
    assert seen(tool["hang"])["error"] == "MCP_TIMEOUT"
    threading.Timer(0.2, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        tools.close()
    assert ends(pid)


def test_ctrl_c_is_heard_wherever_it_comes_while_a_server_is_waited_for(tmp_path: Path) -> None:
    """The system may give it to another thread, or to this one just before it waits: then it does not end the wait."""
    mark = tmp_path / "pid"

    def interrupt() -> None:
        while not (mark.exists() and mark.read_text().strip()):
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        mcp_tools({"name": "silent", "command": "/bin/sh", "args": ["-c", f"echo $$ > {mark}; exec sleep 600"]})
    assert ends(int(mark.read_text()))


def test_it_may_be_closed_where_it_lives(rude: Rude, caplog: pytest.LogCaptureFixture) -> None:
    """As when the last tool of it is let go of in its own thread."""
    tools = mcp_tools(rude("closes"))
    tool = by_name(tools)
    pid = int(seen(tool["pid"]))

    class Closing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tools.close()

    logger, handler = logging.getLogger("client"), Closing()
    logger.addHandler(handler)
    try:
        seen(tool["chatter"])
    finally:
        logger.removeHandler(handler)
    assert ends(pid)


def test_a_server_that_does_not_answer_is_late_and_then_started_again(rude: Rude) -> None:
    with mcp_tools(rude("slow", timeout_s=0.3), pause_s=0.01) as tools:
        tool = by_name(tools)
        first = seen(tool["pid"])
        assert [seen(tool["hang"])["error"] for _ in range(2)] == ["MCP_TIMEOUT", "MCP_TIMEOUT"]
        again = called(tool["pid"])
        assert (again.ok, again.observation != first) == (True, True)
        assert ends(int(first))


def test_what_changes_is_not_called(rude: Rude, capsys: pytest.CaptureFixture[str]) -> None:
    with mcp_tools(rude("changes"), pause_s=0.01) as tools:
        tool = by_name(tools)
        assert tool["echo"].description == "Says it again.\\u202e\\x1b[2J"
        assert seen(tool["rename"], text="done") == "done"
        assert [seen(tool[name])["error"] for name in ("echo", "pid")] == ["MCP_TOOL_CHANGED"] * 2
    assert capsys.readouterr().err.count("changes has changed its tools") == 1


def test_schemas_that_are_bombs_are_left_out(rude: Rude, capsys: pytest.CaptureFixture[str]) -> None:
    with mcp_tools([rude("bombs", "bombs"), rude("many", "many"), rude("endless", "endless")]) as tools:
        bombs = [name for name in tools.offered if name.startswith("bombs")]
        assert sum(name.startswith("many") for name in tools.offered) == 1000
    assert sorted(bombs)[:5] == ["bombs__deep", "bombs__go_od", "bombs__good", "bombs__itself", "bombs__laughs"]
    assert [len(name) for name in bombs if "xxx" in name] == [64, 64]
    said = capsys.readouterr().err
    for told in ("leads nowhere", "more than 32000 characters", "not legal JSON Schema", "two tools bombs__go_od"):
        assert told in said, told


@each(("kind", "told"), [
    ("leaves", "it has ended"), ("silent", "it does not answer within 0.3 s"),
    ("unlisted", "it does not list its tools: not \\x1b[31mtoday"),
])  # fmt: skip
def test_who_cannot_be_reached_is_left_out(
    kind: str, told: str, rude: Rude, capsys: pytest.CaptureFixture[str]
) -> None:
    with mcp_tools([rude(kind, kind, start_timeout_s=0.3 if kind == "silent" else 20), rude("good")]) as tools:
        assert {name.partition("__")[0] for name in tools.offered} == {"good"}
        assert [(name, why.startswith(told)) for name, why in tools.left_out.items()] == [(kind, True)]
    assert f"the MCP server {kind} is left out: {told}" in capsys.readouterr().err


def test_a_program_that_is_not_there_is_not_tried_for_ever(rude: Rude, capsys: pytest.CaptureFixture[str]) -> None:
    with mcp_tools({"name": "nowhere", "command": "/no/such/program"}) as tools:
        assert len(tools) == 0
    assert "the MCP server nowhere is left out: [Errno 2] No such file" in capsys.readouterr().err


def test_nothing_is_left_running(rude: Rude) -> None:
    with mcp_tools(rude("spawns")) as tools:
        tool = by_name(tools)
        pids = [int(seen(tool[name])) for name in ("pid", "spawn")]
        assert all(map(is_running, pids))
    assert all(map(ends, pids))
    assert seen(tool["echo"])["error"] == "MCP_SERVER_GONE"
    kept = mcp_tools(rude("kept")).offered["kept__pid"]  # the tools are let go of, and with them what they come from
    pid = int(asyncio.run(kept()))
    assert is_running(pid)
    del kept
    gc.collect()
    assert ends(pid)


def test_its_environment_holds_no_key_of_ours(rude: Rude, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-ours")
    monkeypatch.setenv("THEIR_KEY", "theirs")
    with mcp_tools(rude("env", env={"KEY": "${THEIR_KEY}", "OTHER": "${NOT_THERE:-usual}"})) as tools:
        environment = json.loads(seen(by_name(tools)["env"]))
    assert (environment["KEY"], environment["OTHER"]) == ("theirs", "usual")
    assert not {"OPENAI_API_KEY", "THEIR_KEY"} & environment.keys()


@each(("trust", "asks", "reads"), [
    (False, {"reads", "adds", "removes", "says_nothing"}, set()), (True, {"removes", "says_nothing"}, {"reads"}),
    (["reads", "removes"], {"adds", "says_nothing"}, {"reads"}),
])  # fmt: skip
def test_a_servers_word_lifts_no_confirmation_unless_it_is_trusted(
    trust: Any, asks: set[str], reads: set[str], rude: Rude
) -> None:
    with mcp_tools(rude("hints", "hints", trust=trust)) as tools:
        tool = by_name(tools)
    assert {name for name in tool if tool[name].needs_confirmation({})} == asks
    assert {name for name in tool if tool[name].read_only} == reads
    assert {name for name in tool if tool[name].destructive} == {"removes", "says_nothing"}
