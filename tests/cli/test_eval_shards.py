"""`micro-agent eval run --shard K/N` and `eval merge`: parts that run alone, and the file of a single run."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from micro_agent.evaluation import read_results, summarize
from micro_agent.evaluation.shards import Shard
from micro_agent.testing import ModelServer, Received, Reply, text

if TYPE_CHECKING:
    from tests.cli.conftest import Command

pytestmark = pytest.mark.usefixtures("prose_is_final")

_OWN = ("id", "ts", "at", "wall_s", "latency_s", "trace", "traceparent")
"""What two runs of the same trial differ in."""


@pytest.fixture
def evaluate(command: "Command") -> "Command":
    """``micro-agent eval`` in this process, in a directory of the test's own with the tasks t0 to t5."""
    tasks = [{"id": f"t{n}", "question": f"Say word{n}.", "expect_contains": f"word{n or 'x'}"} for n in range(6)]
    Path("tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return partial(command, "eval")


def model(request: Received) -> Reply:
    """Says the word that it is asked to say."""
    asked = next(message["content"] for message in request.messages if str(message["content"]).startswith("Say "))
    return text(asked.removeprefix("Say "), usage=(100, 10))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(model) as server:
        yield server


def on(server: ModelServer, out: str, *more: str) -> list[str]:
    return ["run", "--tasks", "tasks.jsonl", "--base-url", server.openai_url, "--model", "m", "--out", out, *more]


def said(path: str) -> Any:
    """What stands in a result file but for times, ids and the order of the lines."""
    head, *lines = (_same(json.loads(line)) for line in Path(path).read_text().splitlines())
    return head, sorted(lines, key=lambda line: (line["epoch"], line["task"]["id"]))


def _same(data: Any) -> Any:
    if isinstance(data, list):
        return [_same(one) for one in cast("list[Any]", data)]
    if not isinstance(data, dict):
        return data
    return {
        name: _same(one)
        for name, one in cast("dict[str, Any]", data).items()
        if name not in _OWN or (name == "id" and "question" in data and "steps" not in data)
    }


def test_four_shards_merged_equal_one_run(evaluate: "Command", server: ModelServer):
    evaluate(*on(server, "one.jsonl", "--epochs", "2"))
    for number in (1, 2, 3, 4):
        done = evaluate(*on(server, f"parts/{number}.jsonl", "--epochs", "2", "--shard", f"{number}/4"))
        header, results = read_results(f"parts/{number}.jsonl")
        keys = {result.key for result in results}
        mine = {(f"t{n}", epoch) for n in range(6) for epoch in (0, 1) if Shard(number, 4).holds((f"t{n}", epoch))}
        assert (done.code, keys, header.shard, header.planned) == (0, mine, f"{number}/4", len(mine))
        assert summarize(*read_results(f"parts/{number}.jsonl")).missing == 0
        assert f"{len(mine)}/{len(mine)}  success" in done.err
    merged = evaluate("merge", "all.jsonl", *(f"parts/{number}.jsonl" for number in (3, 1, 4, 2)))
    assert (merged.code, merged.out) == (0, "")
    assert merged.err.splitlines()[-2:] == ["Merged: 4 shards, 12 trials", "Results: all.jsonl"]
    assert said("all.jsonl") == said("one.jsonl")
    compared = json.loads(evaluate("compare", "one.jsonl", "all.jsonl", "--json").out)
    assert (compared["difference"], compared["gained"], compared["lost"], compared["settings"]) == (0, [], [], {})
    asked = len(server.chats)
    assert evaluate("run", "--resume", "all.jsonl").code == 0
    assert evaluate("score", "all.jsonl").code == evaluate("report", "all.jsonl").code == 0
    assert len(server.chats) == asked
    assert all(Path(str(result.trace)).exists() for result in read_results("all.jsonl")[1])


def test_a_shard_is_taken_up_as_one_and_a_merged_file_goes_on_whole(evaluate: "Command", server: ModelServer):
    for number in (1, 2):
        evaluate(*on(server, f"{number}.jsonl", "--shard", f"{number}/2"))
    lines = Path("1.jsonl").read_text().splitlines(keepends=True)
    Path("1.jsonl").write_text("".join(lines[:-1]))
    short = evaluate("merge", "all.jsonl", "1.jsonl", "2.jsonl")
    assert (short.code, "go on with it, micro-agent eval run --resume 1.jsonl, then merge again" in short.err) == (
        2,
        True,
    )
    other = evaluate("run", "--resume", "1.jsonl", "--shard", "2/2")
    assert (other.code, "--shard is not what 1.jsonl was begun with ('2/2', then '1/2')" in other.err) == (2, True)
    asked = len(server.chats)
    assert evaluate("run", "--resume", "1.jsonl").code == 0
    assert len(server.chats) == asked + 1
    evaluate("merge", "all.jsonl", "1.jsonl", "2.jsonl")
    Path("all.jsonl").write_text("".join(Path("all.jsonl").read_text().splitlines(keepends=True)[:-2]))
    assert evaluate("run", "--resume", "all.jsonl").code == 0
    assert {result.key for result in read_results("all.jsonl")[1]} == {(f"t{n}", 0) for n in range(6)}


def test_shards_of_an_eval_with_faults_are_merged_with_those_beside_them(evaluate: "Command"):
    for number in (1, 2):
        with ModelServer(model) as own:
            done = evaluate(*on(own, f"{number}.jsonl", "--faults", "0.5", "--seed", "1", "--shard", f"{number}/2"))
            assert done.code == 0
    done = evaluate("merge", "all.jsonl", "1.jsonl", "2.jsonl")
    told = done.err.splitlines()
    assert (told[-4:-3], told[-1]) == (["Results: all.jsonl"], "Results: all-faults.jsonl")
    assert "2 servers were asked; --resume asks http://127.0.0.1:" in told[-2]
    assert [len(list(read_results(name)[1])) for name in ("all.jsonl", "all-faults.jsonl")] == [6, 6]


def test_a_shard_that_is_none_is_refused_before_anything_is_asked(evaluate: "Command", server: ModelServer):
    done = evaluate(*on(server, "r.jsonl", "--shard", "9/8"))
    assert (done.code, "--shard is written 3/8, from 1/8 to 8/8, for one of 8 parts; not '9/8'" in done.err) == (
        2,
        True,
    )
    assert (server.chats, Path("r.jsonl").exists()) == ([], False)


def test_a_shard_without_a_trial_is_done_at_once(evaluate: "Command", server: ModelServer):
    empty = next(n for n in range(1, 65) if not any(Shard(n, 64).holds((f"t{k}", 0)) for k in range(6)))
    done = evaluate(*on(server, "r.jsonl", "--shard", f"{empty}/64", "--threshold", "0.5"))
    assert (done.code, read_results("r.jsonl")[0].planned, server.chats) == (0, 0, [])


def test_a_large_file_is_read_one_task_at_a_time(evaluate: "Command", server: ModelServer):
    tasks = (
        {"id": f"t{n}", "question": f"Say {n}.", "expect_contains": f"{n}", "note": "x" * 100_000} for n in range(161)
    )
    Path("tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    assert evaluate(*on(server, "r.jsonl", "--n", "3", "--seed", "2")).code == 0
    drawn = read_results("r.jsonl")[0].tasks
    Path("r.jsonl").write_text("".join(Path("r.jsonl").read_text().splitlines(keepends=True)[:-1]))
    done = evaluate("run", "--resume", "r.jsonl")
    assert (done.code, done.out.splitlines()[0]) == (0, "success_rate: 1.000 [0.439, 1.000]  (3 of 3)")
    assert sorted(result.task.id for result in read_results("r.jsonl")[1]) == sorted(drawn)


def test_more_tasks_than_are_listed_are_counted(evaluate: "Command", server: ModelServer):
    tasks = (f'{{"id":"t{n}","question":"Say {n}.","expect_contains":"{n}"}}\n' for n in range(10_001))
    Path("tasks.jsonl").write_text("".join(tasks))
    done = evaluate(*on(server, "r.jsonl", "--shard", "1/5000"))
    header, results = read_results("r.jsonl")
    keys = {result.key for result in results}
    assert (done.code, header.tasks, header.drawn, header.planned) == (0, [], 10_001, len(keys))
    lines = Path("r.jsonl").read_text().splitlines(keepends=True)
    Path("r.jsonl").write_text("".join(lines[:-1]))
    assert evaluate("run", "--resume", "r.jsonl", "--n", "10001").code == 0
    assert {result.key for result in read_results("r.jsonl")[1]} == keys
