"""``--repo`` on the command line: which repository is meant, where its runs are, and what is refused."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from micro_agent.coding.workplace import store_of
from micro_agent.testing import ModelServer, call, text
from tests.coding.repositories import repository

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

RunIds = list[str]
FIX = {"path": "sums.py", "target": "a - b", "replacement": "a + b"}


@pytest.fixture
def repo(cli: "Cli") -> Path:
    """A repository in the folder ``my repo`` of the working directory."""
    return repository(cli.directory / "my repo")


def on(server: ModelServer) -> list[str]:
    return ["--provider", "openai", "--base-url", server.openai_url, "--model", "scripted"]


def state(cli: "Cli", repo: Path) -> Path:
    return store_of(repo, state_dir=cli.directory / ".local/state/micro-agent").state_dir


@pytest.mark.parametrize("args", [["--repo", "my repo"], ["--repo", "my repo/tests", "--toolset", "coding"]])
def test_a_repository_has_the_coding_tools_alone_and_its_own_state(cli: "Cli", repo: Path, args: list[str]):
    with ModelServer([call("read_file", {"path": "README.md"}), text("It adds.")]) as server:
        done = cli("ask", *on(server), *args, "What is 2+3, and what is it?")
        first = server.chats[0].body
    assert (done.code, done.out) == (0, "It adds.\n"), done.err
    assert first is not None
    names = [tool["function"]["name"] for tool in first["tools"]]
    assert names[0] == "repo_info"
    assert not {"calculator", "now"} & set(names)
    assert "You work in one git repository" in first["messages"][0]["content"]
    (trace,) = (state(cli, repo) / "traces").iterdir()
    assert f"Trace: {trace}" in done.err
    assert cli("traces", "list").err == "No run in traces.\n"
    listed = cli("traces", "list", "--repo", "my repo/tests")
    assert listed.out.startswith(trace.stem)
    assert "1. read_file" in cli("traces", "show", "last", "--repo", "my repo").out
    assert "runs: 1" in cli("traces", "stats", "--repo", "my repo").out
    assert cli("traces", "diff", "last", "last", "--repo", "my repo").code == 0
    (cli.directory / "last").write_text("forged")
    assert "1. read_file" in cli("replay", "last", "--repo", "my repo").out
    assert cli("replay", "last", "--repo", "my repo", "--verify").code == 0


def test_the_toolset_alone_means_the_repository_of_the_working_directory(cli: "Cli", repo: Path):
    inside = type(cli)(repo / "tests", cli.warm)
    env = {"HOME": str(cli.directory)}
    named = inside("tools", "--toolset", "coding", env=env)
    assert named.out == inside("tools", env=env | {"MICRO_AGENT_REPO": ".."}).out
    assert named.out == inside("tools", env=env | {"MICRO_AGENT_TOOLSET": "coding"}).out
    assert named.out == cli("tools", "--repo", str(repo)).out
    assert named.out.startswith("repo_info {}\n")


def test_a_call_is_decided_from_another_terminal_and_the_run_goes_on(cli: "Cli", repo: Path):
    (cli.directory / "own.py").write_text("def own() -> str: return 'x'\n\nTOOLS = [own]\n")
    again = f" --repo '{repo}'"
    with ModelServer(
        [call("edit_file", FIX), call("edit_file", FIX | {"target": "a + b", "replacement": "b"}), text("Done.")]
    ) as server:
        paused = cli("ask", *on(server), "--repo", "my repo", "--sandbox", "auto", "--tools", "own.py", "Fix it.")
        (journal,) = (state(cli, repo) / "runs").glob("*.journal")
        ident = journal.stem
        assert paused.code == 4, paused.err
        assert (
            f"Decide:  micro-agent approve {ident}{again}   or   micro-agent reject {ident}{again} --fe" in paused.err
        )
        assert f"Resume:  micro-agent resume {ident}{again} --tools own.py\n" in paused.err
        assert "no run waits" in cli("approve", "last").err
        approved = cli("approve", "last", "--repo", "my repo")
        assert approved.code == 0, approved.err
        assert f"Resume it with: micro-agent resume {ident}{again}\n" in approved.err
        assert f"{ident}  " in cli("resume", "--list", "--repo", "my repo").out
        second = cli("resume", ident, "--repo", "my repo", "--tools", "own.py")
        assert (second.code, (repo / "sums.py").read_text()) == (4, "def add(a, b):\n    return a + b\n"), second.err
        rejected = cli("reject", "last", "--repo", "my repo", "--feedback", "that is right as it is")
        assert rejected.code == 0, rejected.err
        done = cli("resume", "--last", "--repo", "my repo", "--tools", "own.py")
    assert (done.code, done.out) == (0, "Done.\n"), done.err


def test_a_chat_about_a_repository_says_how_to_go_on_with_it(cli: "Cli", repo: Path):
    with ModelServer([text("It adds."), text("Two numbers.")]) as server:
        done = cli("chat", *on(server), "--repo", "my repo", stdin="What is it?\nWhat does it add?\n")
    assert (done.code, done.out) == (0, "It adds.\nTwo numbers.\n"), done.err
    assert done.err.splitlines()[-1].endswith(f" --repo '{repo}'")


def test_a_fork_of_a_run_stays_in_the_repository(cli: "Cli", repo: Path):
    with ModelServer([text("It adds."), text("It adds two numbers.")]) as server:
        assert cli("ask", *on(server), "--repo", "my repo", "What is it?").code == 0
        forked = cli("replay", "last", "--repo", "my repo", "--fork-at", "0", "--base-url", server.openai_url)
    assert (forked.code, forked.out) == (0, "It adds two numbers.\n"), forked.err
    assert len(list((state(cli, repo) / "traces").iterdir())) == 2


def test_a_program_that_is_installed_in_the_repository_says_so(cli: "Cli"):
    ours = Path(__file__).resolve().parents[2]
    listed = cli("tools", "--repo", str(ours), "--sandbox", "clone")
    assert listed.out.startswith("repo_info {}\n")
    warned = listed.err.splitlines()[0]
    assert warned.startswith("micro-agent: the program imports from the repository, where the model can write: ")
    assert str(ours) in warned


def test_a_server_can_work_in_a_repository(cli: "Cli", repo: Path):
    (repo / ".env").write_text("MICRO_AGENT_HOST=192.0.2.1\n")
    inside, env = type(cli)(repo, cli.warm), {"HOME": str(cli.directory), "GATE_MODE": "blocking"}
    looks = [call("rg_search", {"pattern": "add"}), call("read_file", {"path": "README.md"})]
    with ModelServer([*looks, text("It adds."), text("It adds: no change is needed.")]) as model:
        process = inside.start("serve", *on(model), "--repo", ".", "--port", "0", env=env)
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"micro-agent: .env is not read")
        listens = process.stderr.readline().decode()
        try:
            url = listens.removeprefix("micro-agent listens on ").strip()
            answer = httpx.post(f"{url}/ask", json={"question": "What is it?"}, trust_env=False, timeout=60).json()
        finally:
            process.kill()
            process.communicate()
    assert answer["answer"] == "It adds: no change is needed.", answer
    (trace,) = (state(cli, repo) / "traces").iterdir()
    assert trace.stem == answer["trace_id"]
    (record,) = map(json.loads, trace.read_text().splitlines())
    assert (record["coach"]["gates"], record["gates"]["all_passed"]) == ("block", True)


@pytest.mark.parametrize(
    ("args", "env", "told"),
    [
        (["--repo", "nowhere"], {}, "the repository 'nowhere' is not there: name the folder of one"),
        (["--repo", "own.py"], {}, "the repository 'own.py' is not a folder: name the folder of one"),
        (["--sandbox", "bwrap"], {}, "--sandbox goes with --repo DIR, whose commands it holds"),
        (["--repo", "my repo", "--tools", "my repo/sums.py"], {}, "a file of tools (--tools, TOOLS_MODULES) is 'my"),
        (["--repo", "my repo"], {"TOOLS_MODULES": "own.py,./my repo/sums.py"}, "a file of tools (--tools, TOOLS_MO"),
        (["--repo", "my repo"], {"TOOLS_MODULES": "sums"}, "the tools of sums cannot be loaded: there is no module"),
        (["--repo", "my repo"], {"TRACES_DIR": "my repo/traces"}, "the folder of traces (--traces-dir, TRACES_DIR) is"),
        (["--repo", "my repo"], {"MICRO_AGENT_STATE_DIR": "my repo/.state"}, "MICRO_AGENT_STATE_DIR is 'my repo/.sta"),
        (["--repo", "my repo"], {"MICRO_AGENT_STATE_DIR": "."}, "is inside MICRO_AGENT_STATE_DIR, which is closed"),
    ],
)  # fmt: skip
def test_what_is_refused(cli: "Cli", repo: Path, args: list[str], env: dict[str, str], told: str):
    (cli.directory / "own.py").write_text("def own() -> str: return 'x'\n\nTOOLS = [own]\n")
    done = cli("ask", "--provider", "mock", *args, "What is it?", env={"PYTHONPATH": str(repo), **env})
    assert (done.code, done.out) == (2, "")
    assert told in done.err
