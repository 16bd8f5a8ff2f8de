"""Tools of one's own on the command line: named as files or modules, with the built-in ones or without."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from micro_agent.testing import ModelServer, call, text

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

OWN = '''
from micro_agent import tool
from distances import KM

@tool
def convert_miles(miles: float) -> float:
    """Convert miles to kilometres."""
    return miles * KM

@tool(requires_confirmation=True)
def send(to: str) -> str:
    """Send a parcel."""
    return f"sent to {to}"
'''

TASK = '{"id": "a1", "question": "What is 2*8?", "expect_contains": "16"}\n'


@pytest.fixture
def own(cli: "Cli") -> Path:
    """A file of tools that imports its neighbour."""
    (cli.directory / "lib").mkdir()
    (cli.directory / "lib/own.py").write_text(OWN)
    (cli.directory / "lib/distances.py").write_text("KM = 1.609344\n")
    return Path("lib/own.py")


def on(server: ModelServer) -> list[str]:
    return ["--provider", "openai", "--base-url", server.openai_url, "--model", "scripted"]


def test_a_file_of_tools_is_asked_with_and_the_built_in_ones_can_be_left_out(cli: "Cli", own: Path):
    with ModelServer([call("convert_miles", {"miles": 100}), text("160.9344 km")]) as server:
        done = cli("ask", *on(server), "--tools", str(own), "--no-builtin-tools", "How far is 100 miles in km?")
        body = server.chats[0].body
    assert body is not None
    assert [tool["function"]["name"] for tool in body["tools"]] == ["convert_miles", "send"]
    assert (done.code, done.out) == (0, "160.9344 km\n")
    assert cli.trace()["steps"][0]["observation"] == 160.9344


@pytest.mark.torture
def test_the_installed_command_imports_from_the_working_directory_and_knows_files_in_the_variable(
    cli: "Cli", own: Path
):
    (cli.directory / "other.py").write_text("def other() -> str: return 'x'\nTOOLS = [other]\n")
    command = [Path(sys.executable).with_name("micro-agent"), "tools"]
    for env, more in (
        ({"TOOLS_MODULES": "other, lib/own.py"}, []),
        ({"TOOLS_MODULES": "no_such_module"}, ["--tools", "other", "--tools", "lib/own.py"]),
        ({"MICRO_AGENT_NO_BUILTIN_TOOLS": "1", "TOOLS_MODULES": "other,lib/own.py"}, []),
    ):
        done = subprocess.run(
            [*command, *more], cwd=cli.directory, env=cli.environment(env), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        names = [line.split()[0] for line in done.stdout.splitlines() if line[0] != " "]
        built_in = [] if "MICRO_AGENT_NO_BUILTIN_TOOLS" in env else ["calculator", "now"]
        assert names == [*built_in, "other", "convert_miles", "send"]


def test_settings_of_a_file_hold_until_an_option_says_otherwise(cli: "Cli", own: Path):
    (cli.directory / ".env").write_text("TOOLS_MODULES=lib/own.py\nMICRO_AGENT_NO_BUILTIN_TOOLS=true\n")
    (cli.directory / "other.py").write_text("def other() -> str: return 'x'\nTOOLS = [other]\n")
    of_file, given = cli("tools"), cli("tools", "--tools", "other.py")
    assert of_file.out.startswith("convert_miles {miles}\n")
    assert of_file.err == "micro-agent: TOOLS_MODULES in .env names code that is loaded: lib/own.py\n"
    assert (given.out.split()[0], given.err) == ("other", "")


@pytest.mark.parametrize(
    "command",
    [
        ["ask", "Why?"], ["eval", "run", "--tasks", "tasks.jsonl"], ["optimize", "--tasks", "tasks.jsonl"],
        ["serve", "--port", "0"], ["doctor"],
    ],
    ids=lambda command: command[0],
)  # fmt: skip
def test_what_cannot_be_loaded_ends_with_2_before_anything_is_asked(cli: "Cli", command: list[str]):
    (cli.directory / "tasks.jsonl").write_text(TASK + TASK.replace("a1", "b1"))
    (cli.directory / "bad.py").write_text("import math\n\nmath.nothing\n")
    with ModelServer() as server:
        named = ["--provider", "ollama", "--base-url", server.url, "--model", "scripted"]
        done = cli(*command, *named, "--tools", "bad.py")
        assert server.requests == []
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "micro-agent: the tools of bad.py cannot be loaded: "
        "bad.py:3: AttributeError: module 'math' has no attribute 'nothing'\n"
    )


def test_the_secrets_in_a_fault_are_masked(cli: "Cli"):
    (cli.directory / "bad.py").write_text("import os\nraise ValueError(os.environ['SOME_PASSWORD'])\n")
    done = cli("tools", "--tools", "bad.py", env={"SOME_PASSWORD": "sesame-of-the-test"})
    assert (done.code, "[env:SOME_PASSWORD]" in done.err, "sesame" in done.err) == (2, True, False)


def test_an_answer_without_the_calculator_is_taken_where_the_rule_is_left_out(cli: "Cli"):
    with ModelServer([text("It is 16.")], repeat=True) as server:
        asked = ["ask", *on(server), "What is 2*8?"]
        strict, free = cli(*asked), cli(*asked, "--no-required-tools")
        by_variable = cli(*asked, env={"MICRO_AGENT_NO_REQUIRED_TOOLS": "1"})
    assert [done.code for done in (strict, free, by_variable)] == [3, 0, 0]
    assert (free.out, by_variable.out) == ("It is 16.\n", "It is 16.\n")


def test_the_other_rules_stay(cli: "Cli"):
    with ModelServer([call("calculator", {"expression": "1+1"})], repeat=True) as server:
        done = cli("ask", *on(server), "--no-required-tools", "--max-steps", "20", "What is it?")
    assert (done.code, cli.trace()["termination_reason"]) == (3, "repetition")


def test_the_clock_without_the_built_in_tools_is_no_fault(cli: "Cli"):
    with ModelServer([text("Hello.")]) as server:
        assert cli("ask", *on(server), "--no-builtin-tools", "--utc", "Hi").code == 0


def test_a_paused_run_is_resumed_with_the_tools_that_it_was_asked_with(
    cli: "Cli", own: Path, run_id: Callable[[str], str]
):
    with ModelServer([call("send", {"to": "Ann"}), text("Sent.")]) as server:
        env = {"OPENAI_BASE_URL": server.openai_url}
        options = ["--tools", str(own), "--no-builtin-tools", "--no-required-tools"]
        paused = cli("ask", *on(server), *options, "Send it to Ann", env=env)
        run = run_id(paused.err)
        assert paused.code == 4
        assert f"Resume:  micro-agent resume {run} {' '.join(options)}\n" in paused.err
        assert cli("approve", run, env=env).code == 0
        without = cli("resume", run, env=env)
        done = cli("resume", run, *options, env=env)
    assert (without.code, without.out) == (2, "")
    told = f"run {run} uses tools that are not loaded: send; resume it with the --tools that it was asked with"
    assert without.err == f"micro-agent: {told}\n"
    assert (done.code, done.out) == (0, "Sent.\n")
    assert "The tools are not" not in done.err


def test_resuming_with_other_tools_is_told(cli: "Cli", own: Path, run_id: Callable[[str], str]):
    with ModelServer([call("send", {"to": "Ann"}), text("Sent.")]) as server:
        env = {"OPENAI_BASE_URL": server.openai_url}
        run = run_id(cli("ask", *on(server), "--tools", str(own), "Send it to Ann", env=env).err)
        assert cli("approve", run, env=env).code == 0
        done = cli("resume", run, "--tools", str(own), "--no-builtin-tools", env=env)
    assert done.err.startswith("The tools are not those that the run began with; the model is offered those of now.\n")
    assert (done.code, done.out) == (0, "Sent.\n")


def test_a_run_with_own_tools_is_verified_and_forked_with_them(cli: "Cli", own: Path):
    with ModelServer([call("convert_miles", {"miles": 1}), text("1.609344"), text("1.609344 km")]) as server:
        env = {"OPENAI_BASE_URL": server.openai_url}
        cli("ask", *on(server), "--tools", str(own), "--no-required-tools", "A mile?", env=env)
        (trace,) = (cli.directory / "traces").glob("*.jsonl")
        options = ["--tools", str(own), "--no-required-tools"]
        verified = cli("replay", "--verify", str(trace), *options)
        forked = cli("replay", "--path", str(trace), "--fork-at", "1", *options, env=env)
    assert (verified.code, verified.out) == (0, "1 run: 1 the same, 0 differ, 0 could not be replayed\n")
    assert (forked.code, forked.out) == (0, "1.609344 km\n")
    alone = cli("replay", "--path", str(trace), *options)
    assert (alone.code, "--tools goes with" in alone.err) == (2, True)


def test_an_eval_without_the_rule_is_resumed_without_it(cli: "Cli"):
    (cli.directory / "tasks.jsonl").write_text(TASK)
    with ModelServer([text("It is 16.")], repeat=True) as server:
        options = ["--tasks", "tasks.jsonl", "--out", "r.jsonl", "--no-required-tools", *on(server)]
        done = cli("eval", "run", *options)
        assert (done.code, done.out.startswith("success_rate: 1.000")) == (0, True), done
        again = cli("eval", "run", "--resume", "r.jsonl", env={"OPENAI_BASE_URL": server.openai_url})
        other = cli("eval", "run", *options[:2], "--out", "s.jsonl", *on(server))
    assert again.code == 0
    assert other.out.startswith("success_rate: 0.000")
    refused = cli("eval", "run", "--resume", "s.jsonl", "--no-required-tools")
    assert (refused.code, "--no-required-tools is not what s.jsonl was begun with" in refused.err) == (2, True)
