"""Two evals side by side: what is paired, what is tested, and what is said to have changed."""

from collections.abc import Iterable
from typing import Any

import pytest
import scipy  # which imports its parts when they are first used
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.compare import (
    MCNEMAR,
    NOTHING,
    SCORE_INTERVAL,
    SCORE_INTERVAL_OF_TASKS,
    SIGN_TEST,
    T_INTERVAL,
    T_TEST,
    compare,
)
from micro_agent.evaluation.figures import Comparison, Paired
from micro_agent.evaluation.result import Header, Result, Rubric
from micro_agent.evaluation.statistics import mcnemar_exact, paired_interval, wilson
from micro_agent.evaluation.task import Task
from micro_agent.run import Run, Usage

Eval = tuple[Header, Iterable[Result]]


def eval_of(outcomes: dict[str, list[bool]], **header: Any) -> Eval:
    """An eval with the successes of each task's trials."""
    epochs = max(map(len, outcomes.values()), default=1)
    results = [result(task, success, i) for task, trials in outcomes.items() for i, success in enumerate(trials)]
    return head(list(outcomes), epochs=epochs, **header), iter(results)


def head(tasks: list[str], **fields: Any) -> Header:
    return Header(dataset="tasks.yaml", dataset_sha256="0" * 64, tasks=tasks, **fields)


def result(task: str, success: bool, epoch: int = 0, **fields: Any) -> Result:
    asked = {"id": task, "question": f"What is {task}?", "expect_contains": ["4"]} | fields.pop("asked", {})
    usage = Usage(latency_s=fields.pop("latency_s", 1.0), cost_usd=fields.pop("cost_usd", 0.0))
    run = {"question": asked["question"], "status": "completed", "termination_reason": "final", "usage": usage} | fields
    return Result(
        task=Task.model_validate(asked), epoch=epoch, run=Run.model_validate(run),
        wall_s=1.0, checks=[], score=float(success), success=success,
    )  # fmt: skip


def test_one_trial_a_task_is_mcnemar_and_the_paired_score_interval() -> None:
    table = {"both": (True, True, 20), "a": (True, False, 2), "b": (False, True, 9), "none": (False, False, 19)}
    of_a = {f"{name}{i}": [a] for name, (a, _, count) in table.items() for i in range(count)}
    of_b = {f"{name}{i}": [b] for name, (_, b, count) in table.items() for i in range(count)}
    found = compare(eval_of(of_a), eval_of(of_b))
    assert found.tasks == 50
    assert (found.a_rate.hits, found.b_rate.hits, found.a_rate.n, found.b_rate.n) == (22, 29, 50, 50)
    assert (found.a_rate.low, found.a_rate.high) == pytest.approx(wilson(22, 50))
    assert found.difference == pytest.approx(7 / 50)
    assert (found.low, found.high) == paired_interval(20, 2, 9, 19)
    assert found.p_value == mcnemar_exact(2, 9)
    assert (found.method, found.test) == (SCORE_INTERVAL, MCNEMAR)
    assert [flip.task for flip in found.gained] == [f"b{i}" for i in range(9)]
    assert [(flip.task, flip.a, flip.b) for flip in found.lost] == [("a0", 1, 0), ("a1", 1, 0)]
    assert (found.a.success_rate.hits, found.b.success_rate.hits) == (22, 29)


def test_epochs_in_one_of_them_make_the_tasks_the_clusters() -> None:
    a = {"t1": [True], "t2": [False], "t3": [False], "t4": [True]}
    b = {"t1": [True, True, True], "t2": [True, False, True], "t3": [False, False, True], "t4": [True, False, True]}
    found = compare(eval_of(a), eval_of(b))
    differences = [0, 2 / 3, 1 / 3, -1 / 3]
    theirs = scipy.stats.ttest_1samp(differences, 0.0)
    limits = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((limits.low, limits.high))
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert (found.method, found.test) == (T_INTERVAL, T_TEST)
    assert found.difference == pytest.approx(1 / 6)
    assert found.b_rate.hits == pytest.approx(8 / 3)
    assert found.b_rate.n == 4
    assert [flip.task for flip in found.gained] == ["t2", "t3"], "the largest change first"
    assert [(flip.task, flip.b) for flip in found.lost] == [("t4", 2 / 3)]


