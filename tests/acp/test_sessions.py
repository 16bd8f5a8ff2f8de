"""Sessions that are gone on with, an editor that goes away, and kills: what was done stays on record."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp import RequestError, connect_to_agent, text_block

from micro_agent.coding.workplace import store_of
from micro_agent.testing import ModelServer, call, hang, text
from micro_agent.traces import TraceStore
from tests.acp.conftest import Editor, Started, model, run
from tests.acp.test_code import AFTER, BEFORE, FIX
from tests.coding.repositories import repository
from tests.warm import Process, Warm, empty_environment


@asynccontextmanager
async def process(warm: Warm, home: Path, *args: str) -> AsyncGenerator[tuple[Any, Editor, Process]]:
    """One that can be killed: its id is known."""
    waits = asyncio.Event()
    loop = asyncio.get_running_loop()

    def choose(call: Any, options: Any) -> str | None:
        asyncio.run_coroutine_threadsafe(waits.wait(), loop).result()
        return None

    env = empty_environment(home) | {"RESAMPLES": "0"}
    started = warm.start("-m", "micro_agent", "acp", *args, cwd=home, env=env, stdin=-1, stdout=-1, stderr=-3)
    editor = Editor(choose)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), started.stdout)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), started.stdin
    )  # fmt: skip
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    connection = connect_to_agent(cast("Any", editor), writer, reader)
    try:
        await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
        yield connection, editor, started
    finally:
        waits.set()
        started.kill()
        transport.close()
        await connection.close()


def open_run(store: TraceStore) -> Any:
    (found,) = store.open_runs()
    return found


def nobody(call: Any, options: Any) -> None:
    """What a person chooses who closes the question."""


def alive(text: str) -> list[str]:
    """The processes with this in their command line."""
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        found += [line] if text in line else []
    return found


def test_a_kill_leaves_a_question_that_the_next_editor_gets(tmp_path: Path, warm: Warm, editor: Started):
    repo = repository(tmp_path / "repo")
    store = store_of(repo, state_dir=tmp_path / ".local/state/micro-agent")
    script = [
        call("read_file", {"path": "sums.py"}),
        call("edit_file", FIX),
        text("Done.", reasoning="So."),
        text("Yes."),
    ]

    async def go() -> None:
        with ModelServer(script) as server:
            async with process(warm, tmp_path, *model(server)) as (agent, client, started):
                session = await agent.new_session(cwd=str(repo), mcp_servers=[])
                ident = session.session_id
                turn = asyncio.ensure_future(agent.prompt(session_id=ident, prompt=[text_block("Fix add.")]))
                await client.until(lambda: client.asked)
                started.kill()
                with pytest.raises((ConnectionError, RequestError)):
                    await turn
            left = open_run(store)
            assert (left.status, left.confirmation["tool"]) == ("confirmation_required", "edit_file")
            assert (repo / "sums.py").read_text() == BEFORE
            async with editor(*model(server)) as (agent, client, _):
                (known,) = (await agent.list_sessions(cwd=str(repo))).sessions
                assert (known.session_id, known.title, known.cwd) == (ident, "Fix add.", str(repo))
                assert (await agent.list_sessions(cwd="/")).sessions == []
                with pytest.raises(RequestError, match=f"is of {repo}: open that folder"):
                    await agent.load_session(cwd="/", session_id=ident, mcp_servers=[])
                loaded = await agent.load_session(cwd=str(repo), session_id=ident, mcp_servers=[])
                assert loaded.modes.current_mode_id == "code"
                assert client.text("user_message_chunk") == "Fix add."
                assert [one.status for one in client.of("tool_call_update")] == ["completed"]
                done = await agent.prompt(session_id=ident, prompt=[text_block("Is it done?")])
                assert (done.stop_reason, client.text()) == ("end_turn", "Done.Yes.")
                assert (repo / "sums.py").read_text() == AFTER
                client.updates.clear()
                await agent.load_session(cwd=str(repo), session_id=ident, mcp_servers=[])
                shown = [one.session_update for one in client.updates]
                assert shown == [
                    "user_message_chunk", "tool_call", "tool_call_update", "tool_call", "tool_call_update",
                    "agent_thought_chunk", "agent_message_chunk", "user_message_chunk", "agent_message_chunk",
                ]  # fmt: skip
        last = store.load(done.field_meta["micro-agent"]["run"])
        assert [turn.status for turn in last.earlier] == ["completed"]

    run(go())


def test_an_editor_that_goes_away_leaves_a_run_to_resume_and_no_process(tmp_path: Path, warm: Warm, editor: Started):
    repo = repository(tmp_path / "repo")
    store = store_of(repo, state_dir=tmp_path / ".local/state/micro-agent")
    seconds = "61.25"
    script = [call("run_cmd", {"cmd": f"sleep {seconds}"}), hang(60), call("edit_file", FIX)]

    async def left(server: ModelServer, ends: str) -> None:
        before, approve = len(server.chats), "ask" if ends == "asked" else "all"
        async with process(warm, tmp_path, *model(server), "--approve", approve) as (agent, client, started):
            session = await agent.new_session(cwd=str(repo), mcp_servers=[])
            prompt = [text_block("Wait.")]
            turn = asyncio.ensure_future(agent.prompt(session_id=session.session_id, prompt=prompt))
            await client.until(lambda: len(server.chats) > before and (ends != "pipe" or alive(f"sleep {seconds}")))
            await client.until(lambda: ends != "asked" or client.asked)
            if ends == "signal":
                started.send_signal(signal.SIGTERM)
            else:
                agent._conn._transport._sender._writer.transport.close()  # pyright: ignore
            code = await asyncio.to_thread(started.wait, 30)
            assert code == (143 if ends == "signal" else 0)
            with pytest.raises((ConnectionError, RequestError)):
                await turn

    async def go() -> None:
        with ModelServer(script) as server:
            for ends in ("pipe", "signal", "asked"):
                await left(server, ends)
            async with editor(*model(server), answer=nobody) as (agent, client, _):
                assert alive(f"sleep {seconds}") == []
                known = [one.session_id for one in (await agent.list_sessions()).sessions]
                await agent.load_session(cwd=str(repo), session_id=known[0], mcp_servers=[])
                done = await agent.prompt(session_id=known[0], prompt=[text_block("Well?")])
                assert (done.stop_reason, client.asked[0].title[:9]) == ("cancelled", "edit_file")
        assert [one.status for one in store.open_runs()] == ["running"] * 2

    run(go())


def test_a_run_that_another_process_holds_is_shown_and_not_gone_on_with(tmp_path: Path, editor: Started):
    repo = repository(tmp_path / "repo")
    seconds = "62.25"

    async def go() -> None:
        with ModelServer([call("run_cmd", {"cmd": f"sleep {seconds}"}), text("Here.")]) as server:
            options = [*model(server), "--approve", "all"]
            async with editor(*options) as (agent, _, _), editor(*options) as (other, client, _):
                ident = (await agent.new_session(cwd=str(repo), mcp_servers=[])).session_id
                turn = asyncio.ensure_future(agent.prompt(session_id=ident, prompt=[text_block("Wait.")]))
                await client.until(lambda: alive(f"sleep {seconds}"))
                await other.load_session(cwd=str(repo), session_id=ident, mcp_servers=[])
                assert client.text("user_message_chunk") == "Wait."
                with pytest.raises(RequestError, match="is held by another process"):
                    await other.prompt(session_id=ident, prompt=[text_block("Well?")])
                await agent.cancel(session_id=ident)
                assert (await turn).stop_reason == "cancelled"
                assert alive(f"sleep {seconds}") == []
                done = await other.prompt(session_id=ident, prompt=[text_block("Well?")])
                assert (done.stop_reason, client.text()) == ("end_turn", "Here.")

    run(go())
