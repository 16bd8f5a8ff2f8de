"""`micro-agent chat`: turns over a pipe and at a terminal, what is taken back, saved, broken off and gone on with."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent import MicroAgent
from micro_agent.cli import chat_input
from micro_agent.cli.chat_turns import Chat
from micro_agent.errors import StorageError
from micro_agent.run import Run
from micro_agent.testing import ModelServer, Reply, ScriptedLM, call, error, hang, text
from micro_agent.traces import TraceStore
from tests.cli.terminal import Terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

Soon = Callable[[Callable[[], object]], None]
READS = "\x1b[?2004h"
"""What a line editor that reads keys has said: a paste is to be marked as one."""
PROMPT = "Run it? [y]es, [n]o, [e]dit, or no with a reason: "


def chatting(server: ModelServer, *options: str) -> list[str]:
    return ["chat", "--base-url", server.openai_url, "--model", "scripted", "--finish", "text", *options]


def talk(cli: "Cli", script: list[Reply], *said: str, options: tuple[str, ...] = ()) -> tuple[Any, ModelServer]:
    """A chat over a pipe: how it ended, and the server that it talked with."""
    with ModelServer(script) as server:
        return cli(*chatting(server, *options), stdin="".join(f"{line}\n" for line in said)), server


def asked(server: ModelServer, number: int = -1) -> list[str]:
    """The texts of one request, the instructions aside."""
    return [message["content"] for message in (server.chats[number].body or {})["messages"][1:]]


def test_each_line_of_a_pipe_is_a_turn(cli: "Cli"):
    said = ["I am Ann.", "", "Who am I?", "/quit", "Well?"]
    done, server = talk(cli, [text("Hello Ann."), text("Ann.")], *said)
    assert (done.code, done.out) == (0, "Hello Ann.\nAnn.\n")
    assert asked(server) == ["I am Ann.", "Hello Ann.", "Who am I?"]
    runs = [json.loads(path.read_text()) for path in (cli.directory / "traces").glob("*.jsonl")]
    [last] = [run for run in runs if run["follows"]]
    assert done.err == f"Go on with: micro-agent chat --resume {last['id']}\n"


def test_turns_are_taken_back_and_asked_again(cli: "Cli"):
    script = [text("1"), text("2"), text("3"), text("4")]
    said = ["/undo", "One?", "Two?", "/retry", "/undo", "Three?", "/undo", "/undo", "/undo", "/history", "/retry"]
    done, server = talk(cli, script, *said)
    assert done.out == "1\n2\n3\n4\n"
    assert [asked(server, number) for number in range(4)] == [
        ["One?"], ["One?", "1", "Two?"], ["One?", "1", "Two?"], ["One?", "1", "Three?"]
    ]  # fmt: skip
    nothing = "micro-agent: there is no turn to undo yet"
    assert done.err.splitlines() == [
        nothing, "Taken back: Two?", "Taken back: Three?", "Taken back: One?", nothing, "There is no turn yet.",
        "micro-agent: there is no turn to retry yet",
    ]  # fmt: skip
    assert done.code == 1


def test_a_conversation_is_saved_and_gone_on_with_elsewhere(cli: "Cli", tmp_path: Path):
    script = [text("Hello Ann."), call("calculator", {"expression": "2*21"}), text("42.")]
    said = ["/save a.json", "I am Ann.", "What is 2*21?", "/save a.json", "/save a.json", "/save! a.json", "/save"]
    done, _ = talk(cli, script, *said)
    assert done.err.splitlines()[:-1] == [
        "micro-agent: there is no turn to save yet", "Saved: a.json",
        "micro-agent: a.json is there already: /save! a.json replaces it", "Saved: a.json",
        "/save wants a file: /save FILE",
    ]  # fmt: skip
    (tmp_path / "traces").rename(tmp_path / "before")
    done, server = talk(cli, [text("Ann.")], "/load b.json", "/load a.json", "Who am I?", "/load a.json")
    assert done.err.splitlines()[1:6] == [
        "1. I am Ann.", "   Hello Ann.", "2. What is 2*21?", "   tools: calculator", "   42."
    ]  # fmt: skip
    assert done.err.startswith("micro-agent: cannot read the run b.json")
    assert (done.out, asked(server)[-1]) == ("Ann.\n", "Who am I?")
    assert done.err.splitlines()[6:-1] == done.err.splitlines()[1:6]
    assert len(list((tmp_path / "traces").glob("*.jsonl"))) == 3
    resumed, _ = talk(cli, [text("Yes.")], "Really?", options=("--resume",))
    assert resumed.out == "Yes.\n"
    assert "3. Who am I?" in resumed.err


def test_what_is_open_or_incomplete_is_not_loaded(cli: "Cli", tmp_path: Path):
    Run(question="?").save(tmp_path / "open.json")
    Run(question="?", status="completed", follows="0" * 32).save(tmp_path / "torn.json")
    done, _ = talk(cli, [], "/load open.json", "/load torn.json")
    assert "has not ended (running)" in done.err.splitlines()[0]
    assert "not all runs before it are on record" in done.err.splitlines()[1]


def test_commands_are_told_and_a_slash_can_be_sent(cli: "Cli"):
    options = ("--tools", "plugin")
    (cli.directory / "plugin.py").write_text((Path(__file__).parent / "conftest.py").read_text().split('"""')[3])
    done, server = talk(cli, [text("Yes.")], "/tools", "/help", "/histroy", "/xyz", "//etc/passwd?", options=options)
    lines = done.err.splitlines()
    assert "delete (asks first): Delete a file." in lines
    assert "/undo        take the last turn back" in lines
    assert "/histroy is not a command; did you mean /history? /help lists them." in lines
    assert "/xyz is not a command; /help lists them." in lines
    assert asked(server) == ["/etc/passwd?"]
    assert lines[-1].endswith(f"{TraceStore(cli.directory / 'traces').load(next(_ids(cli))).id} --tools plugin")


