"""`micro-agent eval`: figures on standard output, the way to go on on standard error, and an exit code for CI."""

import json
import os
import pty
import shlex
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.results import ResultFile, read_results
from micro_agent.testing import ModelServer, Received, Reply, call, error, text
from micro_agent.traces import TraceStore
from tests.warm import Warm, empty_environment

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, Command

pytestmark = pytest.mark.usefixtures("prose_is_final")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def evaluate(command: "Command") -> "Command":
    """``micro-agent eval`` in this process, in a directory of the test's own with the tasks t0 to t5."""
    write_tasks(6)
    return partial(command, "eval")


def write_tasks(count: int, name: str = "tasks.jsonl") -> None:
    """Every third task expects what the model does not say; t0 is the first."""
    lines = [
        {"id": f"t{n}", "question": f"Say word{n}.", "expect_contains": f"word{n}" if n % 3 else "nothing",
         "tags": ["odd" if n % 2 else "even"]}
        for n in range(count)
    ]  # fmt: skip
    Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines))


def model(request: Received) -> Reply:
    """Says the word that it is asked to say."""
    return text(request.messages[-1]["content"].removeprefix("Say "), usage=(100, 10))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(model) as server:
        yield server


def on(server: ModelServer | str, *more: str, tasks: str = "tasks.jsonl") -> list[str]:
    url = server if isinstance(server, str) else server.openai_url
    return ["run", "--tasks", tasks, "--base-url", url, "--model", "m", "--out", "r.jsonl", *more]


def results(name: str = "r.jsonl") -> tuple[Header, list[Result]]:
    header, read = read_results(name)
    return header, list(read)


def said(server: ModelServer) -> list[str]:
    return [chat.messages[-1]["content"] for chat in server.chats]


def test_the_figures_are_printed_and_everything_is_on_disk(evaluate: "Command", server: ModelServer, tmp_path: Path):
    done = evaluate(*on(server, "--concurrency", "2", "--timeout", "60", "--traces-dir", "kept"))
    assert done.code == 0
    assert done.out.splitlines()[0].startswith("success_rate: 0.667 [0.300, 0.903]")
    assert "openai m" in done.out.split("answered by:")[1]
    assert "6/6  success 66.7%" in done.err
    assert done.err.splitlines()[-1] == "Results: r.jsonl"
    header, read = results()
    assert sorted(result.key for result in read) == [(f"t{n}", 0) for n in range(6)]
    assert {result.task.id: result.success for result in read}["t3"] is False
    assert all(result.run.limits["max_time"] == 60 for result in read)
    assert {key: header.settings[key] for key in ("provider", "model", "base_url", "mode", "max_time")} == {
        "provider": "openai", "model": "openai/m", "base_url": server.openai_url, "mode": "auto", "max_time": 60,
    }  # fmt: skip
    kept = TraceStore("kept", state_dir=tmp_path / "state")
    assert sorted(kept.ids()) == sorted(result.run.id for result in read)
    assert {result.trace for result in read} == {f"kept/{run_id}.jsonl" for run_id in kept.ids()}
    assert [chat.body.get("seed") for chat in server.chats if chat.body] == [None] * 6


