"""Code mode: changes in a repository, with the approval of the person at the editor."""

from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, text_block

from micro_agent.coding import CATEGORIES
from micro_agent.coding.workplace import store_of
from micro_agent.doors.acp.calls import kind_of
from micro_agent.testing import ModelServer, Received, Reply, call, calls, text
from tests.acp.conftest import Started, model, run
from tests.cli.test_code import PATCH, patch_in
from tests.coding.repositories import repository

FIX = {"path": "sums.py", "target": "a - b", "replacement": "a + b"}
BEFORE, AFTER = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"


def test_a_change_is_shown_approved_and_made(tmp_path: Path, editor: Started):
    repo = repository(tmp_path / "repo")
    script = [
        call("read_file", {"path": "sums.py"}), call("edit_file", FIX), call("edit_file", FIX | {"target": "gone"}),
        text("It adds.", reasoning="So."),
    ]  # fmt: skip

    async def go() -> None:
        with ModelServer(script) as server:
            async with editor(*model(server)) as (agent, client, _):
                session = await agent.new_session(cwd=str(repo / "tests"), mcp_servers=[])
                assert session.modes.current_mode_id == "code"
                done = await agent.prompt(session_id=session.session_id, prompt=[text_block("Fix add.")])
        run_id = done.field_meta["micro-agent"]["run"]
        recorded = store_of(repo, state_dir=tmp_path / ".local/state/micro-agent").load(run_id)
        assert (done.stop_reason, recorded.answer, client.text()) == ("end_turn", "It adds.", "It adds.")
        assert client.text("agent_thought_chunk") == "So."
        read, edit, failed = client.of("tool_call")
        assert (read.kind, read.status, read.title) == ("read", "in_progress", 'read_file {"path": "sums.py"}')
        assert [(one.path, one.line) for one in read.locations] == [(str(repo / "sums.py"), None)]
        assert (edit.kind, edit.status, edit.raw_input) == ("edit", "pending", FIX)
        said, diff = edit.content
        assert said.content.text.startswith('```\nedit_file {"path": "sums.py", "target": "a - b"')
        assert said.content.text.endswith("This tool asks for confirmation.\n```")
        assert (diff.path, diff.old_text, diff.new_text) == (str(repo / "sums.py"), BEFORE, AFTER)
        assert client.asked[0].content == edit.content
        told = [(one.tool_call_id, one.status) for one in client.of("tool_call_update")]
        assert told == [
            (read.tool_call_id, "completed"), (edit.tool_call_id, "in_progress"), (edit.tool_call_id, "completed"),
            (failed.tool_call_id, "failed"),
        ]  # fmt: skip
        seen, _, made, gone = client.of("tool_call_update")
        assert "1: def add(a, b):" in seen.content[0].content.text
        assert (made.content, made.raw_output["start_line"], made.locations[0].line) == ([diff], 2, 2)
        assert "NOT_FOUND_IN_FILE" in gone.content[0].content.text
        assert recorded.steps[1].approval is not None
        assert (repo / "sums.py").read_text() == AFTER

    run(go())


