"""Evals made by hand, and pages read back as a browser would read them."""

import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import vl_convert

from micro_agent.evaluation.compare import compare
from micro_agent.evaluation.report import render
from micro_agent.evaluation.result import Check, Header, Result
from micro_agent.evaluation.results import ResultFile
from micro_agent.evaluation.summary import summarize
from micro_agent.evaluation.task import Task
from micro_agent.run import Run, Step, Usage

VOID = {"meta", "br", "input"}


class Parsed(HTMLParser):
    """The elements of a page with their attributes, its text, and what was left open or closed out of order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.faults: list[str] = []
        self.feed(page)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else")

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    @property
    def text(self) -> str:
        """What a person reads, each run of spaces as one, no-break spaces too."""
        text = " ".join(" ".join(data for tag, data in self.texts if tag != "style").split())
        return re.sub(r" ([,:;])", r"\1", text)

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of every element of a tag."""
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture(scope="package", autouse=True)
def _drawn_once() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Vega draws the same chart once: most pages have most of their charts in common, and it takes half the time."""
    really = vl_convert.vegalite_to_svg

    @cache
    def drawn(chart: str, options: str) -> str:
        return really(json.loads(chart), **json.loads(options))

    def draw(chart: dict[str, Any], **options: Any) -> str:
        return drawn(json.dumps(chart), json.dumps(options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "vegalite_to_svg", draw)
        yield


@pytest.fixture(scope="session")
def parsed() -> Callable[[str], Parsed]:
    return Parsed


def make_result(task: str = "add-1", *, ok: bool = True, epoch: int = 0, **given: Any) -> Result:
    """A trial of a small sum; ``given`` replaces fields of the task (``task_…``), the run (``run_…``) or the result."""
    run: dict[str, Any] = {
        "question": "What is 2+3?", "answer": "5" if ok else "6", "model_answer": "5" if ok else "6",
        "status": "completed", "termination_reason": "final", "provider": "ollama", "model": "small:1b", "mode": "json",
        "steps": [Step(tool="calculator", args={"expression": "2+3"}, observation=5, latency_s=0.001)],
        "usage": Usage(lm_calls=2, tool_calls=1, input_tokens=900, output_tokens=40, cost_usd=0.0002, latency_s=1.25),
    }  # fmt: skip
    asked: dict[str, Any] = {"id": task, "question": "What is 2+3?", "tags": ["sums"], "expect_contains": ["5"]}
    result: dict[str, Any] = {
        "models": ["small:1b"], "trace": "traces/one.jsonl", "wall_s": 1.26, "seed": 7, "score": float(ok),
        "checks": [Check(name="contains", passed=ok, detail="" if ok else "expected 5, found 6")],
    }  # fmt: skip
    for name, value in given.items():
        kind, _, field = name.partition("_")
        {"task": asked, "run": run}.get(kind, result)[field if kind in ("task", "run") else name] = value
    return Result(task=Task(**asked), run=Run(**run), epoch=epoch, success=ok, **result)


def make_header(results: list[Result], **given: Any) -> Header:
    """A header of an eval that drew the tasks of these results."""
    tasks = list(dict.fromkeys(result.task.id for result in results))
    defaults: dict[str, Any] = {
        "ts": "2026-11-21T21:32:00.125Z", "dataset": "evals/tasks.yaml", "dataset_sha256": "9f" * 32, "tasks": tasks,
        "epochs": 1 + max((result.epoch for result in results), default=0),
        "settings": {"provider": "ollama", "model": "small:1b"},
    }  # fmt: skip
    return Header(**{**defaults, **given})


def many_results(*, seed: int, tasks: int = 24, epochs: int = 2, skill: float = 0.6) -> list[Result]:
    """Trials of sums and dates, some of which fail in one way or another."""
    draw = random.Random(seed)
    found: list[Result] = []
    for number in range(tasks):
        tags = [("sums", "dates", "word-problems")[number % 3], ("short", "long")[number % 2]]
        for epoch in range(epochs):
            ok = draw.random() < skill
            cost = None if number == 5 else 0.0001 * draw.lognormvariate(0, 1)
            usage = Usage(lm_calls=2, tool_calls=1, cost_usd=cost, latency_s=draw.lognormvariate(0, 0.6))
            status, reason = ("completed", "final") if ok or draw.random() < 0.7 else ("failed", "lm_error")
            found.append(make_result(
                f"{tags[0]}-{number}", ok=ok, epoch=epoch, task_tags=tags, run_usage=usage, run_status=status,
                run_termination_reason=reason, task_question=f"What is {number}+3, in words that take some room? " * 2,
            ))  # fmt: skip
    return found


@pytest.fixture(scope="session")
def result() -> Callable[..., Result]:
    return make_result


@pytest.fixture(scope="session")
def header() -> Callable[..., Header]:
    return make_header


@pytest.fixture(scope="session")
def page() -> Callable[..., Parsed]:
    """The page of some results, read back; ``baseline`` is a list of results to compare with."""

    def rendered(results: list[Result], *, baseline: list[Result] | None = None, **head: Any) -> Parsed:
        of = make_header(results, **head)
        if baseline is None:
            return Parsed(render(of, summarize(of, results), iter(results)))
        before = make_header(baseline, settings={"provider": "ollama", "model": "other:1b"})
        comparison = compare((before, baseline), (of, results))
        return Parsed(render(of, comparison.b, iter(results), comparison, baseline=before))

    return rendered


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A result file with epochs, tags, failures and unknown costs, and one of a weaker baseline."""
    folder = tmp_path_factory.mktemp("evals")
    paths = folder / "results.jsonl", folder / "baseline.jsonl"
    for path, results in zip(paths, (many_results(seed=1), many_results(seed=2, skill=0.4)), strict=True):
        with ResultFile.create(path, make_header(results)) as file:
            for one in results:
                file.append(one)
    return paths
