"""What waits for a person's word: listed, shown in full, edited; on a terminal and from other processes."""

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent.run.questions import digest_of
from micro_agent.testing import ModelServer, call, text
from tests.cli.terminal import Terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, Command

PROMPT = "[e]dit, or no with a reason: "
TOOLS = """
from micro_agent import Tool

def change(path, text):
    with open("changed.txt", "a") as file:
        print(path, file=file)
    return {"changed": path}

def preview(args):
    diff = f"--- a/{args['path']}\\n+++ b/{args['path']}\\n@@ -0,0 +1 @@\\n+{args['text']}\\n-caf\\u00e9"
    return {"kind": "patch", "id": "patch_0123456789", "text": diff, "files": [args["path"]]}

schema = {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
          "required": ["path", "text"]}
TOOLS = {"change": Tool("change", "Change a file.", schema, change, requires_confirmation=True, preview=preview)}
"""
NASTY = "x\x1b[2J\u202e\u200b\u3164\r| fake"


def tools(cli: "Cli", **more: str) -> dict[str, str]:
    (cli.directory / "own.py").write_text(TOOLS)
    return {"TOOLS_MODULES": "own", **more}


def asking(server: ModelServer) -> list[str]:
    return ["ask", "--base-url", server.openai_url, "--model", "scripted", "Change a, please."]


def changed(cli: "Cli") -> list[str]:
    path = cli.directory / "changed.txt"
    return path.read_text().splitlines() if path.exists() else []


def test_open_questions_are_listed_and_shown_in_full(cli: "Cli") -> None:
    none = cli("approvals", "list")
    assert (none.code, none.out, none.err) == (0, "", "No run waits for a decision.\n")
    assert cli("approvals", "show", "last").err == "micro-agent: no run waits for a decision\n"
    with ModelServer([call("change", {"path": "a", "text": NASTY}), text("Done.")]) as server:
        env = tools(cli)
        paused = cli(*asking(server), env=env)
        (row,) = cli("approvals", "list", "--json").record
        ident = row["run_id"]
        asked = cli("approvals", "show", ident, "--json").record
        assert {**row, "age_s": 0, "expires_in_s": 0} == {
            "run_id": ident, "question": "Change a, please.", "tool": "change", "kind": "patch",
            "id": "patch_0123456789", "reason": asked["reason"], "sha256": asked["sha256"], "age_s": 0,
            "expires": asked["expires"], "expires_in_s": 0, "expired": False, "busy": False,
        }  # fmt: skip
        assert 0 <= row["age_s"] < 300
        assert 86000 < row["expires_in_s"] <= 86400
        assert asked["sha256"] == digest_of(asked)
        listed = cli("approvals", "list").out
        assert listed.startswith(f"{ident}  change patch patch_0123456789  ")
        assert " old, expires in " in listed
        shown = cli("approvals", "show", "last").out
        diff = (
            "patch patch_0123456789:\n| --- a/a\n| +++ b/a\n| @@ -0,0 +1 @@\n"
            "| +x\\x1b[2J\\u202e\\u200b\\u3164\\r| fake\n| -caf\u00e9\nfiles: [\"a\"]\n"
        )  # fmt: skip
        assert diff in shown
        assert shown.endswith(f"This tool asks for confirmation.\nExpires: {asked['expires']}\n")
        indented = diff.rstrip().replace("\n", "\n  ")
        assert indented in paused.err
        assert indented in cli("replay", "last").out
        approved = cli("approve", ident)
        assert diff in approved.err
        assert cli("approvals", "list").out == ""
        assert cli("approvals", "show", "last").code == 1
        assert cli("resume", ident, env=env).code == 0
        assert changed(cli) == ["a"]
        gone = cli("approvals", "show", ident)
        assert (gone.code, gone.err.count("\n")) == (1, 1)


def test_a_run_that_asks_nothing_is_not_shown_as_if_it_did(cli: "Cli") -> None:
    from micro_agent import Run
    from micro_agent.traces import TraceStore

    store = TraceStore(cli.directory / "traces", state_dir=cli.directory / ".local/state/micro-agent")
    store.start(Run(id="0" * 32, question="?")).close()
    nothing = cli("approvals", "show", "0" * 32)
    assert (nothing.code, nothing.err) == (1, f"micro-agent: run {'0' * 32} asks nothing now\n")


