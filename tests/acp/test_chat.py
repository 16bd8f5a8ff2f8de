"""Chat mode: the user's own tools, and how turns end."""

import asyncio
import base64
import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from acp import RequestError, audio_block, image_block, text_block

from micro_agent.testing import ModelServer, call, error, hang, text
from micro_agent.traces import TraceStore
from tests.acp.conftest import Started, model, run
from tests.cli.conftest import PLUGIN, cli, command

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, Command

__all__ = ["cli", "command"]

DELETE = call("delete", {"path": "a.txt"})


@pytest.fixture
def tools(tmp_path: Path) -> list[str]:
    """The options that name the tools ``delete`` (to be confirmed), ``wait`` and one that prints."""
    (tmp_path / "own.py").write_text(
        PLUGIN + 'def shout() -> str:\n    """Shout."""\n    print("loud", flush=True)\n    return "done"\n\n'
        'from micro_agent import tool\nTOOLS["shout"] = tool(shout)\n'
    )
    return ["--tools", "own.py", "--no-builtin-tools"]


def store(tmp_path: Path) -> TraceStore:
    state = tmp_path / ".local/state/micro-agent"
    return TraceStore(state / "traces", state_dir=state)


async def opened(agent: Any, tmp_path: Path) -> str:
    folder = tmp_path / "plain"
    folder.mkdir(exist_ok=True)
    session = await agent.new_session(cwd=str(folder), mcp_servers=[])
    assert [mode.id for mode in session.modes.available_modes] == ["chat"]
    return session.session_id


async def ask(agent: Any, ident: str, question: str = "Delete a.txt.") -> Any:
    return await agent.prompt(session_id=ident, prompt=[text_block(question)])


def test_a_conversation_with_tools_of_ones_own(tmp_path: Path, editor: Started, tools: list[str]):
    script = [
        DELETE, call("shout", {}), call("shout", {"loud": 1}), text("Gone.", reasoning="Easy."), DELETE, text("Kept."),
        call("nothing", {}), text("So be it."),
    ]  # fmt: skip
    answers = iter(["allow_once", "reject_once"])

    def choose(call: Any, options: Any) -> str:
        return next(answers)

    async def go() -> None:
        with ModelServer(script) as server:
            options = [*model(server), *tools]
            async with editor(*options, answer=choose) as (agent, client, _):
                ident = await opened(agent, tmp_path)
                assert (await ask(agent, ident)).stop_reason == "end_turn"
                assert (tmp_path / "deleted.txt").read_text() == "a.txt\n"
                done = await ask(agent, ident, "Another one.")
                await ask(agent, ident, "And now?")
            assert "And now?" in json.dumps(server.chats[-1].body)
        run = store(tmp_path).load(done.field_meta["micro-agent"]["run"])
        assert [turn.question for turn in run.earlier] == ["Delete a.txt."]
        assert run.steps[0].error == "APPROVAL_REJECTED"
        assert client.text() == "Gone.Kept.So be it."
        delete, shout, again = client.of("tool_call")
        assert (delete.kind, delete.locations, shout.status) == ("other", None, "in_progress")
        assert "This tool asks for confirmation." in delete.content[0].content.text
        ends = {one.tool_call_id: one.status for one in client.of("tool_call_update")}
        assert [ends[one.tool_call_id] for one in (delete, shout, again)] == ["completed", "completed", "failed"]
        thoughts = client.text("agent_thought_chunk")
        assert thoughts.index("loud") < thoughts.index("Easy.") < thoughts.index("nothing")
        assert "loud" in (tmp_path / "said").read_text()

    run(go())


def test_turns_end_for_reasons_that_are_told(tmp_path: Path, editor: Started, tools: list[str]):
    script = [
        call("shout", {}), error(401, "No such key."), DELETE, text("Then not."), DELETE,
    ]  # fmt: skip
    deciding = threading.Event()
    choices = iter(["raise", None])

    def choose(call: Any, options: Any) -> str | None:
        if (chosen := next(choices)) == "raise":
            raise RequestError(-32603, "no window")
        deciding.set()
        return chosen

    async def go() -> None:
        with ModelServer(script) as server:
            options = [*model(server), *tools, "--max-steps", "1"]
            async with editor(*options, answer=choose) as (agent, client, _):
                ident = await opened(agent, tmp_path)
                assert (await ask(agent, ident)).stop_reason == "max_turn_requests"
                assert "Stopped (max_steps): 1 steps were taken" in client.text()
                with pytest.raises(RequestError, match="No such key") as failed:
                    await ask(agent, ident)
                assert cast("Any", failed.value.data)["reason"] == "lm_error"
            async with editor(*model(server), *tools, answer=choose) as (agent, client, _):
                ident = await opened(agent, tmp_path)
                await ask(agent, ident)
                assert "no window" in client.of("tool_call_update")[-1].raw_output["feedback"]
                assert (await ask(agent, ident)).stop_reason == "cancelled"

    run(go())


