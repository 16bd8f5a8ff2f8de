"""Confirmation: at the prompt of a terminal, and from other processes. What was killed is gone on with."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from micro_agent import Run
from micro_agent.testing import ModelServer, call, text
from tests.cli.terminal import Terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

Soon = Callable[[Callable[[], object]], None]
RunId = Callable[[str], str]
PROMPT = "Run it? [y]es, [n]o, [e]dit, or no with a reason: "


def asking(server: ModelServer, *options: str) -> list[str]:
    return ["ask", "--base-url", server.openai_url, "--model", "scripted", *options, "Tidy up, please."]


def deleted(cli: "Cli") -> list[str]:
    path = cli.directory / "deleted.txt"
    return path.read_text().splitlines() if path.exists() else []


def test_a_person_at_the_terminal_is_asked(cli: "Cli", run_id: RunId):
    names = ["a\x1b[2J\u202e", "b", "c", "d", "e"]
    with ModelServer([call("delete", {"path": name}) for name in names]) as server:
        terminal = Terminal()
        pipes = {"stdin": terminal.other, "stderr": terminal.other}
        process = cli.start(*asking(server), env=cli.plugin, **pipes)
        terminal.type("y\n")  # too early to be an answer
        shown = terminal.until(PROMPT)
        assert 'delete {"path": "a\\u001b[2J\\u202e"}\r\nThis tool asks for confirmation.' in shown
        terminal.type("\n")
        terminal.until(PROMPT)
        terminal.type("y\n")
        terminal.until('{"deleted": ')  # the step, as it was taken
        terminal.until(PROMPT)
        terminal.type("N\n")
        terminal.until(PROMPT)
        terminal.type("the other file\n")
        terminal.until(PROMPT)
        (journal,) = (cli.directory / ".local/state/micro-agent/runs").glob("*.journal")
        elsewhere = cli("approve", journal.stem)
        assert (elsewhere.code, elsewhere.err) == (
            0,
            'delete {"path": "d"}\nThis tool asks for confirmation.\n'
            "The decision is on record: approve. The run continues by itself.\n",
        )  # fmt: skip
        terminal.until("approve: decided elsewhere")
        terminal.until(PROMPT)
        terminal.type("\x04")
        done = cli.end(process)
        terminal.until("Resume:  micro-agent resume")
        os.close(terminal.descriptor)
        os.close(terminal.other)
    assert (done.code, done.out) == (4, "")
    assert deleted(cli) == ["a\x1b[2J\u202e", "d"]
    observed = [step["observation"] for step in cli.trace()["steps"]]
    assert observed[1]["error"] == observed[2]["error"] == "APPROVAL_REJECTED"
    assert observed[2]["feedback"] == "the other file"


def test_without_a_terminal_the_run_pauses_and_takes_decisions_from_other_processes(cli: "Cli", run_id: RunId):
    script = [call("delete", {"path": "a"}), call("delete", {"path": "b"}), text("Done.")]
    with ModelServer(script) as server:
        paused = cli(*asking(server), env=cli.plugin)
        ident = run_id(paused.err)
        assert (paused.code, paused.out, deleted(cli)) == (4, "", [])
        assert 'Waiting for confirmation:\n  delete {"path": "a"}\n' in paused.err
        assert f"micro-agent resume {ident}\n" in paused.err
        assert 'Waits for confirmation of: delete {"path": "a"}\n' in cli("traces", "show", ident).out
        approved = cli("approve", ident)
        assert (approved.code, approved.out) == (0, "")
        assert f"approve. Resume it with: micro-agent resume {ident}\n" in approved.err
        again = cli("reject", ident)
        assert (again.code, again.err) == (
            1,
            "micro-agent: this question has been decided already; the first decision stands\n",
        )
        assert "(approve)  Tidy up, please." in cli("resume", "--list").out
        second = cli("resume", "--last", env=cli.plugin)
        assert (second.code, deleted(cli)) == (4, ["a"])
        assert cli("reject", ident, "--feedback", "b is needed").code == 0
        done = cli("resume", ident, "--json", env=cli.plugin)
        assert "b is needed" in str(server.messages(-1)[-1])
    assert (done.code, done.record, deleted(cli)) == (0, cli.trace(), ["a"])
    ended = cli("approve", ident)
    assert (ended.code, ended.err) == (1, f"micro-agent: run {ident} has ended: there is nothing to decide\n")


def test_arguments_that_stand_nowhere_are_marked(cli: "Cli", run_id: RunId):
    with ModelServer([call("delete", {"path": "archive"}), text("Done.")]) as server:
        paused = cli(*asking(server), env=cli.plugin)
        shown = 'delete {"path": "archive"}\n'
        marked = "Not in the question or any result: path\n"
        assert f"  {shown}  {marked}  This tool asks for confirmation.\n" in paused.err
        assert f"Waits for confirmation of: {shown}  {marked}" in cli("traces", "show", run_id(paused.err)).out
        assert cli("approve", "last").err.startswith(f"{shown}{marked}This tool asks for confirmation.\n")
        assert cli("resume", "--last", env=cli.plugin).code == 0
    assert deleted(cli) == ["archive"]


def test_confirmations_can_be_settled_beforehand(cli: "Cli"):
    with ModelServer([call("delete", {"path": "a"}), text("Done.")], repeat=True) as server:
        never = cli(*asking(server, "--approve", "never"), env=cli.plugin)
        assert (never.code, deleted(cli)) == (0, [])
        every = cli(*asking(server), env={**cli.plugin, "MICRO_AGENT_APPROVE": "all"})
        assert (every.code, deleted(cli)) == (0, ["a"])
        assert every.err.startswith("Every call that asks for confirmation is approved unseen")
        refused = cli(*asking(server, "--approve", "ask"), env=cli.plugin)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err == "micro-agent: --approve ask needs a terminal; use pause, never or all\n"


def test_a_run_that_was_killed_is_gone_on_with(cli: "Cli", soon: Soon):
    with ModelServer([call("wait", {"seconds": 60}), text("It did not wait.")]) as server:
        process = cli.start(*asking(server), env=cli.plugin)
        soon((cli.directory / "waiting").exists)
        (journal,) = (cli.directory / ".local/state/micro-agent/runs").glob("*.journal")
        busy = cli("resume", journal.stem, env=cli.plugin)
        assert (busy.code, busy.out) == (1, "")
        assert busy.err.splitlines()[-1] == (
            f"micro-agent: run {journal.stem} is held by another process: wait for it, or end it and resume again"
        )
        assert "no run waits to be resumed" in cli("resume", "--last").err
        process.kill()
        cli.end(process)
        with journal.open("a") as file:
            file.write('{"event": "st')
        done = cli("resume", "--last", env=cli.plugin)
    assert (done.code, done.out) == (0, "It did not wait.\n")
    assert "is damaged, the rest is used: line" in done.err
    assert cli.trace()["steps"][0]["observation"]["error"] == "INTERRUPTED"


@pytest.mark.parametrize("word", ["y", "n"])
def test_a_fork_asks_whether_it_may_go_to_a_server_that_only_its_record_names(cli: "Cli", word: str):
    with ModelServer([text("Thank you.")]) as server:
        run = Run(question="Hello?", provider="openai", model="openai/m", base_url=server.openai_url)
        run.save(cli.directory / "shared.jsonl")
        terminal = Terminal()
        process = cli.start(
            "replay", "--path", "shared.jsonl", "--fork-at", "0", stdin=terminal.other, stderr=terminal.other,
            env={"OPENAI_API_KEY": "sk-a-secret-of-somebody"},
        )  # fmt: skip
        shown = terminal.until("Send it this run? [y]es, [n]o: ")
        assert f"The record names the server {server.openai_url}, and today's settings do not." in shown
        terminal.type(f"{word}\n")
        done = cli.end(process)
        os.close(terminal.descriptor)
        os.close(terminal.other)
        assert (done.code, done.out) == ((0, "Thank you.\n") if word == "y" else (2, ""))
        assert [chat.headers.get("authorization") for chat in server.chats] == ([None] if word == "y" else [])


def test_a_question_that_was_edited_is_refused_and_nothing_is_lost(cli: "Cli", run_id: RunId):
    with ModelServer([call("delete", {"path": "a"}), text("Done.")]) as server:
        ident = run_id(cli(*asking(server), env=cli.plugin).err)
        (journal,) = (cli.directory / ".local/state/micro-agent/runs").glob("*.journal")
        asked = journal.read_text()
        journal.write_text(asked.replace('"args":{"path":"a"},"reason"', '"args":{"path":"harmless"},"reason"'))
        for command in (["approve", ident], ["resume", ident], ["resume", ident, "--approve", "all"]):
            refused = cli(*command, env=cli.plugin)
            assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
            assert f"of the journal of run {ident} asks something else than was asked" in refused.err
            assert "undo the change, or remove that line and resume" in refused.err
        assert "asks something else" in cli("resume", "--list", "--json").out
        assert deleted(cli) == []
        journal.write_text(asked)
        done = cli("resume", ident, "--approve", "all", env=cli.plugin)
    assert (done.code, done.out, deleted(cli)) == (0, "Done.\n", ["a"])
