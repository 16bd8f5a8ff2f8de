"""A run is named by its id, by how it begins, or as the last one, wherever a command takes one."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from micro_agent.run import Run
from micro_agent.testing import ModelServer, call, text
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, Command

A, B, C = "aaaa1" + "0" * 27, "aaaa2" + "0" * 27, "bbbb0" + "0" * 27


@pytest.fixture
def recorded(tmp_path: Path) -> TraceStore:
    """Three runs, C the latest."""
    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
    for age, run_id in enumerate((C, B, A)):
        run = Run(
            id=run_id, question=f"Why {run_id[:5]}?", answer="So.", status="completed", termination_reason="final"
        )
        path = store.append(run)
        os.utime(path, (1e9 - age, 1e9 - age))
    return store


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("named", ["bbbb", C[:20], C, "last"])
@pytest.mark.parametrize("shown", [["replay"], ["traces", "show"]])
def test_a_run_is_shown_by_any_of_its_names(command: "Command", named: str, shown: list[str]):
    done = command(*shown, named)
    assert (done.code, done.err) == (0, "")
    assert f"Run {C}" in done.out


@pytest.mark.usefixtures("recorded")
def test_runs_are_compared_and_verified_by_name(command: "Command"):
    assert command("traces", "diff", "aaaa1", "last").out.startswith(f"a  {A}")
    verified = command("replay", "--verify", "last", "aaaa1").out
    assert (C in verified, B in verified, A in verified) == (True, False, True)
    Path("bbbb").mkdir()  # what is there is meant
    assert "no *.jsonl in the folder bbbb" in command("replay", "--verify", "bbbb").err


@pytest.mark.usefixtures("recorded")
def test_what_names_no_run_or_several_says_which_there_are(command: "Command"):
    several = command("traces", "show", "aaaa")
    assert (several.code, several.out) == (2, "")
    assert (
        several.err == "micro-agent: aaaa is the beginning of 2 runs: aaaa20000000…, aaaa10000000…; type more of it\n"
    )
    none = command("replay", "cccc")
    assert (none.code, none.out) == (1, "")
    latest = "the latest are bbbb00000000…, aaaa20000000…, aaaa10000000…"
    assert none.err == f"micro-agent: no run in traces begins with cccc; {latest}\n"
    short = command("traces", "show", "aaa")
    assert (short.code, "the first 4 or more will do, and so will last" in short.err) == (2, True)


def test_where_there_is_no_run_the_last_one_is_none(command: "Command", monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", "state")
    assert command("replay", "last").err == "micro-agent: there is no run in traces\n"
    assert command("traces", "show", "abcd").err == "micro-agent: no run in traces begins with abcd\n"
    assert command("approve", "last").err == "micro-agent: no run waits for a decision\n"
    assert command("resume", "last").err.startswith("micro-agent: no run waits to be resumed")


def test_a_waiting_run_is_decided_and_resumed_by_name(cli: "Cli"):
    with ModelServer([call("delete", {"path": "a"}), text("Gone.")] * 2) as server:
        env = {**cli.plugin, "OPENAI_BASE_URL": server.openai_url, "OPENAI_MODEL": "scripted"}
        for name in ("last", ""):
            assert cli("ask", "Delete it", env=env).code == 4
            (journal,) = (cli.directory / ".local/state/micro-agent/runs").glob("*.journal")
            named = name or journal.stem[:4]
            assert cli("reject", named, "--feedback", "no", env=env).code == 0
            assert cli("approve", "last", env=env).err == "micro-agent: no run waits for a decision\n"
            assert cli("resume", named, env=env).out == "Gone.\n"
