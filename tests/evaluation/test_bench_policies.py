"""`python -m benchmarks.bench_policies`: ways to run a tool loop, over a server that knows what is right, or not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench_policies import POLICIES, main
from benchmarks.policy_tasks import Attempt, drawn
from micro_agent.testing import ModelServer, Received, Reply, call, calls, error, text
from training.tasks import Task

pytestmark = pytest.mark.usefixtures("prose_is_final")
N = 40
TASKS = {task.question: task for task in drawn(N, 1)}


def asked(request: Received) -> tuple[Task, int]:
    """The task that a request is about, and how many results are in it."""
    (question,) = (one for one in TASKS if any(one == message.get("content") for message in request.messages))
    return TASKS[question], sum(message["role"] == "tool" for message in request.messages)


def right(request: Received) -> Reply:
    """Makes the calls of a task, then tells the answer. It looks at the clock where a rule wants that."""
    task, done = asked(request)
    if str(request.messages[-1]["content"]).startswith("Policy: "):
        return call("now", {})
    return call(*task.calls[done]) if done < len(task.calls) else text(task.answer)


def played(said: Callable[[Received], Reply], *more: str) -> tuple[int, list[Received]]:
    with ModelServer(said) as server:
        code = main(["--base-url", server.openai_url, "--model", "scripted", "--n", str(N), *more])
        return code, server.chats


def rows(printed: str) -> dict[str, dict[str, str]]:
    table = [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in printed.splitlines() if line[:1] == "|"
    ]
    return {cells[0]: dict(zip(table[0], cells, strict=False)) for cells in table[2:]}


def attempts(out: Path, policy: str) -> list[dict[str, Any]]:
    return [one for one in json.loads(out.read_text())["attempts"] if one["policy"] == policy]


@pytest.mark.torture
def test_a_model_that_knows_all_is_right_in_every_way(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, requests = played(right, "--out", str(tmp_path / "out.json"))
    found = rows(capsys.readouterr().out)
    assert (code, list(found)) == (0, list(POLICIES))
    wrong = [one for name in POLICIES for one in attempts(tmp_path / "out.json", name) if not one["right"]]
    assert wrong == []
    assert {row["right"] for row in found.values()} == {f"{N} of {N}"}
    assert {row["silent wrong"] for row in found.values()} == {row["wrong effects"] for row in found.values()} == {"0"}
    assert {row["p"] for name, row in found.items() if name != "bare"} == {"1.0000"}
    replies = [float(found[name]["replies per decision"]) for name in ("bare", "no-sampling", "samples-5")]
    assert replies[:2] == [1, 1]
    assert replies[2] >= 2
    assert {(one.body or {})["temperature"] for one in requests} == {0, 0.8}
    seeds = {(one.body or {})["seed"] for one in requests}
    assert {(10_000 + number) * 100 for number in range(N)} < seeds


@pytest.mark.torture
def test_what_nobody_asked_for_is_counted_and_paired_with_the_first_way(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def twice(request: Received) -> Reply:
        """Does by hand what is to be done twice."""
        task, done = asked(request)
        name, args = task.calls[-1]
        if name in ("order", "send", "remind") and done == len(task.calls) - 1:
            return calls((name, args), (name, args))
        return right(request)

    code, _ = played(twice, "--policies", "default,bare", "--out", str(tmp_path / "out.json"))
    found = rows(capsys.readouterr().out)
    effects = sum(task.calls[-1][0] in ("order", "send", "remind") for task in TASKS.values())
    assert (code, effects > 0) == (0, True)
    assert found["default"]["wrong effects"] == "0"  # the same call twice in one reply is made once
    assert found["bare"]["wrong effects"] == found["bare"]["silent wrong"] == found["bare"]["lost"] == str(effects)
    assert (found["bare"]["right"], found["bare"]["gained"]) == (f"{N - effects} of {N}", "0")
    assert float(found["bare"]["p"]) == pytest.approx(2 ** (1 - effects), abs=1e-4)


@pytest.mark.parametrize(
    ("said", "silent"),
    [(text("It is done, 42."), 5), (call("price", {"product": "nothing"}), 0)],
    ids=["an answer out of nowhere", "no end"],
)
def test_a_wrong_answer_is_silent_and_no_answer_is_not(
    said: Reply, silent: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert played(lambda request: said, "--policies", "bare", "--n", "5")[0] == 0
    row = rows(capsys.readouterr().out)["bare"]
    assert (row["right"], row["silent wrong"], row["wrong effects"]) == ("0 of 5", str(silent), "0")


def test_an_unknown_tool_and_a_bad_argument_are_told_by_the_loop_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    def errs(request: Received) -> Reply:
        _, done = asked(request)
        return [call("fax", {}), call("price", {"item": "x"}), text("No.")][done]

    code, requests = played(errs, "--policies", "bare", "--n", "21")
    told = [message["content"] for message in requests[2].messages if message["role"] == "tool"]
    assert (code, json.loads(told[0])["error"], json.loads(told[1])["error"]) == (0, "UNKNOWN_TOOL", "TypeError")
    assert capsys.readouterr().err.startswith("20/21 tasks\n")


@pytest.mark.parametrize("policy", ["bare", "default"])
def test_a_request_that_fails_is_no_measurement(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = played(lambda request: error(401, "who are you?"), "--policies", policy)
    printed = capsys.readouterr()
    assert (code, printed.out, "who are you?" in printed.err) == (1, "", True)


@pytest.mark.parametrize(
    "options", [["--n", "0"], ["--policies", "best"], ["--provider", "none"], ["--base-url", "nowhere"]]
)
def test_what_cannot_be_asked_is_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(options)
    except SystemExit as left:
        code = left.code
    assert (code, capsys.readouterr().out) == (2, "")


def test_an_answer_that_names_what_was_not_found_has_to_say_so() -> None:
    task = next(task for task in drawn(200, 3) if task.kind == "absent")
    (name,) = task.calls[0][1].values()
    for answer, is_right in (
        (f"I could not find {name}.", True),
        (f"{name} costs 7.", False),
        ("I do not know.", False),
    ):
        attempt = Attempt(task)
        tool = next(tool for tool in attempt.tools() if tool.name == task.calls[0][0])
        with pytest.raises(Exception, match="there is no"):
            tool.handler(**task.calls[0][1])
        attempt.answer = answer
        assert attempt.right is is_right
