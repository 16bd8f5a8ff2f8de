"""`micro-agent eval run --faults`: every task twice, with whole replies and with damaged ones."""

import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from micro_agent.evaluation import Header, Result, ResultFile, read_results
from micro_agent.testing import ModelServer, Received, Reply, error, text

if TYPE_CHECKING:
    from tests.cli.conftest import Command

pytestmark = pytest.mark.usefixtures("prose_is_final")


@pytest.fixture
def evaluate(command: "Command") -> "Command":
    """``micro-agent eval`` in this process, in a directory of the test's own with the tasks t0 to t7."""
    tasks = [{"id": f"t{n}", "question": f"Say word{n}.", "expect_contains": f"word{n}"} for n in range(8)]
    Path("tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return partial(command, "eval")


def model(request: Received) -> Reply:
    """Says the word that it is asked to say, except the last."""
    asked = next(message["content"] for message in request.messages if str(message["content"]).startswith("Say "))
    return text("No." if "word7" in asked else asked.removeprefix("Say "), usage=(100, 10))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(model) as server:
        yield server


def on(server: ModelServer, *more: str) -> list[str]:
    base = ["run", "--tasks", "tasks.jsonl", "--base-url", server.openai_url, "--model", "m", "--out", "r.jsonl"]
    return [*base, "--faults", "0.5", "--seed", "2", *more]


def results(name: str) -> tuple[Header, dict[str, Result]]:
    header, read = read_results(name)
    return header, {f"{result.task.id}.{result.epoch}": result for result in read}


def damages(name: str = "r-faults.jsonl") -> dict[str, list[tuple[int, str]]]:
    return {key: [(one.call, one.name) for one in result.damages] for key, result in results(name)[1].items()}


def test_success_with_and_without_is_printed_and_everything_is_on_disk(evaluate: "Command", server: ModelServer):
    done = evaluate(*on(server))
    assert done.code == 0
    (plain, whole), (header, damaged) = results("r.jsonl"), results("r-faults.jsonl")
    assert (plain.settings.get("faults"), header.settings["faults"]) == (None, {"rate": 0.5, "seed": 2})
    assert plain.id != header.id
    assert (len(whole), len(damaged)) == (8, 8)
    replies = sum(len(result.damages) for result in damaged.values())
    trials = sum(bool(result.damages) for result in damaged.values())
    assert trials
    lines = done.out.splitlines()
    assert lines[0] == "a: without faults; b: 0.5 of the replies damaged, seed 2"
    assert lines[1].startswith("still solved with faults: ")
    assert lines[1].endswith(" of 7)")
    assert lines[2] == f"damaged: {replies} replies, in {trials} of 8 trials"
    assert "still solved, by damage:" in lines
    assert "success_rate a: 0.875" in done.out
    assert "difference, b minus a: " in done.out
    assert done.err.splitlines()[-1] == "Results: r.jsonl and r-faults.jsonl"
    assert [line for line in done.err.splitlines() if line.endswith("faults:")] == ["Without faults:", "With faults:"]
    for result in damaged.values():
        for one in result.damages:
            assert one.before != one.after
            assert result.run.usage.lm_calls > one.call


def test_programs_get_the_comparison_and_what_is_still_solved(evaluate: "Command", server: ModelServer):
    figures = json.loads(evaluate(*on(server, "--json")).out)
    assert (figures["rate"], figures["seed"], figures["still_solved"]["n"]) == (0.5, 2, 7)
    assert figures["comparison"]["a"]["success_rate"]["hits"] == 7
    assert figures["comparison"]["b"]["by_damage"]
    assert set(figures["by_damage"]) <= {name for made in damages().values() for _, name in made}


def test_the_same_seed_damages_the_same_replies_however_many_are_asked_at_once(
    evaluate: "Command", server: ModelServer
):
    evaluate(*on(server, "--concurrency", "8", "--epochs", "2"))
    at_once = damages()
    evaluate(*on(server, "--concurrency", "1", "--epochs", "2", "--out", "other.jsonl"))
    assert damages("other-faults.jsonl") == at_once
    assert {at_once[f"t{n}.0"] == at_once[f"t{n}.1"] for n in range(8)} != {True}
    evaluate(*on(server, "--seed", "3", "--out", "third.jsonl"))
    assert damages("third-faults.jsonl") != {key: made for key, made in at_once.items() if key.endswith(".0")}


@pytest.mark.parametrize("named", ["r.jsonl", "r-faults.jsonl"])
@pytest.mark.parametrize(("plain", "damaged"), [(5, 1), (9, 4)])
def test_it_goes_on_from_either_file(
    evaluate: "Command", server: ModelServer, named: str, plain: int, damaged: int
):  # fmt: skip
    evaluate(*on(server, "--concurrency", "1"))
    whole, asked = damages(), len(server.chats)
    kept = sum(result.run.usage.lm_calls for result in results("r.jsonl")[1].values() if plain == 9)
    for name, lines in (("r.jsonl", plain), ("r-faults.jsonl", damaged)):
        Path(name).write_text("".join(Path(name).read_text().splitlines(keepends=True)[:lines]))
    done = evaluate("run", "--resume", named, "--faults", "0.5")
    assert done.code == 0
    assert "\ntasks compared: 8\n" in done.out
    assert damages() == whole
    assert len(server.chats) < 2 * asked - kept


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--faults", "0"], "--faults must be a share of the replies, more than 0 and at most 1, such as 0.3, not 0"),
        (["--faults", "2"], "not 2"),
        (["--faults", "nan"], "not nan"),
        (["--out", "taken.jsonl"], "taken-faults.jsonl is there already: resume it, or choose another name"),
    ],
)
def test_wrong_usage_leaves_nothing(evaluate: "Command", server: ModelServer, options: list[str], says: str):
    Path("taken-faults.jsonl").touch()
    done = evaluate(*on(server, *options))
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert sorted(map(str, Path().iterdir())) == ["taken-faults.jsonl", "tasks.jsonl"]


