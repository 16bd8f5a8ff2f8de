"""`python -m benchmarks.against_react`: three agents on the same tasks, over a scripted server that knows who asks."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from micro_agent.run.finishing import QUESTION
from micro_agent.testing import ModelServer, Received, Reply, call, text
from tests.warm import Warm

pytestmark = pytest.mark.torture

ROOT = Path(__file__).resolve().parents[2]
TASKS = """\
version: 1
tasks:
  - {id: sum, question: "What is 17 + 25?", expect_number: 42, expect_tools: [calculator]}
  - {id: product, question: "What is 6 * 9?", expect_number: 54, expect_tools: [calculator]}
  - {id: capital, question: "What is the capital of France?", expect_contains: Paris, expect_tools: []}
"""
SUMS = {"17 + 25": 42, "6 * 9": 54}


def fields(**said: str) -> Reply:
    """A reply in the form of DSPy's default adapter."""
    return text("".join(f"[[ ## {name} ## ]]\n{value}\n\n" for name, value in said.items()) + "[[ ## completed ## ]]")


def who(request: Received) -> str:
    """The agent behind a request, known by its prompt."""
    prompt = json.dumps(request.body)
    return "react-v2" if "submit" in prompt else "react" if "trajectory" in prompt else "micro-agent"


def asked(request: Received) -> tuple[str | None, bool]:
    """The expression that the question is about, and whether its value is known already."""
    prompt = json.dumps(request.messages)
    expression = next((one for one in SUMS if f"What is {one}?" in prompt), None)
    return expression, expression is not None and f'"result\\": {SUMS[expression]}' in prompt.replace('\\\\"', '\\"')


def said(request: Received) -> Reply:
    """micro-agent's model does all right, ReAct's answers 6 * 9 wrongly by itself, ReActV2's says nothing of use."""
    expression, known = asked(request)
    answer = "Paris" if expression is None else str(SUMS[expression])
    if who(request) == "react-v2":
        return text("I do not know this form.")
    if request.asks_if_final:
        return text('{"done": true}')
    if who(request) == "micro-agent":
        return text(answer) if known or expression is None else call("calculator", {"expression": expression})
    if "next_tool_name" not in json.dumps(request.messages[0]):
        return fields(reasoning="It follows.", answer="56" if expression == "6 * 9" else answer)
    if known or expression in (None, "6 * 9"):
        return fields(next_thought="Done.", next_tool_name="finish", next_tool_args="{}")
    return fields(
        next_thought="Compute.", next_tool_name="calculator", next_tool_args=json.dumps({"expression": expression})
    )


def measured(warm: Warm, folder: Path, server: ModelServer, *more: str) -> "subprocess.CompletedProcess[str]":
    tasks = folder / "tasks.yaml"
    tasks.write_text(TASKS)
    return warm.run(
        "-m", "benchmarks.against_react", "--provider", "openai", "--model", "scripted", "--base-url",
        server.openai_url, "--tasks", tasks, "--out", folder / "out", *more, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none"},
    )  # fmt: skip


def rows(printed: str) -> dict[str, list[str]]:
    cells = [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in printed.splitlines() if line[:1] == "|"
    ]
    return {row[0]: row[1:] for row in cells[2:]}


def results(folder: Path, arm: str) -> list[dict[str, Any]]:
    lines = (folder / "out" / f"{arm}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


def test_each_arm_is_asked_the_same_and_counted_right(tmp_path: Path, warm: Warm) -> None:
    with ModelServer(said) as server:
        done = measured(warm, tmp_path, server)
        requests = [who(request) for request in server.chats]
        sent = {who(request): request.body for request in server.chats}
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout)
    assert list(found) == ["micro-agent", "dspy.ReAct", "dspy.ReActV2"]
    ours, react, v2 = found.values()
    assert ours[0].startswith("100.0 % [")
    assert ours[0].endswith("(3 of 3)")
    assert ours[-1] == "nothing"
    assert react[0].endswith("(2 of 3)")
    assert react[1].startswith("+33.3 [")
    assert react[3] == "66.7 %"
    assert react[-1] == "check number and tools 1"
    assert v2[0].endswith("(0 of 3)")
    assert v2[1].startswith("+100.0 [")
    assert v2[2] == "0.2500"
    assert v2[-1] == "stopped (AdapterParseError) 3"
    # 10 and 5 tokens a reply.
    for arm, row in zip(("micro-agent", "react", "react-v2"), found.values(), strict=True):
        calls = requests.count(arm) / 3
        assert row[4:7] == [f"{10 * calls:.1f}", f"{5 * calls:.1f}", f"{calls:.1f}"]
    assert requests.count("micro-agent") == 5 + 3  # decisions, and whether each answer is final
    assert requests.count("react") == 1 + 2 + 1 + 3
    decisions = [body or {} for body in sent.values() if (body or {})["messages"][-1]["content"] != QUESTION]
    assert {body["temperature"] for body in decisions} == {0.2}
    assert "`python -m benchmarks.against_react --provider openai --model scripted " in done.stdout
    (tools,) = [result["run"]["steps"] for result in results(tmp_path, "react") if result["task"]["id"] == "sum"]
    assert [(step["tool"], step["args"], step["observation"]["result"]) for step in tools] == [
        ("calculator", {"expression": "17 + 25"}, 42)
    ]
    first_of_each = list(dict.fromkeys(re.findall(r"^\d+/9 (\S+) sum", done.stderr, flags=re.MULTILINE)))
    assert first_of_each == ["micro-agent", "react", "react-v2"]


def test_each_interval_is_named_by_how_it_was_made(tmp_path: Path, warm: Warm) -> None:
    with ModelServer(said) as server:
        done = measured(warm, tmp_path, server, "--epochs", "2")
    assert done.returncode == 0, done.stderr
    assert "Paired by task (dspy.ReAct): interval, Student's t on the tasks' differences" in done.stdout
    assert "Paired by task (dspy.ReActV2): interval, score interval for paired rates" in done.stdout
    assert [result["seed"] for result in results(tmp_path, "react")] == [0, 0, 0, 1, 1, 1]


def test_it_goes_on_with_what_is_missing_and_with_nothing_else(tmp_path: Path, warm: Warm) -> None:
    with ModelServer(said) as server:
        assert measured(warm, tmp_path, server).returncode == 0
        file = tmp_path / "out" / "react.jsonl"
        file.write_text("\n".join(file.read_text().splitlines()[:-1]) + "\n")
        before = len(server.chats)
        again = measured(warm, tmp_path, server)
        assert again.returncode == 0
        assert {who(request) for request in server.chats[before:]} == {"react"}
        assert rows(again.stdout)["dspy.ReAct"][0].endswith("(2 of 3)")
        other = measured(warm, tmp_path, server, "--max-steps", "3")
    assert other.returncode == 2
    assert "was begun with other tasks, another model or other settings" in other.stderr


def test_a_server_that_is_not_there_is_no_result(tmp_path: Path, warm: Warm) -> None:
    with ModelServer() as server:
        pass
    done = measured(warm, tmp_path, server, "--n", "1")
    assert done.returncode == 1
    assert "no run reached a model" in done.stderr
    assert "--out" in done.stderr.splitlines()[-1]
    assert done.stdout == ""


@pytest.mark.parametrize("words", [["--n", "9"], ["--max-steps", "0"]])
def test_what_cannot_be_asked_is_said_before_anything_is(words: list[str], tmp_path: Path, warm: Warm) -> None:
    with ModelServer(said) as server:
        done = measured(warm, tmp_path, server, *words)
        assert server.chats == []
    assert done.returncode == 2
    assert done.stderr.startswith("against_react: ")