def test_a_turn_is_cancelled(tmp_path: Path, editor: Started, tools: list[str]):
    script = [call("wait", {"seconds": 60}), hang(60), DELETE, text("Hello.")]
    shown = threading.Event()

    def choose(call: Any, options: Any) -> str | None:
        shown.wait(30)
        return None

    async def go() -> None:
        with ModelServer(script) as server:
            async with editor(*model(server), *tools, answer=choose) as (agent, client, _):
                ident = await opened(agent, tmp_path)

                async def cancelled(so: Any) -> Any:
                    async with asyncio.TaskGroup() as group:
                        turn = group.create_task(ask(agent, ident))
                        await client.until(so)
                        with pytest.raises(RequestError, match="a turn is under way"):
                            await ask(agent, ident)
                        await agent.cancel(session_id=ident)
                    return turn.result()

                done = await cancelled(lambda: client.of("tool_call"))
                assert done.stop_reason == "cancelled"
                assert client.of("tool_call_update")[-1].status == "failed"
                done = await cancelled(lambda: len(server.chats) > 1)
                assert done.stop_reason == "cancelled"
                done = await cancelled(lambda: client.asked)
                assert done.stop_reason == "cancelled"
                await agent.cancel(session_id=ident)
                await agent.cancel(session_id="0" * 32)
                assert (await ask(agent, ident)).stop_reason == "end_turn"
                shown.set()
        run = store(tmp_path).load(done.field_meta["micro-agent"]["run"])
        assert (run.status, run.termination_reason) == ("stopped", "cancelled")
        assert not (tmp_path / "deleted.txt").exists()

    run(go())


def test_somebody_decides_from_a_terminal_meanwhile(tmp_path: Path, editor: Started, tools: list[str]):
    decided = threading.Event()

    def choose(call: Any, options: Any) -> str | None:
        decided.wait(30)
        return None

    async def go() -> None:
        with ModelServer([DELETE, text("Gone.")]) as server:
            async with editor(*model(server), *tools, answer=choose) as (agent, client, _):
                ident = await opened(agent, tmp_path)
                async with asyncio.TaskGroup() as group:
                    turn = group.create_task(ask(agent, ident))
                    await client.until(lambda: client.asked)
                    waiting = store(tmp_path)
                    waiting.decide(next(waiting.open_ids()), "approve")
                assert turn.result().stop_reason == "end_turn"
                decided.set()
        assert (tmp_path / "deleted.txt").read_text() == "a.txt\n"

    run(go())


def test_what_cannot_be_asked_is_an_error_in_words(tmp_path: Path, editor: Started):
    async def go() -> None:
        async with editor("--provider", "mock") as (agent, client, _):
            told = client.told
            assert (told.protocol_version, told.agent_capabilities.load_session) == (1, True)
            assert told.agent_capabilities.prompt_capabilities.embedded_context is True
            ident = await opened(agent, tmp_path)
            for call, code, words in (
                (agent.new_session(cwd="here", mcp_servers=[]), -32602, "cwd is 'here': name a folder by its absolute"),
                (agent.new_session(cwd=str(tmp_path / "gone"), mcp_servers=[]), -32602, "is not there"),
                (agent.load_session(cwd="/", session_id="../x", mcp_servers=[]), -32002, "there is no session '../x'"),
                (ask(agent, "f" * 32), -32002, "open: begin one, or load it"),
                (agent.set_session_mode(session_id=ident, mode_id="code"), -32602, "is in no git repository"),
                (
                    agent.set_session_mode(session_id=ident, mode_id="plan"),
                    -32602,
                    "there is no mode 'plan' here; there",
                ),
                (
                    agent.prompt(session_id=ident, prompt=[audio_block("", "audio/wav")]),
                    -32602,
                    "no model is given audio",
                ),
                (ask(agent, ident, "\ud83d"[:0]), -32602, "there is no question"),
            ):
                with pytest.raises(RequestError, match=words) as refused:
                    await call
                assert refused.value.code == code
            assert await agent.authenticate(method_id="any") is not None
            await agent.set_session_mode(session_id=ident, mode_id="chat")
            await client.until(lambda: client.of("config_option_update"))
            await agent.set_config_option(config_id="mode", session_id=ident, value="chat")
            await client.until(lambda: client.of("current_mode_update"))
            assert (await ask(agent, ident, "What is 2*3?")).stop_reason == "end_turn"
            assert "6" in client.text()

    run(go())