def test_another_share_is_another_eval(evaluate: "Command", server: ModelServer):
    evaluate(*on(server))
    done = evaluate("run", "--resume", "r.jsonl", "--faults", "0.4")
    assert (done.code, done.out) == (2, "")
    assert "--faults is not what r-faults.jsonl was begun with (0.4, then 0.5)" in done.err
    assert evaluate("run", "--resume", "r.jsonl").code == 0  # nobody holds the files
    Path("r-faults.jsonl").unlink()
    alone = evaluate("run", "--resume", "r.jsonl", "--faults", "0.5")
    assert "--faults is not what r.jsonl was begun with (0.5, then None)" in alone.err
    assert evaluate("run", "--resume", "r.jsonl").out.startswith("success_rate: 0.875")


def test_a_file_of_a_similar_name_does_not_belong_to_it(evaluate: "Command", server: ModelServer):
    evaluate(*[arg for arg in on(server) if arg not in ("--faults", "0.5")])
    Path("r-faults.jsonl").write_bytes(Path("r.jsonl").read_bytes())
    for name in ("r.jsonl", "r-faults.jsonl"):
        done = evaluate("run", "--resume", name)
        assert (done.code, done.err.splitlines()[-1]) == (0, f"Results: {name}")


def test_the_threshold_is_for_the_success_with_faults(evaluate: "Command", server: ModelServer):
    figures = json.loads(evaluate(*on(server, "--json", "--faults", "1", "--max-steps", "1")).out)
    with_faults = figures["comparison"]["b"]["success_rate"]["value"]
    assert with_faults < figures["comparison"]["a"]["success_rate"]["value"]
    assert evaluate("run", "--resume", "r.jsonl", "--threshold", str(with_faults)).code == 0
    done = evaluate("run", "--resume", "r.jsonl", "--threshold", str(with_faults + 0.01))
    assert (done.code, f"The success rate {with_faults:.3f} is under" in done.err) == (100, True)


def test_the_limit_on_the_cost_is_for_both(evaluate: "Command", server: ModelServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_INPUT_PRICE_PER_1K", "1")
    monkeypatch.setenv("OPENAI_OUTPUT_PRICE_PER_1K", "0")
    done = evaluate(*on(server, "--limit-cost", "0.95", "--concurrency", "1"))
    assert (done.code, len(results("r.jsonl")[1])) == (3, 8)
    assert 1 <= len(results("r-faults.jsonl")[1]) <= 2
    stopped, how = done.err.splitlines()[-2:]
    assert stopped.endswith("USD were spent; the limit is 0.95 USD")
    assert how == "Go on with: micro-agent eval run --resume r.jsonl"
    assert done.out.startswith("a: without faults")


def test_a_polite_kill_in_the_second_half_leaves_the_first_whole(evaluate: "Command"):
    def stuck(request: Received) -> Reply:
        if len(server.chats) == 10:
            os.kill(os.getpid(), signal.SIGTERM)
            return model(request).with_(delay_s=60)
        return model(request)

    with ModelServer(stuck) as server:
        done = evaluate(*on(server, "--concurrency", "1"))
    assert (done.code, done.err.splitlines()[-1]) == (143, "Go on with: micro-agent eval run --resume r.jsonl")
    assert (len(results("r.jsonl")[1]), len(results("r-faults.jsonl")[1]) < 8) == (8, True)


def test_a_server_that_is_not_there_is_asked_once(evaluate: "Command"):
    with ModelServer(lambda _: error(401, "no key")) as server:
        done = evaluate(*on(server))
        assert len(server.chats) == 8
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1] == "Go on with: micro-agent eval run --resume r.jsonl --retry-errors"


def test_a_folder_that_cannot_be_written_says_how_to_go_on(evaluate: "Command", server: ModelServer):
    Path("r.traces").touch()
    done = evaluate(*on(server))
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-2] == "Go on with: micro-agent eval run --resume r.jsonl"
    ResultFile.resume("r-faults.jsonl").close()  # nobody holds it


def test_the_file_with_faults_is_a_result_file_as_any(evaluate: "Command", server: ModelServer):
    evaluate(*on(server))
    shown = evaluate("report", "r-faults.jsonl")
    assert (shown.code, "success by damage:" in shown.out) == (0, True)
    assert "success by damage:" not in evaluate("report", "r.jsonl").out
    assert (len(list(Path("r.traces").iterdir())), len(list(Path("r-faults.traces").iterdir()))) == (8, 8)
    compared = evaluate("compare", "r.jsonl", "r-faults.jsonl")
    assert (compared.code, "faults.rate: not set, 0.5" in compared.out) == (0, True)
    assert evaluate("report", "r-faults.jsonl", "--html", "out.html", "--baseline", "r.jsonl").code == 0
    assert evaluate("score", "r-faults.jsonl").code == 0
    assert damages("r-faults.rescored.jsonl") == damages()