def _ids(cli: "Cli") -> Any:
    return TraceStore(cli.directory / "traces").ids()


def test_a_turn_that_fails_is_told_and_can_be_asked_again(cli: "Cli"):
    done, server = talk(cli, [error(401, "no"), text("Now.")], "Well?", "/history", "/retry")
    assert (done.code, done.out) == (0, "Now.\n")
    assert done.err.startswith("Failed (lm_error): ")
    assert "   (failed: lm_error)" in done.err
    assert asked(server) == ["Well?"]
    done, _ = talk(cli, [error(401, "no")], "Well?")
    assert done.code == 1


def test_where_nothing_can_be_written_the_conversation_stays(tmp_path: Path):
    lm = ScriptedLM([text("1"), text("2")])
    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
    chat = Chat(MicroAgent(lm=lm, traces=store), store)
    first = chat.ask("One?")
    (tmp_path / "state" / "runs").rmdir()
    (tmp_path / "state" / "runs").write_text("in the way")
    for work in (chat.retry, lambda: chat.ask("Two?")):
        with pytest.raises(StorageError):
            work()
        assert chat.run is first


def test_a_conversation_to_go_on_with_is_named_or_the_latest(cli: "Cli"):
    assert cli("chat", "--resume").err.endswith("micro-agent: there is no run in traces to go on from\n")
    told = cli("chat", "abcd")
    assert (told.code, told.err) == (2, "micro-agent: to go on with a conversation: micro-agent chat --resume abcd\n")
    _, _ = talk(cli, [text("1")], "One?")
    first = next(_ids(cli))
    _, _ = talk(cli, [text("2")], "Two?")
    done, server = talk(cli, [text("3")], "And?", options=("--resume", first[:8]))
    assert asked(server) == ["One?", "1", "And?"]
    assert done.err.splitlines()[:2] == ["1. One?", "   1"]
    _, server = talk(cli, [text("4")], "And?", options=("--resume", "last"))
    assert asked(server) == ["One?", "1", "And?", "3", "And?"]


def test_a_turn_that_was_killed_is_finished_first(cli: "Cli", soon: Soon):
    script = [text("Hello."), call("calculator", {"expression": "6*7"}), hang(30)]
    with ModelServer(script) as server:
        process = cli.start(*chatting(server), stdin=-1)
        assert process.stdin is not None
        process.stdin.write(b"Hi.\nWhat is 6*7?\n")
        process.stdin.flush()
        soon(lambda: len(server.chats) == 3)
        store = TraceStore(cli.directory / "traces", state_dir=cli.directory / ".local/state/micro-agent")
        [busy] = store.open_ids()
        told = cli("chat", "--resume", busy, "--base-url", server.openai_url, "--model", "scripted")
        assert (told.code, told.err) == (1, f"micro-agent: run {busy} is under way in another process\n")
        process.kill()
        process.communicate()
    done, server = talk(cli, [text("It is 42."), text("Yes.")], "Sure?", options=("--resume",))
    assert done.out == "It is 42.\nYes.\n"
    assert "The last turn was not finished." in done.err
    assert asked(server, 0)[:3] == ["Hi.", "Hello.", "What is 6*7?"]
    assert [said for said in asked(server) if said][-2:] == ["It is 42.", "Sure?"]
    assert list(store.open_ids()) == []


def test_a_turn_that_waits_for_a_word_is_gone_on_with_when_it_is_given(cli: "Cli"):
    with ModelServer([call("delete", {"path": "a"}), text("Deleted."), text("Yes.")]) as server:
        options, env = chatting(server, "--approve", "pause"), cli.plugin
        done = cli(*options, stdin="Delete a.\nDone?\n", env=env)
        assert done.code == 4
        assert done.err.count("Waiting for confirmation:") == 2
        [waits] = TraceStore(state_dir=cli.directory / ".local/state/micro-agent").open_ids()
        assert cli("approve", waits).code == 0
        done = cli(*options, "--resume", stdin="Done?\n", env=env)
    assert (done.code, done.out) == (0, "Deleted.\nYes.\n")


