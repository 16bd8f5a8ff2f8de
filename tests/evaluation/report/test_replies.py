"""What the model wrote, word for word, on the page: from the traces of the eval's runs, and bounded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from micro_agent import MicroAgent
from micro_agent.evaluation.report import render, write_report
from micro_agent.evaluation.result import Header, Result, Rubric
from micro_agent.evaluation.results import ResultFile
from micro_agent.evaluation.runner import run_trials
from micro_agent.evaluation.summary import summarize
from micro_agent.evaluation.task import Task
from micro_agent.evaluation.trial_traces import folder_of
from micro_agent.evaluation.trials import Trial
from micro_agent.run import LMCall
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.traces import TraceStore

PROSE = 'I will call it.\n```json\n{"name": "calculator", "arguments": {"expression": "2+3",}}\n```'
EVIL = "<script>x</script>\x1b"


@pytest.fixture
def asked(tmp_path: Path, parsed: Any) -> Callable[..., Any]:
    """The page of a task asked of a model that says these things."""

    def asked(*replies: Any) -> Any:
        results = tmp_path / "r.jsonl"
        task = Task(id="sum", question="What is 2+3?", expect_contains=["5"])
        header = Header(dataset="t.yaml", dataset_sha256="0" * 64, tasks=["sum"])
        agent = MicroAgent(lm=ScriptedLM([*replies]), traces=None, rules=[])
        with ResultFile.create(results, header) as file:
            store = TraceStore(folder_of(results), state_dir=tmp_path / "state")
            run_trials([Trial(task)], lambda trial, _: agent.ask(trial.task.question), file, Rubric(), store=store)
        write_report(tmp_path / "r.html", results)
        return parsed((tmp_path / "r.html").read_text())

    return asked


def test_a_reply_that_was_mended_shows_what_was_written_the_repair_and_what_was_read(asked: Callable[..., Any]) -> None:
    read = asked(text(PROSE), text("The answer is 5."))
    assert "Replies 2 raw replies, 1 repaired" in read.text
    written = PROSE.replace("\n", " ")
    assert f'{written} repaired, trailing_comma {{"name": "calculator", "arguments"' in read.text
    assert 'read as calculator {"expression": "2+3"}' in read.text
    assert "The answer is 5. Usage" in read.text
    assert "open" not in next(attrs for attrs in read.all("details") if attrs.get("class") == "data")


def test_a_reply_that_cannot_be_read_says_why_and_one_without_repairs_says_nothing_twice(
    asked: Callable[..., Any],
) -> None:
    read = asked(call("calculate_it", "{"), text(""), call("calculator", {"expression": "2+3"}), text("5"))
    assert "4 raw replies, 2 not readable" in read.text
    assert "✗ not readable" in read.text
    assert "empty" in read.text
    assert 'calculator {"expression": "2+3"} 5 Usage' in read.text
    assert "read as" not in read.text


def test_a_long_reply_is_cut_with_the_number_of_characters(asked: Callable[..., Any]) -> None:
    read = asked(text("5 " + "x" * 5000))
    assert "x" * 1998 + " … 3,002 more characters; the whole is in the trace" in read.text


def test_a_secret_where_a_long_reply_is_cut_is_not_shown_by_half(
    asked: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(text("5 " + "x" * 1988 + "hush-hush-0123456789" + "x" * 900))  # recorded before it is known as a secret
    monkeypatch.setenv("OTHER_API_KEY", "hush-hush-0123456789")
    write_report(tmp_path / "later.html", tmp_path / "r.jsonl")
    assert "hush" not in (tmp_path / "later.html").read_text()


def test_a_result_without_its_trace_says_so_and_no_other_file_is_shown_in_its_place(
    result: Callable[..., Result], header: Callable[..., Header], parsed: Any, tmp_path: Path
) -> None:
    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
    one, other = result("a"), result("b")
    other.run.calls = [LMCall(reply={"text": "somebody else's words"})]
    path = store.append(other.run)
    path.rename(store.path(one.run.id))
    for trace in (str(path), "no\0path/run.jsonl", None):
        one.trace = trace
        of = header([one])
        page = parsed(render(of, summarize(of, [one]), [one]))
        assert "Replies unknown: the trace is not there" in page.text
        assert "somebody else" not in page.text


def test_records_of_other_shapes_are_shown_as_far_as_they_go(
    result: Callable[..., Result], header: Callable[..., Header], parsed: Any, tmp_path: Path
) -> None:
    one = result("a")
    odd = LMCall(reply={"tool_calls": [{"name": "add"}, "?"]}, decision={"tool_calls": "?"}, repairs=[{}])
    answer = LMCall(reply={"text": EVIL}, decision={"final": "5"}, repairs=[{"kind": "tags", "before": EVIL}])
    one.run.calls = [odd, answer] + [LMCall(reply={"text": "again", "reasoning": "hm"})] * 60
    one.trace = str(TraceStore(tmp_path, state_dir=tmp_path).append(one.run))
    of = header([one])
    page = parsed(render(of, summarize(of, [one]), [one]))
    assert "62 raw replies, 2 repaired" in page.text
    assert "read as the answer: 5" in page.text
    assert page.text.count("<script>x</script>\\x1b") == 2
    assert not page.all("script")
    assert "reasoning hm again" in page.text
    assert "… 2 more; all are in the trace" in page.text