def test_questions_that_have_expired_or_never_do_are_listed_as_such(cli: "Cli") -> None:
    with ModelServer([call("change", {"path": "a", "text": "x"})]) as server:
        env = tools(cli)
        cli(*asking(server), env=env)
    (journal,) = (cli.directory / ".local/state/micro-agent/runs").glob("*.journal")
    before = journal.read_text().splitlines()
    at = next(number for number, line in enumerate(before) if '"asked"' in line)
    for expires, told in (("2026-01-01T00:00:00.000Z", "expired"), (None, "never expires")):
        line = json.loads(before[at])
        del line["confirmation"]["expires"]
        line["confirmation"] |= {} if expires is None else {"expires": expires}
        line["confirmation"]["sha256"] = digest_of(line["confirmation"])
        journal.write_text("\n".join([*before[:at], json.dumps(line), *before[at + 1 :]]) + "\n")
        assert cli("approvals", "list").out.endswith(f" old, {told}\n")
        assert ("Expires:" in cli("approvals", "show", "last").out) == (expires is not None)
        if expires is not None:
            refused = cli("approve", "last")
            assert refused.code == 1
            assert f"expired at {expires}: resume the run, and it asks anew" in refused.err
    assert changed(cli) == []


def test_arguments_are_edited_with_approve(cli: "Cli") -> None:
    with ModelServer([call("change", {"path": "a", "text": "x"}), text("Done.")]) as server:
        env = tools(cli)
        cli(*asking(server), env=env)
        for wrong, told in (
            ("nowhere.json", "nowhere.json cannot be read: "), ("{", "the arguments are not JSON: "),
            ('{"path": NaN}', "NaN is no number of JSON"),
        ):  # fmt: skip
            refused = cli("approve", "last", "--edit", wrong)
            assert (refused.code, refused.err.count("\n")) == (2, 1)
            assert told in refused.err
        refused = cli("approve", "last", "--edit", "-", stdin="[1]")
        assert (refused.code, refused.err) == (
            2, 'micro-agent: the arguments are a JSON object, such as {"path": "x"}\n',
        )  # fmt: skip
        said = cli("approve", "last", "--edit", '{"path": "b"}')
        assert (said.code, 'Edited: change {"path": "b"}\n' in said.err) == (0, True)
        assert "asks about them once more" in said.err
        asked = cli("resume", "--last", env=env)
        assert (asked.code, changed(cli)) == (4, [])
        assert "The edited arguments were not taken: missing required argument 'text'\n" in asked.err
        (cli.directory / "args.json").write_text('{"path": "b", "text": "y"}')
        assert cli("approve", "last", "--edit", "args.json").code == 0
        asked = cli("resume", "--last", env=env)
        assert (asked.code, changed(cli)) == (4, [])
        assert 'Edited by a person; the model gave: {"path": "a", "text": "x"}\n' in asked.err
        assert "| +++ b/b\n" in asked.err
        shown = cli("approvals", "show", "last").out
        assert 'change {"path": "b", "text": "y"}\nEdited by a person; ' in shown
        assert cli("approve", "last").code == 0
        done = cli("resume", "--last", env=env)
        assert (done.code, changed(cli)) == (0, ["b"])
    assert '     edited by a person; the model gave: {"path": "a", "text": "x"}\n' in cli("replay", "last").out


@pytest.fixture
def editor(tmp_path: Path) -> str:
    """An editor, as a command: it makes a b of path a, once; then it breaks off, and then it leaves all as it is."""
    script = tmp_path / "an editor.sh"
    script.write_text(
        'cat "$1" >> seen.txt; ls -l "$(dirname "$1")" -d >> seen.txt\n'
        "case $(cat turn 2>/dev/null) in\n"
        '  "") echo 1 > turn; exit 3;;\n'
        "  1) echo 2 > turn;;\n"
        '  2) echo 3 > turn; echo "{" > "$1";;\n'
        '  *) sed -i s/\\"a\\"/\\"b\\"/ "$1";;\n'
        "esac\n"
    )
    return f"sh '{script}'"


def test_arguments_are_edited_at_the_prompt_in_an_editor(cli: "Cli", editor: str) -> None:
    with ModelServer([call("change", {"path": "a", "text": "caf\u00e9\u202e"}), text("Done.")]) as server:
        terminal = Terminal()
        pipes = {"stdin": terminal.other, "stderr": terminal.other}
        process = cli.start(*asking(server), env=tools(cli, EDITOR=editor), **pipes)
        shown = terminal.until(PROMPT)
        assert (
            "\x1b[32m| +++ b/a\x1b[0m\r\n\x1b[36m| @@ -0,0 +1 @@\x1b[0m\r\n\x1b[32m| +caf\u00e9\\u202e\x1b[0m" in shown
        )
        assert "\x1b[31m| -caf\u00e9\x1b[0m\r\n" in shown
        for told in ("sh ended with 3; nothing was changed", "Nothing was changed.", "the arguments are not JSON"):
            terminal.type("e\n")
            assert told in terminal.until(PROMPT)
        terminal.type("E\n")
        again = terminal.until(PROMPT)
        assert "Edited by a person; the model gave: " in again
        assert "| +++ b/b" in again
        assert changed(cli) == []
        terminal.type("y\n")
        done = cli.end(process)
        close(terminal)
    assert (done.code, done.out, changed(cli)) == (0, "Done.\n", ["b"])
    seen = (cli.directory / "seen.txt").read_text()
    assert '"text": "caf\u00e9\\u202e"' in seen
    assert "drwx------" in seen
    (tool,) = [step for step in cli.trace()["steps"] if step["tool"] == "change"]
    assert (tool["args"]["path"], tool["edited"]["path"]) == ("b", "a")


