"""What a terminal shows of an eval and of a comparison."""

from typing import Any

import pytest

from micro_agent.evaluation.compare import compare
from micro_agent.evaluation.figures import Comparison, Summary
from micro_agent.evaluation.result import Check, Header, Result
from micro_agent.evaluation.summary import summarize
from micro_agent.evaluation.task import Task
from micro_agent.evaluation.wording import comparison_lines, conclusion, summary_lines
from micro_agent.run import Run, Step, Usage

NAMES = [
    "success_rate", "contains_hit_rate", "key_hit_rate", "avg_latency_sec", "avg_lm_calls", "avg_tool_calls",
    "avg_steps", "avg_cost_usd", "n",
]  # fmt: skip


def head(*tasks: str, epochs: int = 1, **settings: Any) -> Header:
    return Header(
        dataset="tasks.yaml", dataset_sha256="0" * 64, tasks=list(tasks), epochs=epochs, settings=settings
    )  # fmt: skip


def result(task: str, success: bool = True, epoch: int = 0, **fields: Any) -> Result:
    asked = {"id": task, "question": f"What is {task}?", "expect_contains": ["4"]} | fields.pop("asked", {})
    usage = Usage(lm_calls=2, tool_calls=1, latency_s=1.5, cost_usd=fields.pop("cost", 0.001))
    run = {"question": asked["question"], "status": "completed", "termination_reason": "final", "usage": usage}
    return Result(
        task=Task.model_validate(asked), epoch=epoch, models=fields.pop("models", ["m-1"]),
        run=Run.model_validate(run | {"provider": "openai", "steps": [Step(tool="now")]} | fields),
        wall_s=1.0, checks=[Check(name="contains", passed=success)], score=float(success), success=success,
    )  # fmt: skip


def shown(summary: Summary) -> dict[str, str]:
    """The main figures as they are shown, by name, which must be the first nine lines."""
    lines = list(summary_lines(summary))[:9]
    assert [line.partition(": ")[0] for line in lines] == NAMES
    return dict(line.split(": ", 1) for line in lines)


def test_the_main_figures_come_first_by_their_names() -> None:
    results = [result(f"t{i}", i < 32) for i in range(50)]
    figures = shown(summarize(head(*(f"t{i}" for i in range(50))), results))
    assert figures == {
        "success_rate": "0.640 [0.501, 0.759]  (32 of 50)",
        "contains_hit_rate": "0.640 [0.501, 0.759]  (32 of 50)",
        "key_hit_rate": "none of the tasks has expect_key",
        "avg_latency_sec": "1.500  (median 1.500, p90 1.500, max 1.500)",
        "avg_lm_calls": "2.000  (median 2.000, p90 2.000, max 2.000)",
        "avg_tool_calls": "1.000  (median 1.000, p90 1.000, max 1.000)",
        "avg_steps": "1.000  (median 1.000, p90 1.000, max 1.000)",
        "avg_cost_usd": "0.001000  (median 0.001000, p90 0.001000, max 0.001000, total 0.050000)",
        "n": "50",
    }


def test_an_unknown_cost_is_called_unknown() -> None:
    results = [result(f"t{i}", cost=None if i < 3 else 0.1) for i in range(10)]
    assert shown(summarize(head(), results))["avg_cost_usd"] == "unknown  (for 3 of 10 trials)"
    assert shown(summarize(head(), [result("t", cost=None)]))["avg_cost_usd"] == "unknown  (for 1 of 1 trial)"


def test_an_eval_without_results_says_so() -> None:
    lines = list(summary_lines(summarize(head("a", "b"), [])))
    assert lines == [
        "success_rate: there is no result",
        "contains_hit_rate: none of the tasks has expect_contains",
        "key_hit_rate: none of the tasks has expect_key",
        *(f"{name}: there is no result" for name in NAMES[3:8]),
        "n: 0  (2 trials without a result)",
    ]


def test_totals_follow_aligned() -> None:
    results = [
        result("a", asked={"tags": ["arithmetic"]}),
        result("b", asked={"tags": ["time"]}, models=["m-1\n\x1b[31m"]),
        result("c", False, status="failed", termination_reason="lm_error", models=[]),
    ]
    lines = list(summary_lines(summarize(head("a", "b", "c"), results)))[9:]
    assert lines == [
        "",
        "success by tag:",
        "  arithmetic  1.000 [0.207, 1.000]  (1 of 1)",
        "  time        1.000 [0.207, 1.000]  (1 of 1)",
        "",
        "checks passed:",
        "  contains  0.667 [0.208, 0.939]  (2 of 3)",
        "",
        "termination reasons:",
        "  final     2",
        "  lm_error  1",
        "",
        "errors: 1 run failed and counts as no success; --retry-errors asks again",
        "",
        "answered by:",
        "  openai m-1           1",
        "  openai m-1 \\x1b[31m  1",
        "  openai unknown       1",
    ]


