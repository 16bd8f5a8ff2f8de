"""`micro-agent code`: a task in a repository, what is said at its end, and how its run is gone on with."""

import re
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent.cli.code_options import CodeOptions
from micro_agent.cli.repository import Held
from micro_agent.coding.coach import CoachSettings
from micro_agent.coding.workplace import store_of
from micro_agent.testing import ModelServer, Reply, call, text
from micro_agent.testing.script import Received
from tests.cli.terminal import Terminal
from tests.coding.repositories import repository, with_pytest
from tests.each import each

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, Command

FIX = {"path": "sums.py", "target": "a - b", "replacement": "a + b"}
PATCH = {
    "intent": "Add.",
    "file_path": "sums.py",
    "original_content": "    return a - b",
    "new_content": "    return a + b",
}
LOOKS: list[Reply] = [call("rg_search", {"pattern": "def add"}), call("read_file", {"path": "sums.py"})]
TASK = "The test of add fails. Fix it."
READS = "\x1b[?2004h"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, with all state in the test's directory."""
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("RESAMPLES", "0")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LLM_PROVIDER", "GATE_MODE", "GATE_ENABLED", "TEMPERATURE"):
        monkeypatch.delenv(name, raising=False)
    return repository(tmp_path / "repo")


def on(server: ModelServer, repo: Path, *more: str) -> list[str]:
    return ["--repo", str(repo), "--api-base", server.openai_url, "--model-id", "openai/scripted", *more]


def patch_in(messages: Any) -> str:
    found = re.search(r"patch_[0-9a-f]{10}", str(messages))
    return found[0] if found else ""


def test_a_task_is_done_with_a_decision_from_another_terminal_and_all_of_it_is_told(cli: "Cli"):
    repo = with_pytest(repository(cli.directory / "repo"))
    script: list[Callable[[Received], Reply]] = [
        *(lambda _, reply=reply: reply for reply in LOOKS),
        lambda _: call("run_tests", {}),
        lambda _: call("propose_patch", PATCH),
        lambda asked: call("apply_patch", {"patch_id": patch_in(asked.messages)}),
        lambda _: text("Done."),
        lambda _: call("run_tests", {}),
        lambda _: text("add adds; the test passes."),
    ]
    replies = iter(script)

    def answered(asked: Received) -> Reply:
        return text(asked.yes) if asked.yes is not None else next(replies)(asked)

    with ModelServer(answered) as server:
        paused = cli("code", *on(server, repo), TASK)
        first = server.chats[0].body or {}
        assert paused.code == 4, paused.err
        assert "+    return a + b" in paused.err
        patch = patch_in(paused.err)
        assert f"Patch: {patch} (waiting)\nRan: pytest -q (exit 1)\nGates: understanding" in paused.err, paused.err
        decide, resume = (
            re.search(rf"micro-agent ({word} .*?)(   or|\n)", paused.err) for word in ("approve", "resume")
        )
        assert decide is not None
        assert resume is not None
        assert cli(*decide[1].split()).code == 0
        done = cli(*resume[1].split())
    assert (done.code, done.out) == (0, "add adds; the test passes.\n"), done.err
    assert (repo / "sums.py").read_text() == "def add(a, b):\n    return a + b\n"
    state = cli.directory / ".local/state/micro-agent/repos"
    (trace,) = state.glob("*/traces/*.jsonl")
    assert done.err.splitlines()[-6:] == [
        "Changed: sums.py",
        f"Patch: {patch} (applied)",
        "Ran: pytest -q (exit 1)",
        "Ran: pytest -q (exit 0)",
        "Gates: understanding, change, verification, readiness passed",
        f"Trace: {trace}",
    ]
    assert (first["temperature"], len(first["messages"])) == (0.1, 2)
    verified = cli("replay", "last", "--repo", str(repo), "--verify")
    assert (verified.code, verified.out) == (0, "1 run: 1 the same, 0 differ, 0 could not be replayed\n")


