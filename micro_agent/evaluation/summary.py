"""The figures of one eval, from its header and its results read once."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, repeat
from math import fsum

from micro_agent.evaluation.counting import PerTask, Quantity, Shares, Tables
from micro_agent.evaluation.figures import Summary
from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.statistics import pass_at_k, pass_hat_k


def summarize(header: Header, results: Iterable[Result]) -> Summary:
    """The figures of an eval. ``results`` is read once, and none is kept in memory.

    Rates and standard errors are clustered by task. A quantity that is unknown for one trial has no mean, error and
    total; its median, p90 and maximum are those of the trials where it is known.
    """
    tally = Tally(header)
    for result in results:
        tally.add(result)
    return tally.summary()


_QUANTITIES: Mapping[str, Callable[[Result], float | None]] = {
    "avg_latency_sec": lambda result: result.run.usage.latency_s,
    "avg_lm_calls": lambda result: result.run.usage.lm_calls,
    "avg_tool_calls": lambda result: result.run.usage.tool_calls,
    "avg_steps": lambda result: len(result.run.steps),
    "avg_cost_usd": lambda result: result.run.usage.cost_usd,
    "input_tokens": lambda result: result.run.usage.input_tokens,
    "output_tokens": lambda result: result.run.usage.output_tokens,
}


class Tally:
    """Counts results as they come, for a `Summary` at the end."""

    def __init__(self, header: Header) -> None:
        self.header, self._tables = header, Tables()
        self._successes, self._contains, self._key = (Shares(self._tables) for _ in range(3))
        self._by_tag, self._by_check, self._by_damage = (
            defaultdict[str, Shares](lambda: Shares(self._tables)) for _ in range(3)
        )
        self._quantities = {name: Quantity(self._tables) for name in _QUANTITIES}
        self._replies = Quantity(self._tables)
        self._reasons, self._providers = Counter[str](), Counter[str]()
        self._scores, self._errors = Quantity(self._tables), 0

    def add(self, result: Result) -> None:
        """Count one trial; nothing of its run is kept but numbers and names."""
        task, passed = result.task, {check.name for check in result.checks if check.passed}
        number = self._tables.number(task.id)
        self._successes.count(number, result.success)
        if task.expect_contains is not None:
            self._contains.count(number, "contains" in passed)
        if task.expect_key is not None:
            self._key.count(number, "key" in passed)
        for tag in dict.fromkeys(task.tags):
            self._by_tag[tag].count(number, result.success)
        for name in {check.name for check in result.checks}:
            self._by_check[name].count(number, name in passed)
        for name in {damage.name for damage in result.damages}:
            self._by_damage[name].count(number, result.success)
        for name, quantity in self._quantities.items():
            quantity.count(number, _QUANTITIES[name](result))
        if result.decisions != 0:
            self._replies.count(number, result.replies_per_decision)
        self._reasons[result.run.termination_reason or result.run.status] += 1
        self._providers[_answered_by(result)] += 1
        self._scores.count(number, result.score)
        self._errors += result.run.status == "failed"

    def summary(self) -> Summary:
        """The figures of what was counted so far."""
        epochs, per_task, scores = self.header.epochs, self._successes.per_task(), self._scores.distribution()
        return Summary(
            success_rate=self._successes.rate(),
            contains_hit_rate=self._contains.rate(),
            key_hit_rate=self._key.rate(),
            **{name: quantity.distribution() for name, quantity in self._quantities.items()},
            replies_per_decision=self._replies.distribution(),
            n=scores.n,
            tasks=len(per_task),
            epochs=epochs,
            missing=self.header.planned - scores.n,
            errors=self._errors,
            score_mean=scores.mean,
            by_tag={tag: shares.rate() for tag, shares in sorted(self._by_tag.items())},
            by_check={name: shares.rate() for name, shares in sorted(self._by_check.items())},
            by_damage={name: shares.rate() for name, shares in sorted(self._by_damage.items())},
            by_reason=_most_first(self._reasons),
            pass_at_k=_over_tasks(pass_at_k, per_task, epochs),
            pass_hat_k=_over_tasks(pass_hat_k, per_task, epochs),
            providers=_most_first(self._providers),
        )


def _over_tasks(chance: Callable[[int, int, int], float], per_task: PerTask, epochs: int) -> dict[int, float | None]:
    """For each k the mean over the tasks that have as many trials; ``None`` where none has."""
    # Few tasks differ in hits and trials: each pair is computed once.
    pairs = Counter((int(hits), trials) for hits, trials in per_task)
    means: dict[int, float | None] = {}
    for k in range(1, epochs + 1):
        chances = [(chance(n, hits, k), tasks) for (hits, n), tasks in pairs.items() if n >= k]
        total = fsum(chain.from_iterable(repeat(one, tasks) for one, tasks in chances))
        means[k] = total / sum(tasks for _, tasks in chances) if chances else None
    return means


def _answered_by(result: Result) -> str:
    models = " + ".join(result.models) or result.run.model or "unknown"
    return f"{result.run.provider or 'unknown'} {models}"


def _most_first(counts: Counter[str]) -> dict[str, int]:
    # Ties go by name, so that the order does not hang on which trial ended first.
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