def test_arguments_are_edited_at_the_prompt_on_a_line(cli: "Cli") -> None:
    with ModelServer([call("change", {"path": "a", "text": "x"}), text("Done.")] * 3) as server:
        terminal = Terminal()
        pipes = {"stdin": terminal.other, "stderr": terminal.other}
        process = cli.start(*asking(server), env=tools(cli, NO_COLOR="1"), **pipes)
        assert "\r\n| +++ b/a\r\n" in terminal.until(PROMPT)
        terminal.type("e\n")
        terminal.until("as a JSON object on one line: ")
        terminal.type('{"path": 1, "text": [], "x": 1}\n')
        wrong = terminal.until(PROMPT)
        assert "The edited arguments were not taken: " in wrong
        terminal.type("edit\n")
        terminal.until("as a JSON object on one line: ")
        (row,) = cli("approvals", "list", "--json").record
        assert row["busy"]
        assert " (busy)\n" in cli("approvals", "list").out
        assert cli("approve", "last", "--edit", '{"path": "c", "text": "z"}').code == 0
        terminal.until("approve: decided elsewhere")
        assert 'change {"path": "c", "text": "z"}' in terminal.until(PROMPT)
        terminal.type("e\n")
        terminal.until("as a JSON object on one line: ")
        terminal.type("\x04")
        ended = cli.end(process)
        close(terminal)
        assert (ended.code, changed(cli)) == (4, [])


def test_an_editor_that_is_none_is_said(cli: "Cli") -> None:
    for named, told in (("no-such-editor", "the arguments cannot be edited: "), ("'", "is no command")):
        with ModelServer([call("change", {"path": "a", "text": "x"})]) as server:
            terminal = Terminal()
            pipes = {"stdin": terminal.other, "stderr": terminal.other}
            process = cli.start(*asking(server), env=tools(cli, VISUAL=named, TERM="dumb"), **pipes)
            assert "\r\n| +++ b/a\r\n" in terminal.until(PROMPT)
            terminal.type("e\n")
            assert told in terminal.until(PROMPT)
            terminal.type("\x04")
            assert cli.end(process).code == 4
            close(terminal)


def close(terminal: Terminal) -> None:
    os.close(terminal.descriptor)
    os.close(terminal.other)


def test_of_two_processes_that_decide_at_once_one_counts(cli: "Cli") -> None:
    with ModelServer([call("change", {"path": "a", "text": "x"}), text("Done.")]) as server:
        env = tools(cli)
        cli(*asking(server), env=env)
        both, codes = threading.Barrier(2), list[Any]()

        def decide(*words: str) -> None:
            both.wait()
            codes.append((cli(*words).code, words[0]))

        words = [("approve", "last"), ("reject", "last", "--feedback", "No.")]
        threads = [threading.Thread(target=decide, args=one) for one in words]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(code for code, _ in codes) == [0, 1]
        (first,) = [word for code, word in codes if code == 0]
        assert cli("resume", "--last", env=env).code == 0
    assert changed(cli) == (["a"] if first == "approve" else [])


def test_how_old_a_question_is_stands_in_one_unit(command: "Command", monkeypatch: pytest.MonkeyPatch) -> None:
    from micro_agent.cli.approvals import told

    assert [told(seconds) for seconds in (0, 59, 60, 3599, 3600, 86399, 86400, 10**6)] == [
        "0 s", "59 s", "1 min", "59 min", "1 h", "23 h", "1 d", "11 d",
    ]  # fmt: skip


def test_a_secret_in_a_preview_is_masked_wherever_it_is_shown(cli: "Cli") -> None:
    secret = "sk-canary-0123456789"
    with ModelServer([call("change", {"path": "a", "text": secret}), text("Done.")]) as server:
        env = tools(cli, SOME_API_KEY=secret)
        paused = cli(*asking(server), env=env)
        shown = cli("approvals", "show", "last", env=env)
        assert "| +[env:SOME_API_KEY]\n" in paused.err
        assert "| +[env:SOME_API_KEY]\n" in shown.out
        said = [paused.err, shown.out, cli("approvals", "show", "last", "--json", env=env).out]
        said += [cli("approve", "last", env=env).err, cli("resume", "--last", env=env).err]
    assert changed(cli) == ["a"]
    assert [text for text in said if secret in text] == []
    assert not any(secret.encode() in path.read_bytes() for path in cli.directory.rglob("*.jsonl"))