def test_what_is_named_counts_and_a_run_is_gone_on_with_as_it_was_coached(
    command: "Command", repo: Path, monkeypatch: pytest.MonkeyPatch
):
    options = ["--gates", "warn", "--edit-format", "udiff", "--prompt", "detailed", "--state-summary", "detailed",
               "--exemplars", "0", "--corrections", "1", "--no-hints", "--require-green", "--sandbox", "clone",
               "--max-steps", "4", "--approve", "never"]  # fmt: skip
    script = [call("read_file", {"path": "sum.py"}), call("propose_patch", PATCH), text("No."), text("Forked."),
              text("More.")]  # fmt: skip
    with ModelServer(script) as server:
        done = command("code", *on(server, repo, *options), "--json", TASK)
        run = done.record
        assert (done.code, run["answer"]) == (0, "No."), done.err
        assert run["coach"] == CoachSettings(
            gates="warn", edits="udiff", prompt="detailed", state="detailed", exemplars=0, corrections=1, hints=False,
            require_green=True,
        ).record()  # fmt: skip
        missing, unknown = run["steps"][0]["observation"], run["steps"][1]
        assert (missing["error"], missing.get("recovery_suggestion")) == ("FILE_NOT_FOUND", None)
        assert unknown["error"] == "UNKNOWN_TOOL"
        assert run["limits"]["max_steps"] == 4
        assert "Gates: none passed; understanding lacks" in done.err, done.err
        verified = command("replay", "last", "--repo", str(repo), "--verify")
        assert verified.out == "1 run: 1 the same, 0 differ, 0 could not be replayed\n"
        forked = command("replay", "last", "--repo", str(repo), "--fork-at", "2", "--base-url", server.openai_url,
                         "--approve", "never", "--json")  # fmt: skip
        assert (forked.code, forked.record["answer"]) == (0, "Forked."), forked.err
        assert [forked.record[name] for name in ("coach", "system")] == [run["coach"], run["system"]]
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"And more?\n")))
        chat = command("chat", "--resume", forked.record["id"], "--repo", str(repo), "--base-url", server.openai_url,
                       "--model", "scripted")  # fmt: skip
        said = server.chats[-1].body or {}
    assert (chat.code, chat.out) == (0, "More.\n"), chat.err
    assert said["messages"][0] == (server.chats[0].body or {})["messages"][0]
    assert "propose_patch" not in {tool["function"]["name"] for tool in said["tools"]}
    last = store_of(repo).load(chat.err.split("--resume ")[-1][:32])
    assert (last.coach, last.limits and last.limits["max_steps"]) == (run["coach"] | {"gates": "off"}, 4)


def test_a_chat_over_the_repository_has_no_gates_unless_they_are_named(cli: "Cli"):
    repo = repository(cli.directory / "repo")
    terminal = Terminal()
    env = {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
    streams = {"stdin": terminal.other, "stderr": terminal.other, "stdout": terminal.other}
    with ModelServer([text("It adds.")]) as server:
        process = cli.start("code", *on(server, repo), env=env, **streams)
        terminal.until(READS)
        terminal.type("What is it?\r")
        terminal.until("It adds.")
        terminal.until(READS)
        terminal.type("\x04")
        said = terminal.until(f" --repo {repo}")
        assert process.wait(30) == 0
    store = store_of(repo, state_dir=cli.directory / ".local/state/micro-agent")
    assert (store.load(said.split("--resume ")[-1][:32]).coach or {})["gates"] == "off"


@each(
    ("args", "env", "gates"),
    [([], {}, "off"), (["--gates", "warn"], {"GATE_MODE": "block"}, "warn"), ([], {"GATE_MODE": "blocking"}, "block")],
)
def test_a_chat_has_the_gates_that_are_named(args: list[Any], env: dict[str, str], gates: str, tmp_path: Path):
    repo = repository(tmp_path / gates)
    with pytest.MonkeyPatch.context() as patched:
        for name, value in (env | {"MICRO_AGENT_STATE_DIR": str(tmp_path / "state")}).items():
            patched.setenv(name, value)
        options = CodeOptions(repo=repo, provider="mock", sandbox=Held.clone, gates=args[1] if args else None)
        coach = options.coached(chats=True).agent.ask("What is 1+1?").coach
    assert (coach or {})["gates"] == gates


def test_gates_that_are_off_are_not_told_of(command: "Command", repo: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)
    done = command("code", "--repo", str(repo), "--gates", "off", "--provider", "mock", "--sandbox", "clone", "Hello.")
    assert "Changed: nothing\nTrace: " in done.err, done.err


def test_a_folder_that_is_no_repository_is_told(command: "Command", repo: Path):
    plain = repo.with_name("plain")
    plain.mkdir()
    done = command("code", "--repo", str(plain), "--provider", "mock", "Fix it.")
    assert f"{plain} is in no git repository, so git can take nothing back there: make one with git init\n" in done.err


@each(
    ("args", "told"),
    [
        ([], 'there is no question; try: micro-agent code "The test of add fails. Fix it."'),
        (["Fix", "it."], "there is more than one task: put one into quotes, or give a plan alone"),
        (["Fix it.", "--plan", "plan.yaml"], "there is more than one task"),
        (["plan", "nowhere.yaml"], "nowhere.yaml"),
        (["plan"], "name the file of the plan: micro-agent code plan FILE"),
        (["Fix it.", "--retry"], "--retry goes with a plan: micro-agent code plan FILE --retry"),
        (["Fix it.", "--state", "s.json"], "--state goes with a plan"),
        (["--plan", "nowhere.yaml"], "nowhere.yaml"),
        (["Fix it.", "--max-steps", "0"], "max_steps must be a positive whole number, not 0"),
        (["Fix it.", "--edit-format", "ed"], "--edit-format"),
        (["Fix it.", "--think", "--provider", "mock"], "--think and --no-think go with Ollama"),
        (["Fix it.", "--tools", "repo/sums.py", "--provider", "mock"], "a file of tools (--tools, TOOLS_MODULES) is"),
    ],
)
def test_wrong_usage_is_told_in_one_line(
    args: list[str], told: str, command: "Command", repo: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "stdin", None)
    done = command("code", "--repo", str(repo), *args)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
