"""What needs no model: help, usage, replay, traces, tools. None of it imports DSPy."""

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from micro_agent.cli import app
from micro_agent.run import LMCall, Run, Step
from micro_agent.run.usage import add_call
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

IDS = [f"{number:032x}" for number in range(6)]
COMMANDS = ["", "ask", "replay", "resume", "approve", "reject", "approvals", "approvals list", "approvals show",
            "traces", "traces list", "traces show", "traces stats", "traces diff", "traces export", "tools", "eval",
            "eval run", "eval merge", "eval report", "eval compare", "eval score", "optimize", "serve", "doctor",
            "proxy", "mcp", "acp", "chat", "patches", "patches list", "patches show", "patches apply", "undo",
            "code"]  # fmt: skip


def leaves(command: Any, path: str = "") -> dict[str, Any]:
    below = getattr(command, "commands", {})
    found = {path: command}
    for name, child in below.items():
        found |= leaves(child, f"{path} {name}".strip())
    return found


@pytest.fixture
def recorded(tmp_path: Path) -> TraceStore:
    """A store with three runs in tmp_path/traces: answered, stopped, failed."""
    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
    step = Step(tool="calculator", args={"expression": "2*8"}, observation={"result": 16}, latency_s=0.001)
    store.append(Run(id=IDS[0], question="What is\n2*8?", steps=[step], answer="16", status="completed",
                     termination_reason="final", provider="mock", model="mock/rules", mode="json"))  # fmt: skip
    store.append(Run(id=IDS[1], question="Why?", status="stopped", termination_reason="max_steps",
                     error={"code": "max_steps", "message": "6 steps were taken"}))  # fmt: skip
    store.append(Run(id=IDS[2], question="\x1b[2JHow?", status="failed", termination_reason="lm_error"))
    return store


