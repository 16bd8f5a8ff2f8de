"""`micro-agent replay --verify` and `--fork-at`, `micro-agent traces diff`: what is printed, and the exit codes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent import MicroAgent, Run, Step
from micro_agent.testing import ModelServer, Reply, ScriptedLM, call, text
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from tests.cli.conftest import Command

QUESTION = "What is 6*7, step by step?"
ASKED = [call("calculator", {"expression": "6*7"}), call("calculator", {"expression": "42+0"})]


@pytest.fixture
def run(store: TraceStore) -> Run:
    """Two steps, then the answer, in traces/."""
    lm = ScriptedLM([*ASKED, text("It is 42.")])
    return MicroAgent(lm=lm, traces=store).ask(QUESTION)


# --verify


def test_runs_that_replay_end_with_0(command: "Command", run: Run) -> None:
    done = command("replay", "--verify", "traces")
    assert (done.code, done.out, done.err) == (0, "1 run: 1 the same, 0 differ, 0 could not be replayed\n", "")
    assert command("replay", "--verify", f"traces/{run.id}.jsonl", "traces").out.startswith("2 runs: 2 the same")
    assert command("replay", "--path", f"traces/{run.id}.jsonl", "--verify").code == 0


def test_the_first_divergence_of_each_run_is_told_with_exit_code_1(
    command: "Command", run: Run, store: TraceStore
) -> None:
    other = run.model_copy(deep=True, update={"id": "f" * 32, "answer": "43"})
    store.append(other)
    Path("traces/x.jsonl").write_text("garbage\n")
    done = command("replay", "--verify", "traces")
    assert done.code == 1
    assert done.out.splitlines()[-1] == "3 runs: 1 the same, 1 differ, 1 could not be replayed"
    assert f"differs  traces/{'f' * 32}.jsonl  {QUESTION}" in done.out
    assert "  the answer\n    expected: 43\n    got:      It is 42.\n" in done.out
    assert "not replayed  traces/x.jsonl: line 1: not readable" in done.out
    told = command("replay", "--verify", "traces", "--json")
    *verdicts, summary = map(json.loads, told.out.splitlines())
    assert told.code == 1
    assert summary == {"runs": 3, "same": 1, "differ": 1, "not_replayed": 1}
    by_source = {verdict["source"]: verdict for verdict in verdicts}
    assert by_source[f"traces/{run.id}.jsonl"]["outcome"] == "same"
    differs = by_source[f"traces/{'f' * 32}.jsonl"]
    assert differs["divergence"] == {"kind": "answer", "where": "the answer", "expected": "43", "got": "It is 42."}
    assert (differs["run_id"], differs["question"], differs["later"]) == ("f" * 32, QUESTION, None)


def test_an_index_picks_the_record_of_each_file(command: "Command", run: Run, store: TraceStore) -> None:
    store.append(run.model_copy(update={"answer": "43"}))
    assert command("replay", "--verify", "traces", "--index", "0").code == 0
    assert command("replay", "--verify", "traces").code == 1
    assert "it has no record 2, only 2" in command("replay", "--verify", "traces", "--index", "2").out


def test_read_only_tools_are_run_for_real_on_demand(command: "Command", run: Run, store: TraceStore) -> None:
    step = run.steps[0].model_copy(update={"observation": {"result": 41, "expression": "6*7"}})
    calls = [one.model_copy(update={"request": {}}) for one in run.calls]
    store.append(run.model_copy(update={"steps": [step, *run.steps[1:]], "calls": calls}))
    done = command("replay", "--verify", "traces")
    assert done.code == 0
    assert "note: request 1 has no digests on record" in done.out
    live = command("replay", "--verify", "traces", "--live-tools")
    assert live.code == 1
    assert "  step 1 (calculator), run for real: observation" in live.out
    assert "  the rest is as recorded" in live.out


def test_secrets_are_masked_in_what_is_printed(
    command: "Command", run: Run, store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(run.model_copy(update={"answer": "hunter2-hunter2"}))
    monkeypatch.setenv("SERVICE_TOKEN", "hunter2-hunter2")
    for more in ([], ["--json"]):
        done = command("replay", "--verify", "traces", *more)
        assert "hunter2" not in done.out
        assert "[env:SERVICE_TOKEN]" in done.out
    diff = command("traces", "diff", run.id, run.id, "--json")
    assert "hunter2" not in diff.out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--verify"], "nothing is named to verify"),
        (["--verify", "empty"], "no *.jsonl in the folder empty"),
        (["--verify", "x", "--fork-at", "1"], "--verify and --fork-at are two things"),
        (["x.jsonl", "y.jsonl"], "name one run: its ID, last, or the path of its trace"),
        (["--path", "x", "--live-tools"], "--live-tools goes with --verify"),
        (["--path", "x", "--model", "m"], "--model goes with --fork-at"),
        (["--fork-at", "1"], "name the run: its ID, last, or the path of its trace"),
        (["--verify", "x", "--model", "m"], "--model goes with --fork-at"),
    ],
)
def test_what_makes_no_sense_ends_with_2(command: "Command", tmp_path: Path, args: list[str], says: str) -> None:
    (tmp_path / "empty").mkdir()
    done = command("replay", *args)
    assert (done.code, done.out) == (2, "")
    assert says in done.err


# --fork-at


@pytest.fixture
def other() -> Iterator[ModelServer]:
    """Another model, which gives an answer at once."""

    def answer(request: Any) -> Reply:
        return text(f"After {sum(message['role'] == 'tool' for message in request.messages)} results: 42.")

    with ModelServer(answer) as server:
        yield server


def on(server: ModelServer) -> list[str]:
    return ["--provider", "openai", "--model", "other", "--base-url", server.openai_url]


def test_a_fork_goes_on_with_another_model_and_prints_as_ask_does(
    command: "Command", run: Run, store: TraceStore, other: ModelServer
) -> None:
    path = f"traces/{run.id}.jsonl"
    done = command("replay", "--path", path, "--fork-at", "1", *on(other))
    assert (done.code, done.out) == (0, "After 1 results: 42.\n")
    made = store.load(next(ident for ident in store.ids() if ident != run.id))
    assert done.err == f"Trace: traces/{made.id}.jsonl\n"
    assert (made.parent, made.model, made.mode, len(made.steps)) == (run.id, "openai/other", "native", 2)
    told = command("replay", "--path", path, "--fork-at", "1", "--json", "--mode", "json", *on(other))
    record = json.loads(told.out)
    assert (told.code, record["parent"], record["mode"]) == (0, run.id, "json")
    assert command("replay", "--verify", "traces").out.startswith("3 runs: 3 the same")
    streamed = command("replay", "--path", path, "--fork-at", "2", "--stream", *on(other))
    assert (streamed.code, streamed.out) == (0, "After 2 results: 42.\n")


def test_a_fork_keeps_the_model_the_server_the_mode_and_the_limits_of_its_run(
    command: "Command", store: TraceStore, other: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", other.openai_url)  # else the server of the record is a stranger
    started = command("ask", QUESTION, "--max-steps", "5", "--mode", "native", *on(other))
    (ident,) = store.ids()
    assert started.code == 3  # no tool was used: three answers against the rules
    path = f"traces/{ident}.jsonl"
    done = command("replay", "--path", path, "--fork-at", "0", "--json", "--max-steps", "1")
    record = json.loads(done.out)
    assert (done.code, record["termination_reason"], record["limits"]["max_steps"]) == (3, "max_steps", 1)
    assert (record["model"], record["base_url"], record["mode"]) == ("openai/other", other.openai_url, "native")
    record = json.loads(command("replay", "--path", path, "--fork-at", "0", "--json", "--model", "third").out)
    assert (record["model"], record["base_url"]) == ("openai/third", other.openai_url)
    assert record["limits"]["max_steps"] == 5
    mock = json.loads(command("replay", "--path", path, "--fork-at", "0", "--json", "--provider", "mock").out)
    assert (mock["model"], mock["base_url"]) == ("mock/rules", None)


def test_a_fork_that_is_not_possible_says_why(command: "Command", run: Run, other: ModelServer) -> None:
    done = command("replay", "--path", f"traces/{run.id}.jsonl", "--fork-at", "9", *on(other))
    assert (done.code, done.out) == (2, "")
    assert "has 2 steps: it can be forked at 0 to 2" in done.err
    done = command("replay", "--path", f"traces/{run.id}.jsonl", "--fork-at", "1")
    assert done.code == 2
    assert "resume it in Python, with that model" in done.err


# traces diff


def test_runs_are_compared_by_id_or_path(command: "Command", run: Run, store: TraceStore) -> None:
    same = command("traces", "diff", run.id, f"traces/{run.id}.jsonl")
    assert same.code == 0
    step = Step(tool="now", args={}, observation="12:00")
    store.append(run.model_copy(update={"id": "f" * 32, "steps": [run.steps[0], step], "parent": run.id}))
    differs = command("traces", "diff", run.id, "f" * 32)
    assert differs.code == 1
    lines = differs.out.splitlines()
    assert lines[1].endswith("(a fork of a)")
    assert [line[0] for line in lines if ". " in line[:6]] == [" ", "-", "+"]
    told = command("traces", "diff", run.id, "f" * 32, "--json")
    assert (told.code, json.loads(told.out)["same"]) == (1, False)
    missing = command("traces", "diff", run.id, "e" * 32)
    assert (missing.code, missing.out) == (1, "")
    assert "no trace of run" in missing.err


# --html


def test_a_run_is_written_as_a_page(command: "Command", run: Run) -> None:
    done = command("replay", run.id, "--html", "out/run.html")
    assert (done.code, done.out, done.err) == (0, "", "Page: out/run.html\n")
    assert QUESTION in Path("out/run.html").read_text("utf-8")
    both = command("replay", run.id, "--html", "run.html", "--json")
    assert (json.loads(both.out)["id"], Path("run.html").exists()) == (run.id, True)
    assert command("replay", "--verify", "traces", "--html", "x.html").err == (
        "micro-agent: --html shows a run: leave out --verify and --fork-at\n"
    )
    over = command("replay", "--path", f"traces/{run.id}.jsonl", "--html", f"traces/{run.id}.jsonl")
    assert over.code == 2
    assert "is the trace" in over.err