def test_runs_are_written_beside_the_result_file_and_not_among_those_of_ask(
    evaluate: "Command", command: "Command", server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRACES_DIR", "mine")
    evaluate(*on(server, "--n", "2"))
    lines = Path("r.jsonl").read_text().splitlines(keepends=True)
    Path("r.jsonl").write_text("".join(lines[:-1]))
    evaluate("run", "--resume", "r.jsonl")
    assert not Path("mine").exists()
    assert not Path("traces").exists()
    read = results()[1]
    assert {result.trace for result in read} <= {str(path) for path in Path("r.traces").iterdir()}
    shown = command("replay", "--path", str(read[0].trace))
    assert (shown.code, f"Question: {read[0].task.question}" in shown.out) == (0, True)


def test_on_a_terminal_the_tasks_that_failed_are_named_with_a_command_that_shows_one(
    evaluate: "Command", cli: "Cli", server: ModelServer
):
    ours, theirs = pty.openpty()
    args = on(server, "--json", "--concurrency", "2")
    done = cli.end(cli.start("eval", *args, stderr=theirs, env={"COLUMNS": "120"}))
    os.close(theirs)
    seen = b""
    with suppress(OSError):  # the other end is closed
        while True:
            seen += os.read(ours, 65536)
    os.close(ours)
    failed = {result.task.id: result for result in results()[1] if not result.success}
    assert list(json.loads(done.out)) == list(json.loads(evaluate("report", "r.jsonl", "--json").out))
    assert seen.decode().splitlines()[-5:] == [
        "failed: 2 of 6 tasks",
        "  t0  contains: expected 'nothing'; the answer is 'word0.'",
        "  t3  contains: expected 'nothing'; the answer is 'word3.'",
        f"show the first: micro-agent replay --path r.traces/{failed['t0'].run.id}.jsonl",
        "Results: r.jsonl",
    ]
    shown = cli(*shlex.split(seen.decode().splitlines()[-2].split("micro-agent ")[1]))
    assert "Question: Say word0." in shown.out
    Path("r.jsonl").unlink()
    assert "failed: " not in evaluate(*args).err


def test_tasks_are_drawn_by_tag_and_number_and_the_figures_can_be_json(evaluate: "Command", server: ModelServer):
    done = evaluate(*on(server, "--tag", "odd", "--n", "2", "--seed", "3", "--json"))
    figures = json.loads(done.out)
    assert (done.code, figures["n"], list(figures["by_tag"])) == (0, 2, ["odd"])
    header, _ = results()
    assert (header.seed, header.settings["tags"], len(header.tasks)) == (3, ["odd"], 2)
    assert [chat.body.get("seed") for chat in server.chats if chat.body] == [3, 3]


def test_a_new_file_has_a_name_of_its_own_and_rubrics_beside_the_tasks_count(evaluate: "Command", server: ModelServer):
    Path("rubrics.yaml").write_text("weights: {contains: 3}\n")
    done = evaluate(*[arg for arg in on(server, "--no-use-tool-calls") if arg not in ("--out", "r.jsonl")])
    (path,) = Path("evals/results").glob("*.jsonl")
    header, _ = read_results(path)
    assert done.err.splitlines()[-1] == f"Results: {path}"
    assert path.name == f"{header.ts[:19].replace('-', '').replace(':', '')}Z-{header.id[:8]}.jsonl"
    assert (header.rubric.weights["contains"], header.settings["mode"]) == (3, "json")


@pytest.mark.parametrize(("threshold", "code"), [("0.66", 0), ("0.67", 100)])
def test_a_success_rate_under_the_threshold_has_its_own_exit_code(
    threshold: str, code: int, evaluate: "Command", server: ModelServer
):
    done = evaluate(*on(server, "--threshold", threshold))
    assert done.code == code
    assert ("The success rate 0.667 is under the threshold 0.67." in done.err) == (code == 100)


def test_each_epoch_has_its_seed_and_the_figures_know_the_epochs(evaluate: "Command", server: ModelServer):
    done = evaluate(*on(server, "--epochs", "2", "--seed", "10", "--json", "--concurrency", "1"))
    assert [chat.body.get("seed") for chat in server.chats if chat.body] == [10] * 6 + [11] * 6
    figures = json.loads(done.out)
    assert (figures["n"], figures["tasks"], figures["epochs"]) == (12, 6, 2)
    assert {(result.epoch, result.seed) for result in results()[1]} == {(0, 10), (1, 11)}


def test_a_limit_on_the_cost_stops_the_eval_which_can_go_on(
    evaluate: "Command", server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_INPUT_PRICE_PER_1K", "1")
    monkeypatch.setenv("OPENAI_OUTPUT_PRICE_PER_1K", "0")
    done = evaluate(*on(server, "--limit-cost", "0.25", "--concurrency", "1", "--threshold", "1"))
    assert (done.code, len(server.chats)) == (3, 3)
    assert done.err.splitlines()[-2:] == [
        "Stopped: 0.3 USD were spent; the limit is 0.25 USD",
        "Go on with: micro-agent eval run --resume r.jsonl",
    ]
    assert "\nn: 3" in done.out
    again = evaluate("run", "--resume", "r.jsonl")
    assert (again.code, len(server.chats), len(set(said(server)))) == (0, 6, 6)


def test_a_limit_that_cannot_be_held_stops_the_eval(evaluate: "Command", server: ModelServer):
    done = evaluate(*on(server, "--limit-cost", "1", "--concurrency", "1"))
    assert (done.code, len(server.chats)) == (3, 1)
    assert "the cost so far is unknown, so the limit of 1 USD cannot be held" in done.err


def test_a_server_that_is_not_there_is_no_measurement(evaluate: "Command", monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("micro_agent.models.retry.BACKOFF_S", ())  # nobody waits for second tries
    write_tasks(30)
    with socket.socket() as held:  # bound, so that no other test can listen there
        held.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        done = evaluate(*on(gone, "--concurrency", "1"))
    assert (done.code, done.out) == (1, "")
    assert "10 runs in a row never reached a model: cannot reach http://127.0.0.1:" in done.err
    assert done.err.splitlines()[-1] == "Go on with: micro-agent eval run --resume r.jsonl --retry-errors"
    assert len(results()[1]) == 10


def test_what_failed_is_asked_again_on_demand_only(evaluate: "Command"):
    refusing = {"Say word1.", "Say word4."}

    def moody(request: Received) -> Reply:
        return error(400, "not this one") if request.messages[-1]["content"] in refusing else model(request)

    with ModelServer(moody) as server:
        assert '"errors":2' in evaluate(*on(server, "--json")).out
        refusing.clear()
        assert '"errors":2' in evaluate("run", "--resume", "r.jsonl", "--json").out
        assert len(server.chats) == 6
        done = evaluate("run", "--resume", "r.jsonl", "--retry-errors", "--json")
        assert sorted(said(server)[6:]) == ["Say word1.", "Say word4."]
    figures = json.loads(done.out)
    assert (figures["errors"], figures["n"], figures["success_rate"]["hits"]) == (0, 6, 4)


def test_a_resumed_eval_goes_on_with_what_its_header_says(
    evaluate: "Command", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def stopping(request: Received) -> Reply:
        if len(server.chats) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return model(request)

    with ModelServer(stopping, latency_s=0.02) as server:
        done = evaluate(*on(server, "--epochs", "2", "--concurrency", "1", "--max-steps", "3", "--mode", "json"))
        assert done.code == 130
        assert done.err.splitlines()[-2:] == ["Interrupted.", "Go on with: micro-agent eval run --resume r.jsonl"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        kept = len(results()[1])
        assert 2 <= kept < 12  # how soon the main thread sees the signal is up to the machine
        monkeypatch.setenv("TEMPERATURE", "1.5")
        monkeypatch.setenv("MAX_TOKENS", "7")
        monkeypatch.setenv("MICRO_AGENT_MODEL", "another")
        monkeypatch.setenv("LLM_PROVIDER", "mock")
        same = ["--n", "6", "--epochs", "2", "--model", "m", "--tasks", "tasks.jsonl", "--base-url", server.openai_url]
        asked = len(server.chats)
        again = evaluate("run", "--resume", "r.jsonl", *same)
        assert again.code == 0
        assert len(server.chats) == asked + 12 - kept
        bodies = [chat.body or {} for chat in server.chats]
    assert {(body["model"], body["temperature"], body["max_tokens"]) for body in bodies} == {("m", 0.2, 1024)}
    assert all("tools" not in body for body in bodies)
    assert {result.run.limits["max_steps"] for result in results()[1]} == {3}
    assert Path("r.jsonl").read_text().count("\n") == 13


def test_several_replies_are_counted_and_compared_with_one(
    evaluate: "Command", server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RESAMPLES", "4")
    assert "replies_per_decision" not in evaluate(*on(server)).out
    Path("r.jsonl").rename("one.jsonl")
    done = evaluate(*on(server, "--samples", "3"))
    assert "\nreplies_per_decision: 2.000  (median 2.000, p90 2.000, max 2.000)\n" in done.out
    header, read = results()
    assert (header.settings["samples"], header.settings["resamples"]) == (3, 4)
    assert [(result.decisions, result.replies) for result in read] == [(1, 2)] * 6
    compared = evaluate("compare", "one.jsonl", "r.jsonl").out
    assert "\ninput tokens: a 100, b 200, difference +100\noutput tokens: a 10, b 20, difference +10\n" in compared
    assert "\nreplies per decision: a 1.000, b 2.000, difference +1.000\n" in compared
    assert "\n  samples: 1, 3\n" in compared
    lines = Path("r.jsonl").read_text().splitlines(keepends=True)
    Path("r.jsonl").write_text("".join(lines[:-1]))
    monkeypatch.setenv("SAMPLES", "1")
    monkeypatch.setenv("RESAMPLES", "0")
    assert evaluate("run", "--resume", "r.jsonl", "--samples", "3").code == 0
    assert [(result.replies, result.run.sampling) for result in results()[1]] == [
        (2, {"samples": 3, "resamples": 4})
    ] * 6


def test_a_polite_kill_ends_the_eval_at_once_although_the_model_is_slow(evaluate: "Command"):
    def stuck(request: Received) -> Reply:
        if len(server.chats) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            return model(request).with_(delay_s=60)
        return model(request)

    with ModelServer(stuck) as server:
        done = evaluate(*on(server, "--concurrency", "1"))
    assert done.code == 143
    assert [result.task.id for result in results()[1]] == ["t0"]


CONFLICTS = {
    "n": (["--n", "5"], "--n is not what r.jsonl was begun with (5, then 6): leave it out, or start another eval"),
    "tag": (["--tag", "odd"], "--tag"),
    "seed": (["--seed", "1"], "--seed"),
    "epochs": (["--epochs", "2"], "--epochs"),
    "timeout": (["--timeout", "5"], "--timeout"),
    "max_steps": (["--max-steps", "5"], "--max-steps"),
    "provider": (["--provider", "mock"], "--provider is not what r.jsonl was begun with ('mock', then 'openai')"),
    "model": (["--model", "other"], "--model"),
    "base_url": (["--base-url", "http://127.0.0.1:9/v1"], "--base-url"),
    "mode": (["--mode", "json"], "--mode"),
    "use_tool_calls": (["--no-use-tool-calls"], "--use-tool-calls is not what r.jsonl was begun with ('json', then"),
    "samples": (["--samples", "3"], "--samples is not what r.jsonl was begun with (3, then 1)"),
    "rubrics": (["--rubrics", "other.yaml"], "--rubrics is not what r.jsonl was begun with (its weights differ)"),
    "tasks": (["--tasks", "other.jsonl"], "other.jsonl has changed since r.jsonl was begun: put it back"),
    "out": (["--out", "other.jsonl"], "--resume continues its own file: leave out --out"),
}


_finished: list[bytes] = []


@pytest.fixture
def finished(evaluate: "Command", tmp_path: Path) -> Path:
    """The result file of a whole eval on a server that is gone; the eval runs once for all tests."""
    if not _finished:
        with ModelServer(model) as server:
            evaluate(*on(server, "--seed", "0", "--mode", "native"))
        _finished.append(Path("r.jsonl").read_bytes())
        Path("r.jsonl").unlink()
    path = tmp_path / "finished.jsonl"
    path.write_bytes(_finished[0])
    return path


@pytest.mark.parametrize(("options", "says"), CONFLICTS.values(), ids=CONFLICTS)
def test_options_that_contradict_the_header_are_refused(
    options: list[str], says: str, evaluate: "Command", finished: Path
):  # fmt: skip
    Path("r.jsonl").write_bytes(finished.read_bytes())
    Path("other.yaml").write_text("weights: {contains: 9}\n")
    write_tasks(7, "other.jsonl")
    done = evaluate("run", "--resume", "r.jsonl", *options)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert Path("r.jsonl").read_bytes() == finished.read_bytes()
    ResultFile.resume("r.jsonl").close()  # nobody holds it


def test_what_changed_under_an_eval_is_refused(evaluate: "Command", finished: Path, monkeypatch: pytest.MonkeyPatch):
    Path("r.jsonl").write_bytes(finished.read_bytes())
    assert evaluate("run", "--resume", "r.jsonl", "--rubrics", "none.yaml").code == 2
    assert evaluate("run", "--resume", "r.jsonl", "--threshold", "0.5").code == 0
    Path("plan.json").write_text('{"demos": [], "instructions": "Be brief."}')
    monkeypatch.setenv("COMPILED_DEMOS_PATH", "plan.json")
    done = evaluate("run", "--resume", "r.jsonl")
    assert (done.code, done.err) == (
        2, "micro-agent: the demos are not those that r.jsonl was begun with: start another eval\n"
    )  # fmt: skip
    monkeypatch.delenv("COMPILED_DEMOS_PATH")
    write_tasks(7)
    assert "tasks.jsonl has changed since r.jsonl was begun" in evaluate("run", "--resume", "r.jsonl").err
    header, _ = results()
    with ResultFile.create("own.jsonl", header.model_copy(update={"settings": {"provider": "scripted"}})):
        busy = evaluate("run", "--resume", "own.jsonl")
    assert (busy.code, busy.out) == (1, "")
    assert "another process writes to own.jsonl: wait for it" in busy.err
    assert "own.jsonl was not made by `micro-agent eval run`" in evaluate("run", "--resume", "own.jsonl").err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--retry-errors"], "--retry-errors goes with --resume FILE"),
        (["--threshold", "90"], "--threshold must be a share from 0 to 1, such as 0.9, not 90"),
        (["--limit-cost", "0"], "--limit-cost must be more than 0 dollars, not 0"),
        (["--limit-cost", "nan"], "--limit-cost must be more than 0 dollars, not nan"),
        (["--timeout", "-1"], "max_time must be a positive number"),
        (["--max-steps", "0"], "max_steps must be a positive whole number"),
        (["--n", "7"], "there are 6 tasks"),
        (["--tag", "none"], "none"),
        (["--tasks", "none.yaml"], "none.yaml"),
        (["--rubrics", "none.yaml"], "none.yaml"),
        (["--provider", "none"], "there is no provider 'none'"),
        (["--concurrency", "0"], "--concurrency"),
    ],
)
def test_wrong_usage_ends_with_2_and_leaves_nothing(options: list[str], says: str, evaluate: "Command"):
    done = evaluate("run", "--tasks", "tasks.jsonl", "--provider", "mock", *options)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert not Path("evals").exists()


def test_a_result_that_cannot_be_written_says_how_to_go_on(evaluate: "Command", server: ModelServer):
    Path("r.traces").touch()
    done = evaluate(*on(server))
    assert (done.code, done.out) == (1, "")
    how, why = done.err.splitlines()[-2:]
    assert how == "Go on with: micro-agent eval run --resume r.jsonl"
    assert why.startswith("micro-agent: cannot open the trace r.traces/")


def test_a_model_of_rules_fails_honestly_where_it_has_none(evaluate: "Command"):
    Path("sums.csv").write_text(
        "id,question,expect_number\nsum,What is 2*(3+5)?,16\nword,Who painted the Mona Lisa?,1\n"
    )
    done = evaluate("run", "--tasks", "sums.csv", "--provider", "mock", "--out", "r.jsonl")
    assert done.code == 0
    assert done.out.startswith("success_rate: 0.500 ")
    assert "mock mock/rules" in done.out
    assert {result.task.id: result.run.status for result in results()[1]} == {"sum": "completed", "word": "failed"}


DELETE = """
from pathlib import Path
from micro_agent import tool

@tool(requires_confirmation=True)
def delete() -> str:
    \"\"\"Delete it all.\"\"\"
    Path("deleted").touch()
    return "deleted"

TOOLS = {"delete": delete}
"""


def test_a_tool_that_asks_for_confirmation_is_told_that_nobody_is_there_and_other_tools_are_another_eval(
    evaluate: "Command", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    Path("eval_plugin_delete.py").write_text(DELETE)
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType]
    monkeypatch.setenv("TOOLS_MODULES", "eval_plugin_delete")
    with ModelServer([call("delete", {}), text("word1")]) as server:
        assert evaluate(*on(server, "--tag", "odd", "--n", "1", "--max-steps", "4")).code == 0
    (result,) = results()[1]
    assert (result.run.status, [step.error for step in result.run.steps]) == ("completed", ["APPROVAL_REQUIRED"])
    assert not Path("deleted").exists()
    monkeypatch.delenv("TOOLS_MODULES")
    done = evaluate("run", "--resume", "r.jsonl")
    assert (done.code, "the tools are not those that r.jsonl was begun with" in done.err) == (2, True)


def test_figures_are_shown_again(evaluate: "Command", finished: Path):
    shown, as_json = evaluate("report", str(finished)), evaluate("report", str(finished), "--json")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("success_rate: 0.667 ")
    assert json.loads(as_json.out)["success_rate"]["hits"] == 4
    missing = evaluate("report", "none.jsonl")
    assert (missing.code, missing.out) == (1, "")
    assert "No such file" in missing.err


def test_a_page_is_written(evaluate: "Command", finished: Path):
    done = evaluate("report", str(finished), "--html", "out.html", "--baseline", str(finished))
    assert (done.code, done.out, done.err) == (0, "", "Report: out.html\n")
    assert "<html" in Path("out.html").read_text()
    alone = evaluate("report", str(finished), "--baseline", str(finished))
    assert (alone.code, "micro-agent eval compare BASELINE FILE" in alone.err) == (2, True)


def test_two_evals_are_compared(evaluate: "Command", finished: Path):
    first, *lines = finished.read_text().splitlines()
    flipped = [line.replace('"success":false', '"success":true') for line in lines]
    Path("better.jsonl").write_text("\n".join([first, *flipped, ""]))
    shown = evaluate("compare", str(finished), "better.jsonl")
    assert shown.code == 0
    assert "tasks compared: 6" in shown.out
    as_json = json.loads(evaluate("compare", str(finished), "better.jsonl", "--json").out)
    assert [flip["task"] for flip in as_json["gained"]] == ["t0", "t3"]
    assert as_json["difference"] == pytest.approx(1 / 3)  # pyright: ignore[reportUnknownMemberType]


def test_a_file_is_scored_again_without_a_model(evaluate: "Command", finished: Path):
    Path("r.jsonl").write_bytes(finished.read_bytes())
    corrected = Path("tasks.jsonl").read_text().replace("nothing", "word")
    Path("tasks2.jsonl").write_text(corrected + '{"id": "more", "question": "?", "expect_contains": "x"}\n')
    done = evaluate("score", "r.jsonl", "--tasks", "tasks2.jsonl")
    assert done.code == 0
    assert done.out.startswith("success_rate: 1.000 ")
    assert "Of 6 trials 2 became a success and 0 are none any more." in done.err
    assert "2 tasks are judged by new expectations: t0, t3" in done.err
    assert done.err.splitlines()[-1] == "Results: r.rescored.jsonl"
    Path("rubrics.yaml").write_text("weights: {contains: 1}\npass_score: 0.5\n")
    again = evaluate("score", "r.jsonl", "--rubrics", "rubrics.yaml", "--out", "again.jsonl", "--json")
    assert json.loads(again.out)["success_rate"]["hits"] == 4
    assert results("again.jsonl")[0].rubric.pass_score == 0.5
    assert evaluate("score", "r.jsonl").code == 2


def test_the_script_asks_the_tasks_beside_it_wherever_it_is_started(tmp_path: Path, warm: Warm):
    script = ROOT / "evals" / "run_evals.py"
    done = warm.run(script, "--n", "5", "--provider", "mock", cwd=tmp_path, env=empty_environment(tmp_path))
    assert done.returncode == 0, done.stderr
    names = [line.split(":")[0] for line in done.stdout.splitlines()[:9]]
    assert names == [
        "success_rate", "contains_hit_rate", "key_hit_rate", "avg_latency_sec", "avg_lm_calls", "avg_tool_calls",
        "avg_steps", "avg_cost_usd", "n",
    ]  # fmt: skip
    (path,) = (tmp_path / "evals" / "results").glob("*.jsonl")
    assert read_results(path)[0].dataset == str(ROOT / "evals" / "tasks.yaml")


def test_the_figures_as_markdown(evaluate: "Command", server: ModelServer):
    asked = evaluate(*on(server))
    assert asked.code == 0, asked.err
    done = evaluate("report", "--markdown", "r.jsonl")
    assert done.out.startswith("### Success rate 66.7 %\n\n6 tasks, answered by openai m.\n")
    assert "| tag even | 66.7 % | 2 of 3 |" in done.out
    refused = evaluate("report", "--markdown", "--json", "r.jsonl")
    assert (refused.code, refused.out) == (2, "")
    assert "leave out one of them" in refused.err
