"""The figures of one eval: what counts as what, what is unknown, and what is clustered."""

import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from micro_agent.evaluation.figures import Rate
from micro_agent.evaluation.result import Check, Header, Result
from micro_agent.evaluation.statistics import clustered_standard_error, wilson, wilson_clustered
from micro_agent.evaluation.summary import summarize
from micro_agent.evaluation.task import Task
from micro_agent.run import Run, Step, Usage


def header(*tasks: str, epochs: int = 1) -> Header:
    return Header(dataset="tasks.yaml", dataset_sha256="0" * 64, tasks=list(tasks), epochs=epochs)


def result(
    task: str, success: bool = True, *, epoch: int = 0, checks: dict[str, bool] | None = None, **fields: Any
) -> Result:
    """A result whose fields are those of the task, of the run, or of the result, by their names."""
    asked = {"id": task, "question": f"What is {task}?", "expect_contains": ["4"]}
    run = {"question": asked["question"], "status": "completed", "termination_reason": "final"}
    made = {"contains": success} | (checks or {})
    return Result(
        task=Task.model_validate(asked | _those_of(Task, fields)),
        epoch=epoch,
        run=Run.model_validate(run | _those_of(Run, fields)),
        models=fields.get("models", []),
        wall_s=1.0,
        checks=[Check(name=name, passed=passed) for name, passed in made.items()],
        score=float(success),
        success=success,
    )


def _those_of(model: type[BaseModel], fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name in model.model_fields}


def test_rates_count_trials_and_carry_wilsons_interval() -> None:
    results = [result(f"t{i}", i < 32) for i in range(50)]
    summary = summarize(header(*(f"t{i}" for i in range(50))), results)
    low, high = wilson(32, 50)
    assert summary.success_rate == Rate(hits=32, n=50, value=0.64, low=low, high=high)
    assert (summary.n, summary.tasks, summary.missing, summary.errors) == (50, 50, 0, 0)
    assert summary.score_mean == 0.64


def test_hit_rates_are_those_of_the_tasks_that_expect_it() -> None:
    results = [
        result("both", False, expect_key=["iso"], checks={"contains": True, "key": False}),
        result("key", True, expect_contains=None, expect_key=["iso"], checks={"key": True}),
        result("number", True, expect_contains=None, expect_number=4, checks={"number": True}),
        result("unchecked", False, checks={}, status="failed", expect_key=["iso"]),
    ]
    summary = summarize(header("both", "key", "number", "unchecked"), results)
    assert (summary.contains_hit_rate.hits, summary.contains_hit_rate.n) == (1, 2)
    assert (summary.key_hit_rate.hits, summary.key_hit_rate.n) == (1, 3)
    assert {name: rate.n for name, rate in summary.by_check.items()} == {"contains": 4, "key": 2, "number": 1}
    assert summary.by_check["key"].value == 0.5


def test_without_a_case_a_rate_has_no_value() -> None:
    summary = summarize(header("a", "b"), [])
    nothing = Rate(hits=0, n=0, value=None, low=None, high=None)
    assert (summary.success_rate, summary.key_hit_rate) == (nothing, nothing)
    assert (summary.n, summary.missing, summary.score_mean) == (0, 2, None)
    assert summary.avg_cost_usd.model_dump() == dict.fromkeys(
        ("mean", "sem", "median", "p90", "max", "total")
    ) | {"n": 0, "unknown": 0}  # fmt: skip


def test_quantities_are_those_of_the_runs() -> None:
    results = [
        result(
            f"t{i}",
            usage=Usage(lm_calls=i, tool_calls=2 * i, input_tokens=100, latency_s=float(i), cost_usd=0.001),
            steps=[Step(tool="now")] * (3 * i),
        )
        for i in range(5)
    ]
    summary = summarize(header(), results)
    latency = summary.avg_latency_sec
    assert (latency.mean, latency.median, latency.p90, latency.max, latency.total) == (2, 2, 3.6, 4, 10)
    assert latency.sem == pytest.approx((2.5 / 5) ** 0.5)
    assert [f.mean for f in (summary.avg_lm_calls, summary.avg_tool_calls, summary.avg_steps)] == [2, 4, 6]
    assert (summary.input_tokens.mean, summary.output_tokens.total) == (100, 0)
    assert summary.avg_cost_usd.total == 0.005


def test_one_unknown_cost_makes_mean_and_total_unknown() -> None:
    results = [result(f"t{i}", usage=Usage(cost_usd=cost)) for i, cost in enumerate((0.1, None, 0.3))]
    cost = summarize(header(), results).avg_cost_usd
    assert (cost.n, cost.unknown, cost.mean, cost.sem, cost.total) == (2, 1, None, None, None)
    assert (cost.median, cost.max) == (pytest.approx(0.2), 0.3)