def test_a_patch_is_rejected_another_approved_and_gates_are_a_plan(tmp_path: Path, editor: Started):
    repo = repository(tmp_path / "repo")
    no = PATCH | {"new_content": "    return b - a"}
    script = iter([
        call("propose_patch", no), call("propose_patch", PATCH), call("apply_patch", {}),
        call("apply_patch", {"patch_id": "patch_0000000000"}), text("Now it adds."),
    ])  # fmt: skip

    def answered(asked: Received) -> Reply:
        if asked.yes is not None:
            return text(asked.yes)
        reply = next(script)
        patch = {"patch_id": patch_in(asked.messages[-1])}
        return call("apply_patch", patch) if reply == call("apply_patch", {}) else reply

    def choose(asked: Any, options: Any) -> str:
        assert [(one.kind, one.name) for one in options] == [("allow_once", "Run it"), ("reject_once", "Reject")]
        return "reject_once" if "b - a" in str(asked.raw_input) else "allow_once"

    async def go() -> None:
        with ModelServer(answered) as server:
            options = [*model(server), "--gates", "warn", "--sandbox", "clone"]
            async with editor(*options, answer=choose) as (agent, client, _):
                session = await agent.new_session(cwd=str(repo), mcp_servers=[])
                done = await agent.prompt(session_id=session.session_id, prompt=[text_block("Fix add.")])
        assert done.stop_reason == "end_turn"
        first, second, third, none = client.of("tool_call")
        ends = {one.tool_call_id: one for one in client.of("tool_call_update")}
        assert ends[first.tool_call_id].raw_output["approved"] is False
        assert ends[second.tool_call_id].raw_output["approved"] is True
        (diff,) = third.content
        assert (third.kind, diff.old_text, diff.new_text) == ("edit", BEFORE, AFTER)
        assert ends[third.tool_call_id].content == [diff]
        assert (none.content, ends[none.tool_call_id].status) == (None, "failed")
        plans = [[entry.status for entry in plan.entries] for plan in client.of("plan")]
        assert plans[0] == ["in_progress", "completed", "pending", "pending"]
        assert len(plans) == len({tuple(plan) for plan in plans})
        assert (repo / "sums.py").read_text() == AFTER

    run(go())


def test_nobody_is_asked_where_that_was_chosen(tmp_path: Path, editor: Started):
    repo = repository(tmp_path / "repo")
    script = [call("edit_file", FIX), text("I may not."), call("edit_file", FIX), text("Done.")]

    async def go() -> None:
        with ModelServer(script) as server:
            async with editor(*model(server), "--approve", "never") as (agent, client, _):
                opened = await agent.new_session(cwd=str(repo), mcp_servers=[])
                ident = opened.session_id
                assert [one.current_value for one in opened.config_options] == ["code", "never"]
                await agent.prompt(session_id=ident, prompt=[text_block("Fix add.")])
                assert (repo / "sums.py").read_text() == BEFORE
                chosen = await agent.set_config_option(config_id="approvals", session_id=ident, value="all")
                assert [one.current_value for one in chosen.config_options] == ["code", "all"]
                await agent.prompt(session_id=ident, prompt=[text_block("You may.")])
                for wrong in ({"config_id": "approvals", "value": "maybe"}, {"config_id": "colour", "value": "red"}):
                    with pytest.raises(RequestError, match="there are: "):
                        await agent.set_config_option(session_id=ident, **wrong)
        assert client.asked == []
        assert (repo / "sums.py").read_text() == AFTER
        assert client.of("tool_call")[1].content[1].new_text == AFTER

    run(go())


def test_calls_at_once_a_secret_and_a_path_that_leads_out(tmp_path: Path, editor: Started):
    repo = repository(tmp_path / "repo", {"a.txt": "one\n", "b.txt": "sk-secret-of-the-test\n"})
    outside = {"path": "../x.txt"}
    script = [
        calls(("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"}), ("read_file", outside)),
        text("sk-secret-of-the-test"),
    ]  # fmt: skip

    async def go() -> None:
        with ModelServer(script) as server:
            env = {"OPENAI_API_KEY": "sk-secret-of-the-test"}
            async with editor(*model(server), env=env) as (agent, client, _):
                session = await agent.new_session(cwd=str(repo), mcp_servers=[])
                await agent.prompt(session_id=session.session_id, prompt=[text_block("What is in them?")])
        assert [len(one.locations or []) for one in client.of("tool_call")] == [1, 1, 0]
        assert [one.status for one in client.of("tool_call_update")] == ["completed", "completed", "failed"]
        assert "sk-secret" not in str(client.updates)
        assert client.text() != ""

    run(go())


def test_every_tool_of_the_toolset_has_a_kind():
    kinds = {name: kind_of(name) for names in CATEGORIES.values() for name in names}
    assert {kinds[name] for name in ("edit_file", "apply_patch", "propose_patch_unified")} == {"edit"}
    assert (kinds["run_cmd"], kinds["rg_search"], kind_of("of_somebody_else")) == ("execute", "search", "other")