def test_several_errors_are_named_in_plural() -> None:
    failed = [result(task, False, status="failed") for task in "ab"]
    assert "errors: 2 runs failed and count as no success; --retry-errors asks again" in list(
        summary_lines(summarize(head("a", "b"), failed))
    )


def test_epochs_bring_pass_at_k_and_pass_hat_k() -> None:
    results = [result("a", epoch < 1, epoch) for epoch in range(2)]
    lines = list(summary_lines(summarize(head("a", "b", epochs=3), results)))
    assert lines[8:13] == [
        "n: 2  (1 task, 3 epochs, 4 trials without a result)",
        "",
        "   k  pass@k  pass^k",
        "   1   0.500   0.500",
        "   2   1.000   0.000",
    ]
    assert lines[13] == "   3    none    none"
    whole = [result("a", True, epoch) for epoch in range(2)]
    assert shown(summarize(head("a", epochs=2), whole))["n"] == "2  (1 task, 2 epochs)"


def compared(gained: int, lost: int, same: int, **settings: Any) -> Comparison:
    tasks = [f"t{i}" for i in range(gained + lost + same)]
    a = [result(task, i >= gained) for i, task in enumerate(tasks)]
    b = [result(task, not gained <= i < gained + lost, cost=0.002) for i, task in enumerate(tasks)]
    return compare((head(*tasks), a), (head(*tasks, **settings), b))


def test_a_comparison_shows_both_sides_and_what_flipped() -> None:
    assert list(comparison_lines(compared(2, 1, 7, model="m-2", digest="f" * 80))) == [
        "tasks compared: 10",
        "success_rate a: 0.800 [0.490, 0.943]  (8 of 10)",
        "success_rate b: 0.900 [0.596, 0.982]  (9 of 10)",
        "difference, b minus a: +0.100 [-0.280, +0.454]  (score interval for paired rates (Tango 1998))",
        "p-value: 1.0000  (McNemar's exact test, two-sided)",
        "latency, seconds: a 1.500, b 1.500, difference +0.000",
        "cost, US dollars: a 0.001000, b 0.002000, difference +0.001000",
        "input tokens: a 0, b 0, difference +0",
        "output tokens: a 0, b 0, difference +0",
        "replies per decision: unknown for 10 of 10 tasks",
        "",
        "gained: 2",
        "  t0  (final)  What is t0?",
        "  t1  (final)  What is t1?",
        "",
        "lost: 1",
        "  t2  (final)  What is t2?",
        "",
        "settings that differ (a, b):",
        "  model: not set, m-2",
        f"  digest: not set, {'f' * 59}…",
        "",
        "These tasks do not show which is better: b may be anything from 28.0 points worse to 45.4 points better "
        "than a.",
    ]


def sampled(tokens: int, *replies: int | None) -> list[Result]:
    usage = {"input_tokens": tokens, "output_tokens": 10, "lm_calls": 2}
    decided = [(None if count is None else 2 if count else 0, count) for count in replies]
    return [
        result(f"t{i}", usage=usage).model_copy(update={"decisions": decisions, "replies": count})
        for i, (decisions, count) in enumerate(decided)
    ]


def test_what_several_replies_cost_stands_beside_the_scores() -> None:
    comparison = compare((head(samples=1), sampled(100, 2, 2)), (head(samples=3), sampled(250, 6, 4)))
    lines = list(comparison_lines(comparison))
    assert lines[3:9] == [
        "difference, b minus a: +0.000 [-0.658, +0.658]  (score interval for paired rates (Tango 1998))",
        "p-value: 1.0000  (McNemar's exact test, two-sided)",
        "latency, seconds: a 0.000, b 0.000, difference +0.000",
        "cost, US dollars: a 0.000000, b 0.000000, difference +0.000000",
        "input tokens: a 100, b 250, difference +150",
        "output tokens: a 10, b 10, difference +0",
    ]
    assert lines[9].startswith("replies per decision: a 1.000, b 2.500, difference +1.500 [")
    assert "  samples: 1, 3" in lines