def test_of_one_task_the_error_of_the_mean_is_unknown() -> None:
    latency = summarize(header("t"), [result("t", usage=Usage(latency_s=2.0))]).avg_latency_sec
    assert (latency.mean, latency.sem) == (2, None)


def test_trials_of_a_task_are_a_cluster() -> None:
    hits = {"a": 3, "b": 0, "c": 3, "d": 2}
    results = [
        result(task, epoch < hits[task], epoch=epoch, tags=["x"], usage=Usage(latency_s=hits[task] + epoch))
        for task in hits
        for epoch in range(3)
    ]
    summary = summarize(header(*hits, epochs=3), results)
    low, high = wilson_clustered([(n, 3) for n in hits.values()])
    assert summary.success_rate == Rate(hits=8, n=12, value=8 / 12, low=low, high=high)
    assert summary.by_tag == {"x": summary.success_rate}
    assert high - low > wilson(8, 12)[1] - wilson(8, 12)[0]
    assert summary.avg_latency_sec.sem == clustered_standard_error([(3 * n + 3, 3) for n in hits.values()])
    assert (summary.n, summary.tasks, summary.epochs, summary.missing) == (12, 4, 3, 0)


def test_pass_at_k_and_pass_hat_k_are_means_over_tasks() -> None:
    results = [result("a", epoch < 1, epoch=epoch) for epoch in range(3)] + [result("b", epoch=e) for e in range(2)]
    summary = summarize(header("a", "b", epochs=4), results)
    assert summary.pass_at_k == {1: pytest.approx(2 / 3), 2: pytest.approx((2 / 3 + 1) / 2), 3: 1.0, 4: None}
    assert summary.pass_hat_k == {1: pytest.approx(2 / 3), 2: pytest.approx(0.5), 3: 0.0, 4: None}
    assert summary.missing == 3


def test_what_ended_and_answered_the_runs_is_counted() -> None:
    results = [
        result("a", provider="openai", model="gpt-4o-mini", models=["gpt-4o-mini-2024-07-18"]),
        result("b", provider="openai", model="gpt-4o-mini", models=["gpt-4o-mini-2024-07-18"], tags=["sum", "date"]),
        result("c", False, provider="openai", model="m", models=["m1", "m2"], tags=["sum"]),
        result("d", False, provider="ollama", model="asked", status="failed", termination_reason="lm_error"),
        result("e", False, status="stopped", termination_reason=None),
    ]
    summary = summarize(header("a", "b", "c", "d", "e"), results)
    assert list(summary.providers.items()) == [
        ("openai gpt-4o-mini-2024-07-18", 2), ("ollama asked", 1), ("openai m1 + m2", 1), ("unknown unknown", 1),
    ]  # fmt: skip
    assert summary.by_reason == {"final": 3, "lm_error": 1, "stopped": 1}
    assert summary.errors == 1
    assert {tag: (rate.hits, rate.n) for tag, rate in summary.by_tag.items()} == {"date": (1, 1), "sum": (1, 2)}


def test_a_tag_given_twice_counts_once() -> None:
    assert summarize(header("a"), [result("a", tags=["x", "x"])]).by_tag["x"].n == 1


def test_no_result_is_kept() -> None:
    alive: list[weakref.ref[Run]] = []

    def stream() -> Iterator[Result]:
        for i in range(20):
            made = result(f"t{i}")
            alive.append(weakref.ref(made.run))
            yield made
            del made
            assert sum(run() is not None for run in alive) <= 1

    assert summarize(header(), stream()).n == 20


TRIALS = st.lists(st.tuples(st.sampled_from("abcde"), st.booleans(), st.none() | st.floats(0, 10)), max_size=30)


@given(trials=TRIALS)
def test_any_results_have_figures_that_agree(trials: list[tuple[str, bool, float | None]]) -> None:
    results = [
        result(task, success, epoch=epoch, tags=[task], usage=Usage(cost_usd=cost))
        for epoch, (task, success, cost) in enumerate(trials)
    ]
    summary = summarize(header("a", epochs=3), results)
    rate, cost = summary.success_rate, summary.avg_cost_usd
    assert rate.hits == sum(by_tag.hits for by_tag in summary.by_tag.values())
    assert (rate.n, cost.n + cost.unknown, sum(summary.by_reason.values())) == (len(trials),) * 3
    if rate.value is not None and rate.low is not None and rate.high is not None:
        assert 0 <= rate.low <= rate.value <= rate.high <= 1
    assert (cost.total is None) == (cost.unknown > 0 or not trials)
    for k in (2, 3):
        at, hat = summary.pass_at_k[k], summary.pass_hat_k[k]
        assert (at is None) == (hat is None)
        assert at is None or hat is None or at >= hat