def test_tasks_weigh_the_same_however_often_they_were_asked() -> None:
    found = compare(eval_of({"t1": [True] * 4, "t2": [False]}), eval_of({"t1": [True], "t2": [True, False]}))
    assert (found.a_rate.value, found.b_rate.value, found.difference) == (0.5, 0.75, 0.25)
    assert found.a.success_rate.value == 0.8


def test_with_all_trials_there_the_rates_compared_have_the_intervals_of_the_summaries() -> None:
    a = {f"t{i}": [i % 3 > 0, i % 2 > 0, i % 5 > 0] for i in range(20)}
    found = compare(eval_of(a), eval_of(a))
    whole = found.a.success_rate
    assert (found.a_rate.value, found.a_rate.low, found.a_rate.high) == pytest.approx(
        (whole.value, whole.low, whole.high)
    )
    assert (found.a_rate.n, whole.n) == (20, 60)


def test_epochs_without_any_change_have_an_interval_all_the_same() -> None:
    same = {f"t{i}": [True, False, True] for i in range(20)}
    found = compare(eval_of(same), eval_of(same))
    assert (found.low, found.high) == pytest.approx(paired_interval(20, 0, 0, 0))
    assert (found.difference, found.p_value) == (0, 1)
    assert (found.method, found.test) == (SCORE_INTERVAL_OF_TASKS, SIGN_TEST)
    assert (found.gained, found.lost) == ([], [])


def test_tasks_that_differ_or_are_in_one_alone_are_named_and_left_out() -> None:
    a = [result("same", False), result("asked", False), result("expected", False), result("mine", False)]
    b = [
        result("yours", True),
        result("expected", True, asked={"expect_contains": ["5"]}),
        result("asked", True, asked={"question": "Is it?"}),
        result("same", True, asked={"tags": ["new"], "note": "a tag or a note does not change what is judged"}),
    ]
    found = compare((head(["mine", "expected", "asked", "same"]), a), (head(["yours", "same"]), b))
    assert (found.tasks, found.only_a, found.only_b) == (1, ["mine"], ["yours"])
    assert found.changed == ["expected", "asked"], "in the order of the header, not of the results"
    assert (found.a_rate.n, found.difference) == (1, 1)


def test_changes_of_the_same_size_keep_the_order_of_the_tasks() -> None:
    a = {"t1": [True, False, False], "t2": [False] * 3, "t3": [True, False, False], "t4": [False]}
    b = {"t1": [True] * 3, "t2": [True, True, False], "t3": [True] * 3, "t4": [True]}
    found = compare(eval_of(a), eval_of(b))
    assert [flip.task for flip in found.gained] == ["t4", "t1", "t2", "t3"]


def test_nothing_in_common_gives_no_numbers() -> None:
    found = compare(eval_of({"a": [True]}), eval_of({"b": [True]}))
    assert (found.tasks, found.difference, found.low, found.high, found.p_value) == (0, None, None, None, None)
    assert (found.a_rate.value, found.method, found.test) == (None, NOTHING, NOTHING)
    assert found.latency == Paired(n=0, unknown=0, a=None, b=None, difference=None, low=None, high=None)


def test_a_flip_says_how_the_first_trial_ended_that_was_no_success() -> None:
    a = [result("t", True), result("t", False, 1, termination_reason="max_steps"), result("t", False, 2)]
    b = [result("t", False, termination_reason=None, status="stopped"), result("t", False, 1)]
    (flip,) = compare((head(["t"]), a), (head(["t"]), b)).lost
    assert (flip.question, flip.a, flip.b) == ("What is t?", 1 / 3, 0)
    assert (flip.reason_a, flip.reason_b) == ("max_steps", "stopped")