def test_images_go_to_a_model_that_takes_them(tmp_path: Path, editor: Started):
    picture = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
    blocks = [text_block("What is it?"), image_block(base64.b64encode(picture).decode(), "image/png")]

    async def go() -> None:
        with ModelServer(
            [text("A dot.", reasoning="Small.")], capabilities=["completion", "tools", "vision"]
        ) as server:
            ollama = ["--provider", "ollama", "--base-url", server.url, "--model", "scripted"]
            async with editor(*ollama, env={"MICRO_AGENT_FINISH": "text"}) as (agent, client, _):
                assert client.told.agent_capabilities.prompt_capabilities.image is True
                ident = await opened(agent, tmp_path)
                assert (await agent.prompt(session_id=ident, prompt=blocks)).stop_reason == "end_turn"
            assert (client.text("agent_thought_chunk"), client.text()) == ("Small.", "A dot.")
            assert (server.chats[0].body or {})["messages"][-1]["images"] == [base64.b64encode(picture).decode()]
        with ModelServer([text("No.")], capabilities=["completion", "tools"]) as server:
            ollama = ["--provider", "ollama", "--base-url", server.url, "--model", "scripted"]
            async with editor(*ollama) as (agent, client, _):
                assert client.told.agent_capabilities.prompt_capabilities.image is False
                ident = await opened(agent, tmp_path)
                with pytest.raises(RequestError, match="takes no images"):
                    await agent.prompt(session_id=ident, prompt=blocks)

    run(go())


def test_a_turn_is_cancelled_before_it_has_begun_and_what_cannot_begin_is_told(tmp_path: Path, editor: Started):
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.01)\nTOOLS = []\n"
    )

    async def go() -> None:
        async with editor("--provider", "openai") as (agent, client, _):
            assert client.told.agent_capabilities.prompt_capabilities.image is False
            ident = await opened(agent, tmp_path)
            with pytest.raises(RequestError, match="OPENAI_API_KEY is not set") as refused:
                await ask(agent, ident)
            assert refused.value.code == -32602
            with pytest.raises(RequestError, match=r"a defect of micro-agent: ValueError: .*embedded null"):
                await agent.new_session(cwd="/\0", mcp_servers=[])
        async with editor("--provider", "mock", "--tools", "slow.py") as (agent, client, _):
            folder = str(tmp_path / "plain")
            ident = (await agent.new_session(cwd=folder, mcp_servers=[])).session_id
            turn = asyncio.ensure_future(ask(agent, ident, "What is 2*3?"))
            await asyncio.sleep(0)
            await agent.cancel(session_id=ident)
            await agent.set_session_mode(session_id=ident, mode_id="chat")
            (tmp_path / "go").touch()
            done = await turn
            assert done.stop_reason == "cancelled"
        (found,) = store(tmp_path).ids()
        assert store(tmp_path).load(found).termination_reason == "cancelled"

    run(go())


def test_what_is_wrong_with_the_start_is_told(cli: "Cli", command: "Command", monkeypatch: pytest.MonkeyPatch):
    done = cli("acp")  # its output is a file
    assert (done.code, done.out) == (2, "")
    assert "acp talks with an editor through pipes: have the editor start it" in done.err
    for args, told in (
        (["--approve", "pause"], "approvals cannot be 'pause'; there are: ask, never, all"),
        (["--max-steps", "0"], "max_steps must be a positive whole number"),
    ):
        done = command("acp", *args)
        assert (done.code, told in done.err) == (2, True), done.err
    monkeypatch.setitem(sys.modules, "acp", None)
    assert "acp is not installed: install the extra" in command("acp").err
