"""An eval that was killed half way and resumed: the file of one that was not, and no finished task asked twice."""

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

from micro_agent.evaluation.result import Result
from micro_agent.evaluation.results import read_results
from micro_agent.evaluation.summary import summarize
from micro_agent.testing import ModelServer, Received, Reply, call, text
from tests.warm import Process, Warm, empty_environment

TASKS = 12


def model(request: Received) -> Reply:
    """Calculates and answers; wrong for every fourth task."""
    last = request.messages[-1]
    number = number_of(request)
    if last["role"] != "tool":
        return call("calculator", {"expression": f"{number}+100"})
    return text("It is 0." if number % 4 == 0 else f"It is {number + 100}.")


def number_of(request: Received) -> int:
    question = next(message["content"] for message in request.messages if message["role"] == "user")
    return int(re.findall(r"\d+", question)[0])


def start(warm: Warm, folder: Path, *options: str) -> Process:
    folder.mkdir(exist_ok=True)
    tasks = [
        {"id": f"t{n}", "question": f"What is {n} + 100?", "expect_number": n + 100, "tags": [f"group{n % 3}"]}
        for n in range(TASKS)
    ]  # fmt: skip
    (folder / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return warm.start(
        "-m", "micro_agent", "eval", "run", *options, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**empty_environment(folder), "MICRO_AGENT_FINISH": "text", "RESAMPLES": "0"},
    )  # fmt: skip


def options(server: ModelServer) -> list[str]:
    return [
        "--tasks", "tasks.jsonl", "--base-url", server.openai_url, "--model", "m", "--epochs", "2",
        "--concurrency", "3", "--out", "r.jsonl",
    ]  # fmt: skip


def judged(results: list[Result]) -> dict[tuple[str, int], Any]:
    return {
        result.key: (result.success, result.score, result.checks, result.seed, result.run.answer, len(result.run.steps))
        for result in results
    }


def figures(path: Path) -> dict[str, Any]:
    return summarize(*read_results(path)).model_dump(exclude={"avg_latency_sec"})


def test_killed_half_way_and_resumed(tmp_path: Path, warm: Warm):
    children: list[Process] = []
    killed, whole = tmp_path / "killed", tmp_path / "whole"

    def murderous(request: Received) -> Reply:
        if len(server.chats) == TASKS and len(children) == 1:
            children[0].kill()
            children[0].wait()
        return model(request)

    with ModelServer(murderous) as server:
        with start(warm, killed, *options(server)) as child:
            children.append(child)
            child.communicate()
        assert child.returncode == -signal.SIGKILL
        half = {result.key for result in read_results(killed / "r.jsonl")[1]}
        assert 0 < len(half) < TASKS * 2
        with (killed / "r.jsonl").open("ab") as file:
            file.write(b'{"kind":"result","task":{"id":"t5"')
        asked = len(server.chats)
        with start(warm, killed, "--resume", "r.jsonl", "--json") as child:
            children.append(child)
            out, err = child.communicate()
        assert child.returncode == 0, err
        assert b"the last line was cut off while it was written" in err
        again = {(f"t{number_of(chat)}", (chat.body or {})["seed"]) for chat in server.chats[asked:]}
        assert again == {(f"t{n}", epoch) for n in range(TASKS) for epoch in range(2)} - half
    with ModelServer(model) as server:
        with start(warm, whole, *options(server)) as child:
            child.communicate()
        assert child.returncode == 0
    header, results = read_results(killed / "r.jsonl")
    _, expected = read_results(whole / "r.jsonl")
    assert judged(list(results)) == judged(list(expected))
    assert figures(killed / "r.jsonl") == figures(whole / "r.jsonl")
    assert json.loads(out)["n"] == TASKS * header.epochs
    lines = [(path / "r.jsonl").read_text().splitlines() for path in (killed, whole)]
    assert [len(file) for file in lines] == [1 + TASKS * 2] * 2