def test_latency_and_cost_are_paired_by_task() -> None:
    seconds = {"t1": (1.0, 3.0), "t2": (2.0, 2.5), "t3": (4.0, 9.0)}
    a = [result(t, True, e, latency_s=x + e, cost_usd=0.5) for t, (x, _) in seconds.items() for e in (0, 1)]
    b = [result(t, True, latency_s=y, cost_usd=0.25) for t, (_, y) in seconds.items()]
    found = compare((head([]), a), (head([]), b))
    theirs = scipy.stats.ttest_1samp([1.5, 0.0, 4.5], 0.0).confidence_interval(0.95)
    assert found.latency.model_dump() == pytest.approx(
        {"n": 3, "unknown": 0, "a": 8.5 / 3, "b": 14.5 / 3, "difference": 2.0, "low": theirs.low, "high": theirs.high}
    )
    assert (found.cost.difference, found.cost.low, found.cost.high) == (-0.25, None, None), "they do not vary"


def test_an_unknown_cost_leaves_its_pair_out_and_is_counted() -> None:
    a = [result("t1", True, cost_usd=0.1), result("t2", True, cost_usd=None), result("t2", True, 1, cost_usd=0.7)]
    a += [result("t3", True, cost_usd=0.2), result("t4", True, cost_usd=0.2), result("t4", True, 1, cost_usd=None)]
    b = [result(t, True, cost_usd=cost) for t, cost in (("t1", 0.2), ("t2", 0.1), ("t3", None), ("t4", 0.1))]
    cost = compare((head([]), a), (head([]), b)).cost
    assert (cost.n, cost.unknown, cost.a, cost.b, cost.difference) == (1, 3, 0.1, 0.2, 0.1)


def test_settings_that_differ_are_named_one_level_deep() -> None:
    a = {"model": "small", "limits": {"max_steps": 6, "max_cost": None}, "mode": "json", "gone": 1}
    b = {"model": "large", "limits": {"max_steps": 8, "max_cost": None}, "mode": "json", "rules": ["x"]}
    found = compare(eval_of({}, settings=a), eval_of({}, settings=b, rubric=Rubric(version=2)))
    assert found.settings == {
        "model": ("small", "large"),
        "limits.max_steps": (6, 8),
        "gone": (1, None),
        "rules": (None, ["x"]),
        "rubric.version": (1, 2),
    }


@pytest.mark.parametrize("rubric", [Rubric(pass_score=0.5), Rubric(weights={"contains": 2.0})])
def test_success_judged_by_different_rubrics_is_not_compared(rubric: Rubric) -> None:
    with pytest.raises(ConfigurationError, match="micro-agent eval score"):
        compare(eval_of({"t": [True]}), eval_of({"t": [True]}, rubric=rubric))


OUTCOMES = st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.booleans(), min_size=1, max_size=3), max_size=8)


@given(a=OUTCOMES, b=OUTCOMES)
def test_swapping_the_two_mirrors_the_comparison(a: dict[str, list[bool]], b: dict[str, list[bool]]) -> None:
    one, other = compare(eval_of(a), eval_of(b)), compare(eval_of(b), eval_of(a))
    assert (one.tasks, one.only_a, one.method) == (other.tasks, other.only_b, other.method)
    assert {flip.task for flip in one.gained} == {flip.task for flip in other.lost}
    assert one.tasks + len(one.only_a) == len(a)
    _agree(one)
    if one.tasks:
        assert one.p_value == pytest.approx(other.p_value)
        assert (one.difference, one.low, one.high) == pytest.approx(
            (-_number(other.difference), -_number(other.high), -_number(other.low)), abs=1e-9
        )


def _agree(found: Comparison) -> None:
    if found.tasks:
        low, difference, high = _number(found.low), _number(found.difference), _number(found.high)
        assert -1 <= low <= difference <= high <= 1
        assert low < high
        assert difference == pytest.approx(_number(found.b_rate.value) - _number(found.a_rate.value))


def _number(value: float | None) -> float:
    assert value is not None
    return value