def test_fifty_turns_fit_a_short_context_and_what_is_cut_is_said(cli: "Cli"):
    script = [text(f"Answer {number}: " + "a word and another one " * 12) for number in range(50)]
    with ModelServer(script) as server:
        said = "".join(f"Question {number}: {'what is this about? ' * 6}\n" for number in range(50))
        done = cli(*chatting(server), stdin=said, env={"CONTEXT_LENGTH": "4096"})
        longest = max(len(json.dumps(chat.body)) for chat in server.chats)
        first, last = ([said[:13] for said in asked(server, number)] for number in (0, -1))
    assert (done.code, done.out.count("Answer ")) == (0, 50)
    assert done.err.count("✂️context_trimmed The context is full: earlier turns are cut from here on") in range(1, 8)
    assert longest < 4 * 4096
    assert (first, last[-1]) == (["Question 0: w"], "Question 49: ")


@pytest.fixture
def before(cli: "Cli") -> Callable[..., Any]:
    """A person before a chat: the terminal, and the process."""

    def before(server: ModelServer, *options: str) -> tuple[Terminal, Any]:
        terminal = Terminal()
        streams = {"stdin": terminal.other, "stderr": terminal.other, "stdout": terminal.other}
        process = cli.start(
            *chatting(server, *options), env={**cli.plugin, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}, **streams
        )
        terminal.until(READS)
        return terminal, process

    return before


def test_a_person_types_edits_confirms_and_breaks_off(cli: "Cli", before: Callable[..., Any], soon: Soon):
    script = [
        text("Two lines."),
        text("Pasted."),
        call("delete", {"path": "a"}),
        text("Gone."),
        hang(30),
        text("Here."),
    ]
    with ModelServer(script) as server:
        terminal, process = before(server)
        terminal.type("first\\\rsecond\r")  # a backslash before Enter
        terminal.until("Two lines.")
        terminal.until(READS)
        terminal.type("\x1b[200~here\nthere\x1b[201~\r")  # a paste
        terminal.until("Pasted.")
        terminal.until(READS)
        terminal.type("Delete a.\r")
        terminal.until(PROMPT)
        terminal.type("y\n")
        terminal.until("Gone.")
        terminal.until(READS)
        terminal.type("no, not this\x03Wait for me.\r")  # Ctrl-C: the line is gone
        soon(lambda: len(server.chats) == 5)
        process.send_signal(signal.SIGINT)
        terminal.until("Stopped (cancelled)")
        terminal.until(READS)
        terminal.type("Are you\x1b\rthere?\r")  # Alt+Enter
        terminal.until("Here.")
        terminal.until(READS)
        terminal.type("/hist")
        terminal.until("/history")  # is offered
        terminal.type("\t")
        terminal.until("ory\x1b")
        terminal.type("\r")
        terminal.until("(stopped: cancelled)")
        terminal.until(READS)
        terminal.type("/save del\t")
        terminal.until("deleted.txt")  # is offered
        terminal.type("\t")
        terminal.until("eted.txt\x1b")
        terminal.type("\r")
        terminal.until("deleted.txt is there already")
        terminal.until(READS)
        terminal.type("\x04")  # Ctrl-D
        terminal.until("Go on with: micro-agent chat --resume")
        assert process.wait(30) == 0
        texts = [said for said in asked(server) if said]
    assert texts[:4] == ["first\nsecond", "Two lines.", "here\nthere", "Pasted."]
    assert texts[-3:] == ["Wait for me.", "(no reply)", "Are you\nthere?"]
    assert (cli.directory / "deleted.txt").read_text() == "a\n"
    kept = cli.directory / ".local/state/micro-agent/chat_history"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "+Delete a." in kept.read_text()
    os.close(terminal.descriptor)
    os.close(terminal.other)


def test_a_signal_to_end_ends_the_chat_with_the_turn_on_record(before: Callable[..., Any], soon: Soon):
    with ModelServer([hang(30)]) as server:
        terminal, process = before(server)
        terminal.type("Wait for me.\r")
        soon(lambda: len(server.chats) == 1)
        process.send_signal(signal.SIGTERM)
        terminal.until("Stopped (cancelled)")
        assert process.wait(30) == 143
        os.close(terminal.descriptor)
        os.close(terminal.other)


def test_where_what_is_typed_cannot_be_kept_it_is_said(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot open"):
        chat_input.typed(tmp_path / "file", [])


def test_without_its_extra_a_terminal_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    with pytest.raises(Exception, match=r"pip install '.\[chat\]' in a checkout of micro-agent, or pipe"):
        chat_input.typed(tmp_path, [])
