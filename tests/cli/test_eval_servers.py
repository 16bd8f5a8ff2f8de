"""`micro-agent eval run` on several servers: where runs are asked, and at which other servers an eval may go on."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.results import read_results
from micro_agent.testing import ModelServer, Received, Reply, text
from micro_agent.traces import TraceStore
from tests.models.several import held, listed

if TYPE_CHECKING:
    from tests.cli.conftest import Command

pytestmark = pytest.mark.usefixtures("prose_is_final")


@pytest.fixture
def evaluate(command: "Command") -> "Command":
    """``micro-agent eval run`` in this process, in a directory of the test's own with four tasks."""
    lines = [{"id": f"t{n}", "question": f"Say word{n}.", "expect_contains": f"word{n}"} for n in range(4)]
    Path("tasks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return partial(command, "eval", "run")


def model(request: Received) -> Reply:
    return text(request.messages[-1]["content"].removeprefix("Say "))


@pytest.fixture
def two() -> Iterator[list[str]]:
    with ExitStack() as open_:
        yield [open_.enter_context(ModelServer(model, models=["m"])).openai_url for _ in range(2)]


def at(*urls: str) -> list[str]:
    return [word for url in urls for word in ("--base-url", url)]


def begun(evaluate: "Command", *urls: str, left: int = 2) -> list[str]:
    """An eval of which so many results are left, and the way to go on with it."""
    Path("r.jsonl").unlink(missing_ok=True)
    done = evaluate("--tasks", "tasks.jsonl", "--model", "m", "--out", "r.jsonl", "--concurrency", "1", *at(*urls))
    assert done.code == 0, done.err
    lines = Path("r.jsonl").read_text().splitlines(keepends=True)
    Path("r.jsonl").write_text("".join(lines[: len(lines) - left]))
    return ["--resume", "r.jsonl"]


def results() -> tuple[Header, list[Result]]:
    header, read = read_results("r.jsonl")
    return header, list(read)


def answered(read: list[Result]) -> set[str | None]:
    """Where the calls of these runs were answered, as their traces say."""
    runs = [TraceStore("r.traces", state_dir="state").load(result.run.id) for result in read]
    return {call.server or run.base_url for run in runs for call in run.calls}


def test_tasks_are_shared_out_and_each_call_says_where_it_was_answered(evaluate: "Command"):
    both = Barrier(2)

    def together() -> Callable[[Received], Reply]:
        first = iter([both])

        def reply(request: Received) -> Reply:
            for barrier in first:
                barrier.wait(20)
            return model(request)

        return reply

    with ModelServer(together(), models=["m"]) as one, ModelServer(together(), models=["m"]) as other:
        two = [one.openai_url, other.openai_url]
        go_on = begun(evaluate, *two, left=0)
    header, read = results()
    assert header.settings["base_url"] == two
    assert header.settings["served"] == {"name": "m"}
    assert answered(read) == set(two)
    assert {result.run.base_url for result in read} == {two[0]}
    for again in (two, two[::-1]):
        assert evaluate(*go_on, *at(*again)).code == 0


def test_an_eval_goes_on_at_other_servers_with_the_same_model(
    evaluate: "Command", two: list[str], monkeypatch: pytest.MonkeyPatch
):
    with ModelServer(model, models=["m"]) as third, held(listed("other"), free=True) as other:
        go_on = begun(evaluate, *two)
        before = Path("r.jsonl").read_bytes()
        refused = evaluate(*go_on, *at(other.url))
        assert refused.code == 2
        assert f"r.jsonl was begun with another model: its name is other at {other.url}, and was m" in refused.err
        assert Path("r.jsonl").read_bytes() == before
        monkeypatch.setenv("MICRO_AGENT_BASE_URL", f"{two[0]} {third.openai_url}")
        assert evaluate(*go_on).code == 0  # what was not typed names no other server
        assert third.requests == []
        for urls in ([third.openai_url], [third.openai_url, two[1]]):
            Path("r.jsonl").write_bytes(before)
            done = evaluate(*go_on, *at(*urls))
            assert done.code == 0, done.err
            header, read = results()
            assert header.settings["base_url"] == two
            assert len(read) == 4
            assert third.openai_url in answered(read)


def test_an_eval_begun_with_one_server_goes_on_with_more_and_at_no_other(evaluate: "Command", two: list[str]):
    with held(free=True) as silent, held(free=True) as other:
        go_on = begun(evaluate, two[0])
        assert results()[0].settings["base_url"] == two[0]
        assert "served" not in results()[0].settings
        assert "--base-url is not what r.jsonl was begun with" in evaluate(*go_on, *at(two[1])).err
        refused = evaluate(*go_on, *at(silent.url, other.url))
        assert refused.code == 2
        assert f"nothing tells that {silent.url}, {other.url} has the model that r.jsonl was begun with" in refused.err
        assert evaluate(*go_on, *at(*two)).code == 0


def test_records_of_several_servers_name_those_that_get_no_key(
    evaluate: "Command", two: list[str], monkeypatch: pytest.MonkeyPatch
):
    go_on = begun(evaluate, *two)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    done = evaluate(*go_on)
    assert f"it is sent no key (with --base-url {two[0]} --base-url {two[1]} it is)" in done.err
    assert done.code == 0


def test_training_asks_the_servers_too(evaluate: "Command", command: "Command", two: list[str], tmp_path: Path):
    options = ["--tasks", "tasks.jsonl", "--n", "4", "--model", "m", "--save", "demos.json"]
    done = command("optimize", *options, *at(*two[::-1]))
    assert done.code == 3, done.err
    asked = next(tmp_path.rglob("asked.json"))
    assert json.loads(asked.read_text())["base_url"] == sorted(two)