def test_every_command_shows_a_help_that_fits_a_screen_and_imports_nothing_heavy(cli: "Cli", recorded: TraceStore):
    script = f"""
import sys
from micro_agent.cli import main
light = sorted({{"dspy", "litellm", "pydantic", "rich"}} & set(sys.modules))
assert light == [], light
calls = [name.split() + ["--help"] for name in {COMMANDS!r}]
calls += [["tools"], ["traces", "list"], ["traces", "stats"], ["traces", "show", {IDS[0]!r}], ["resume", "--list"]]
calls += [["replay", "--path", "traces/{IDS[0]}.jsonl"], ["approve", {IDS[0]!r}], ["approvals", "list"], ["--version"]]
for call in calls:
    sys.argv[1:] = call
    print("=====", *call, flush=True)
    try:
        main()
    except SystemExit as end:
        assert end.code in (0, None) or call[0] == "approve", (call, end.code)
heavy = sorted({{"dspy", "litellm"}} & set(sys.modules))
assert heavy == [], heavy
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=cli.directory, env=cli.environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Usage: micro-agent ask [OPTIONS] [QUESTION|-]" in done.stdout
    assert "Exit codes: 0 answered, 1 failed, 2 usage or settings, 3 stopped" in done.stdout
    for shown in done.stdout.split("===== ")[1:]:
        lines = shown.splitlines()
        if "Usage: " in shown:
            assert len(lines) <= 50
            assert max(map(len, lines)) <= 80


def test_every_command_is_in_the_list_above_and_every_option_has_an_environment_variable():
    found = leaves(typer.main.get_command(app))
    assert sorted(found) == sorted(COMMANDS)
    without = {
        (path, parameter.name)
        for path, command in found.items()
        for parameter in command.params
        if parameter.param_type_name == "option" and not parameter.envvar
    }
    assert without == {("", "version"), ("", "install_completion"), ("", "show_completion")}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["ask", ""], "there is no question"),
        (["ask"], "there is no question"),
        (["ask", "-"], "there is no question"),
        (["ask", "Why?", "--question", "How?"], "two questions"),
        (["ask", "Why?", "How?"], "unexpected extra argument"),
        (["ask", "-5 + 3"], "No such option"),
        (["ask", "--max-steps", "0", "Why?"], "max_steps must be a positive whole number, not 0"),
        (["ask", "--max-steps", "some", "Why?"], "--max-steps"),
        (["ask", "--mode", "fast", "Why?"], "--mode"),
        (["resume"], "its ID or --last"),
        (["resume", IDS[0], "--last"], "name one run"),
        (["resume", "../x"], "not a run id"),
        (["replay"], "name the run: its ID, last, or the path of its trace"),
        (["replay", IDS[0], IDS[1]], "name one run"),
        (["approve", "abc"], "the first 4 or more will do, and so will last"),
        (["traces", "show", "ABCDEF"], "not a run id"),
        (["traces", "show", "x"], "not a run id"),
        (["no-such-command"], "no-such-command"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_is_wrong(cli: "Cli", args: list[str], says: str):
    done = cli(*args)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert len(done.err.splitlines()) <= 4


def test_a_wrong_setting_ends_with_2_and_is_named(cli: "Cli"):
    (cli.directory / ".env").write_text("LLM_TIMEOUT=soon\n")
    done = cli("ask", "Why?")
    assert (done.code, done.out) == (2, "")
    assert done.err == "micro-agent: LLM_TIMEOUT is 'soon'; allowed: seconds, more than 0, at most 86400\n"


def test_a_missing_run_is_told_in_one_line(cli: "Cli", recorded: TraceStore):
    ended, unknown, latest = cli("resume", IDS[0]), cli("resume", IDS[5]), cli("resume", "--last")
    assert [ended.code, unknown.code, latest.code] == [1, 1, 1]
    assert ended.err == f"micro-agent: no run {IDS[0]} is under way; it has ended, its trace is traces/{IDS[0]}.jsonl\n"
    assert unknown.err == f"micro-agent: no run {IDS[5]} is under way\n"
    assert latest.err == "micro-agent: no run waits to be resumed; micro-agent resume --list shows what is open\n"


def test_open_runs_are_listed_and_a_damaged_journal_is_told(cli: "Cli"):
    env = {"MICRO_AGENT_STATE_DIR": "state"}
    store = TraceStore(cli.directory / "traces", state_dir=cli.directory / "state")
    store.start(Run(id=IDS[0], question="Why?")).close()
    with_owner = store.start(Run(id=IDS[1], question="How?"))
    (cli.directory / "state/runs" / f"{IDS[2]}.journal").write_text("garbage\n")
    listed, as_json = cli("resume", "--list", env=env), cli("resume", "--list", "--json", env=env)
    with_owner.close()
    states = {line.split()[0]: line for line in listed.out.splitlines()}
    assert "interrupted  Why?" in states[IDS[0]]
    assert "under way  How?" in states[IDS[1]]
    assert "unreadable  no event starts a run" in states[IDS[2]]
    assert {run["id"]: run["busy"] for run in as_json.record} == {IDS[0]: False, IDS[1]: True, IDS[2]: False}
    damaged = cli("resume", IDS[2], env=env)
    assert (damaged.code, damaged.err.count("\n")) == (1, 1)
    assert "nothing of it can be resumed: delete it" in damaged.err


def test_replay_shows_a_run_as_a_person_reads_it(cli: "Cli", recorded: TraceStore):
    shown = cli("replay", "--path", f"traces/{IDS[0]}.jsonl")
    assert shown.err == ""
    lines = shown.out.splitlines()
    assert lines[1] == "mock mock/rules, json mode"
    assert "1. calculator  (0.001 s)" in lines
    assert '     {"expression": "2*8"}' in lines
    assert '  -> {"result": 16}' in lines
    assert lines[-3:-1] == ["Answer: 16", "Completed (final)"]
    as_json = cli("replay", "--json", env={"MICRO_AGENT_TRACE": f"traces/{IDS[0]}.jsonl", "MICRO_AGENT_INDEX": "0"})
    assert as_json.out == recorded.path(IDS[0]).read_text()
    shown = cli("traces", "show", IDS[1])
    assert "Stopped (max_steps): 6 steps were taken\n" in shown.out
    assert cli("traces", "show", IDS[1], "--json").record["termination_reason"] == "max_steps"


def test_a_trace_that_cannot_be_read_says_why(cli: "Cli", recorded: TraceStore):
    path = recorded.path(IDS[0])
    outside = cli("replay", "--path", str(path), "--index", "1")
    assert (outside.code, outside.out) == (2, "")
    assert "has 1 record: --index goes from -1 to 0" in outside.err
    missing, folder = cli("replay", "--path", "none.jsonl"), cli("replay", "--path", "traces")
    assert (missing.code, folder.code) == (1, 1)
    assert missing.err == "micro-agent: no run in none.jsonl: cannot be read: No such file or directory\n"
    assert "not a regular file" in folder.err
    path.write_text("garbage\n")
    garbage = cli("replay", "--path", str(path))
    assert (garbage.code, garbage.err.count("\n")) == (1, 1)
    assert "line 1: not readable" in garbage.err


def test_listing_reads_no_more_than_it_shows_and_goes_on_behind_a_damaged_trace(cli: "Cli", recorded: TraceStore):
    for age, run_id in enumerate([IDS[2], IDS[3], IDS[1], IDS[0], IDS[4]]):
        path = recorded.path(run_id)
        path.touch()
        if age in (1, 4):
            path.write_text("garbage\n")
        os.utime(path, (1e9 - age, 1e9 - age))
    two = cli("traces", "list", "--limit", "2")
    assert [line[:32] for line in two.out.splitlines()] == [IDS[2], IDS[1]]
    assert [IDS[3] in two.err, IDS[4] in two.err] == [True, False]
    assert two.err.count("\n") == 1
    everything = cli("traces", "list", "--limit", "0", "--json")
    assert everything.out.count("\n") == 3
    assert IDS[4] in everything.err
    with open("/dev/full", "wb") as full:
        stuck = cli.end(cli.start("traces", "list", stdout=full))
    assert (stuck.code, stuck.err.splitlines()[-1]) == (1, "micro-agent: [Errno 28] No space left on device")


def test_a_reader_that_leaves_early_is_no_error(cli: "Cli", recorded: TraceStore):
    with cli.start("traces", "list") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_statistics_count_also_nothing(cli: "Cli", recorded: TraceStore):
    counted = cli("traces", "stats").out.splitlines()
    assert counted[:2] == ["runs: 3", "status: completed 1, failed 1, stopped 1"]
    assert "cost_usd: 0" in counted
    empty = cli("traces", "stats", env={"TRACES_DIR": "elsewhere"})
    assert (empty.code, empty.err) == (0, "")
    assert empty.out.splitlines()[:2] == ["runs: 0", "status: none"]
    assert "median_latency_s: unknown" in empty.out
    (cli.directory / ".env").write_text("TRACES_DIR=elsewhere\n")
    assert cli("traces", "stats", "--json").record["runs"] == 0
    listed = cli("traces", "list")
    assert (listed.code, listed.out, listed.err) == (0, "", "No run in elsewhere.\n")


def test_sums_are_of_what_is_known_and_say_how_much_is_not(cli: "Cli", tmp_path: Path):
    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
    said, silent = LMCall(reply={}, input_tokens=12_300, output_tokens=5), LMCall(reply={})
    for run_id, calls in ((IDS[0], [said]), (IDS[1], [said, silent])):
        run = Run(id=run_id, question="Why?", status="completed", termination_reason="final", calls=calls)
        for call in calls:
            add_call(run.usage, call)
        store.append(run)
    lines = cli("traces", "stats").out.splitlines()
    assert "input_tokens: 24,600 (1 of 3 model calls did not say)" in lines
    assert "cost_usd: unknown (3 of 3 model calls have no known price)" in lines
    record = cli("traces", "stats", "--json").record
    assert (record["output_tokens"], record["cost_usd"]) == (10, None)
    assert record["unknown"] == {"input_tokens": 1, "output_tokens": 1, "cost_usd": 3}


def test_tools_are_listed_with_those_of_plugins(cli: "Cli"):
    listed = cli("tools", env=cli.plugin)
    assert (listed.code, listed.err) == (0, "")
    assert "calculator {expression}\n    " in listed.out
    assert "delete {path}  (asks for confirmation)\n    Delete a file.\n" in listed.out
    as_json = cli("tools", "--json", env=cli.plugin)
    assert [tool["name"] for tool in as_json.record] == ["calculator", "now", "delete", "wait"]


def test_version_and_completion(cli: "Cli"):
    assert cli("--version").out.startswith("micro-agent ")
    # A shell is looked for among the parents of the process.
    script = f"{sys.executable} -m micro_agent --show-completion; exit $?"
    shown = subprocess.run(
        ["bash", "-c", script], env=cli.environment(), cwd=cli.directory, capture_output=True, text=True, check=False
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "complete -o default -F _micro_agent_completion micro-agent" in shown.stdout
    completing = {"_MICRO_AGENT_COMPLETE": "complete_bash", "COMP_WORDS": "micro-agent re", "COMP_CWORD": "1"}
    assert cli(env=completing).out.split() == ["replay", "resume", "reject"]


def test_only_a_terminal_is_spared_control_characters(cli: "Cli", recorded: TraceStore):
    assert "\x1b[2JHow?" in cli("traces", "list").out
    ours, theirs = pty.openpty()
    assert cli.end(cli.start("traces", "list", stdout=theirs)).code == 0
    assert b"\\x1b[2JHow?\r\n" in os.read(ours, 4096)
    os.close(ours)
    os.close(theirs)