def test_replies_per_decision_are_told_where_there_were_several() -> None:
    line = "replies_per_decision: 2.500  (median 2.500, p90 2.900, max 3.000)"
    assert list(summary_lines(summarize(head(), sampled(9, 6, 4))))[9] == line
    assert list(summary_lines(summarize(head(), sampled(9, 6, 4, 0))))[9] == line
    unknown = "replies_per_decision: unknown  (for 1 of 3 trials)"
    assert list(summary_lines(summarize(head(), sampled(9, 6, 4, None))))[9] == unknown
    for results in (sampled(9, 2, 2), sampled(9, None), sampled(9, 0), []):
        assert not any("replies_per_decision" in line for line in summary_lines(summarize(head(), results)))


def test_long_lists_and_long_questions_are_cut_with_a_count() -> None:
    a = [result(f"t{i}", False, asked={"question": "why\n" * 40}, termination_reason="policy") for i in range(25)]
    b = [result(f"t{i}", True, asked={"question": "why\n" * 40}) for i in range(25)]
    a += [result(f"a{i}") for i in range(12)]
    b += [result("b0"), result("changed", asked={"expect_contains": ["5"]})]
    a.append(result("changed"))
    lines = list(comparison_lines(compare((head(), a), (head(), b))))
    assert f"  t0   (policy to final)  {'why ' * 17}w…" in lines
    assert lines[lines.index("gained: 25") + 21] == "  … and 5 more"
    assert lines[lines.index("tasks left out:") + 1 :][:3] == [
        "  only in a: 12  (a0, a1, a2, a3, a4, a5, a6, a7, a8, a9 … and 2 more)",
        "  only in b: 1  (b0)",
        "  changed: 1  (changed)",
    ]


def test_shares_of_success_are_shown_where_there_are_epochs() -> None:
    a = [result("t", epoch < 1, epoch) for epoch in range(4)] + [result("u")]
    b = [result("t", epoch < 3, epoch, cost=None) for epoch in range(4)] + [result("u", cost=0.003)]
    lines = list(comparison_lines(compare((head(), a), (head(), b))))
    assert "success_rate a: 0.625 [0.142, 0.944]  (1.25 of 2)" in lines
    assert "  t  (0.25 to 0.75, final)  What is t?" in lines
    assert "cost, US dollars: a 0.001000, b 0.003000, difference +0.002000  " \
        "(unknown for 1 of 2 tasks, which are left out)" in lines  # fmt: skip


def test_what_cannot_be_compared_is_said() -> None:
    nothing = compare((head(), [result("a")]), (head(), [result("b")]))
    lines = list(comparison_lines(nothing))
    assert lines[:4] == [
        "tasks compared: 0",
        "success_rate a: no task is in both",
        "success_rate b: no task is in both",
        "latency, seconds: no task is in both",
    ]
    assert lines[-1] == "Nothing can be said of the difference: no task was asked in both evals."
    unknown = compare((head(), [result("a", cost=None)]), (head(), [result("a")]))
    assert "cost, US dollars: unknown for 1 of 1 task" in list(comparison_lines(unknown))


@pytest.mark.parametrize(
    ("gained", "lost", "same", "said"),
    [
        (20, 2, 40, "On tasks like these b succeeds more often than a, by 15.9 to 42.3 percentage points "
                    "(95 % interval)."),
        (2, 20, 40, "On tasks like these b succeeds less often than a, by 15.9 to 42.3 percentage points "
                    "(95 % interval)."),
        (5, 0, 45, "The evidence is weak: the interval says that b succeeds more often than a, by 2.2 to 21.4 "
                   "percentage points, the test does not (p = 0.0625)."),
        (3, 3, 40, "These tasks do not show which is better: b may be anything from 12.3 points worse to 12.3 points "
                   "better than a."),
    ],
)  # fmt: skip
def test_the_conclusion_claims_what_the_interval_and_the_test_allow(
    gained: int, lost: int, same: int, said: str
) -> None:
    assert conclusion(compared(gained, lost, same)) == said


def test_the_conclusion_of_an_interval_that_ends_at_zero_names_no_side() -> None:
    found = compared(3, 3, 40)
    ends = [found.model_copy(update={"low": 0.0}), found.model_copy(update={"high": 0.0})]
    assert [" ".join(conclusion(end).split(" anything ")[1].split()[:9]) for end in ends] == [
        "from no worse to 12.3 points better than a.",
        "from 12.3 points worse to no better than a.",
    ]


def test_a_very_small_p_value_is_not_shown_as_zero() -> None:
    assert "p-value: below 0.0001  (McNemar's exact test, two-sided)" in list(comparison_lines(compared(40, 0, 0)))
