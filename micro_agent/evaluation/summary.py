"""The figures of one eval, from its header and its results read once."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum

from micro_agent.evaluation.figures import Distribution, Rate, Summary
from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.statistics import (
    clustered_standard_error,
    pass_at_k,
    pass_hat_k,
    quantile,
    wilson_clustered,
)


def summarize(header: Header, results: Iterable[Result]) -> Summary:
    """The figures of an eval. ``results`` is read once, and only numbers and names are kept of each.

    Rates and standard errors are clustered by task. A quantity that is unknown for one trial has no mean, error and
    total; its median, p90 and maximum are those of the trials where it is known.
    """
    tally = Tally(header)
    for result in results:
        tally.add(result)
    return tally.summary()


class Shares:
    """Hits and trials by task."""

    def __init__(self) -> None:
        self.per_task: dict[str, tuple[int, int]] = {}

    def add(self, task: str, hit: bool) -> None:
        """Count a trial of a task."""
        hits, trials = self.per_task.get(task, (0, 0))
        self.per_task[task] = hits + hit, trials + 1

    def rate(self) -> Rate:
        """The share of the trials that hit; its interval takes the trials of a task for a cluster."""
        pairs = list(self.per_task.values())
        hits, n = sum(hits for hits, _ in pairs), sum(trials for _, trials in pairs)
        if not n:
            return Rate(hits=0, n=0, value=None, low=None, high=None)
        low, high = wilson_clustered(pairs)
        return Rate(hits=hits, n=n, value=hits / n, low=low, high=high)


class Quantity:
    """The values of a quantity over trials, and their sums by task."""

    def __init__(self) -> None:
        self._values: list[float] = []
        self._per_task: dict[str, tuple[float, int]] = {}
        self._unknown = 0

    def add(self, task: str, value: float | None) -> None:
        """Note a trial of a task; ``None`` is unknown."""
        if value is None:
            self._unknown += 1
            return
        self._values.append(value)
        total, trials = self._per_task.get(task, (0.0, 0))
        self._per_task[task] = total + value, trials + 1

    def distribution(self) -> Distribution:
        """The quantity's mean with its standard error, its quantiles and its total."""
        values, total = self._values, fsum(self._values)
        whole = bool(values) and not self._unknown
        return Distribution(
            n=len(values),
            unknown=self._unknown,
            mean=total / len(values) if whole else None,
            sem=clustered_standard_error(list(self._per_task.values())) if whole else None,
            median=quantile(values, 0.5) if values else None,
            p90=quantile(values, 0.9) if values else None,
            max=max(values, default=None),
            total=total if whole else None,
        )


_QUANTITIES: Mapping[str, Callable[[Result], float | None]] = {
    "avg_latency_sec": lambda result: result.run.usage.latency_s,
    "avg_lm_calls": lambda result: result.run.usage.lm_calls,
    "avg_tool_calls": lambda result: result.run.usage.tool_calls,
    "avg_steps": lambda result: len(result.run.steps),
    "avg_cost_usd": lambda result: result.run.usage.cost_usd,
    "input_tokens": lambda result: result.run.usage.input_tokens,
    "output_tokens": lambda result: result.run.usage.output_tokens,
}


@dataclass(slots=True)
class Tally:
    """Counts results as they come, for a `Summary` at the end."""

    header: Header
    successes: Shares = field(default_factory=Shares)
    """By task, for whoever pairs them with those of another eval."""
    _contains: Shares = field(default_factory=Shares)
    _key: Shares = field(default_factory=Shares)
    _by_tag: defaultdict[str, Shares] = field(default_factory=lambda: defaultdict(Shares))
    _by_check: defaultdict[str, Shares] = field(default_factory=lambda: defaultdict(Shares))
    _by_damage: defaultdict[str, Shares] = field(default_factory=lambda: defaultdict(Shares))
    _quantities: dict[str, Quantity] = field(default_factory=lambda: {name: Quantity() for name in _QUANTITIES})
    _replies: Quantity = field(default_factory=Quantity)
    _reasons: Counter[str] = field(default_factory=Counter[str])
    _providers: Counter[str] = field(default_factory=Counter[str])
    _scores: list[float] = field(default_factory=list[float])
    _errors: int = 0

    def add(self, result: Result) -> None:
        """Count one trial; nothing of its run is kept but numbers and names."""
        task, passed = result.task, {check.name for check in result.checks if check.passed}
        self.successes.add(task.id, result.success)
        if task.expect_contains is not None:
            self._contains.add(task.id, "contains" in passed)
        if task.expect_key is not None:
            self._key.add(task.id, "key" in passed)
        for tag in dict.fromkeys(task.tags):
            self._by_tag[tag].add(task.id, result.success)
        for name in {check.name for check in result.checks}:
            self._by_check[name].add(task.id, name in passed)
        for name in {damage.name for damage in result.damages}:
            self._by_damage[name].add(task.id, result.success)
        for name, quantity in self._quantities.items():
            quantity.add(task.id, _QUANTITIES[name](result))
        if result.decisions != 0:
            self._replies.add(task.id, result.replies_per_decision)
        self._reasons[result.run.termination_reason or result.run.status] += 1
        self._providers[_answered_by(result)] += 1
        self._scores.append(result.score)
        self._errors += result.run.status == "failed"

    def summary(self) -> Summary:
        """The figures of what was counted so far."""
        n, epochs = len(self._scores), self.header.epochs
        return Summary(
            success_rate=self.successes.rate(),
            contains_hit_rate=self._contains.rate(),
            key_hit_rate=self._key.rate(),
            **{name: quantity.distribution() for name, quantity in self._quantities.items()},
            replies_per_decision=self._replies.distribution(),
            n=n,
            tasks=len(self.successes.per_task),
            epochs=epochs,
            missing=self.header.planned - n,
            errors=self._errors,
            score_mean=fsum(self._scores) / n if n else None,
            by_tag={tag: shares.rate() for tag, shares in sorted(self._by_tag.items())},
            by_check={name: shares.rate() for name, shares in sorted(self._by_check.items())},
            by_damage={name: shares.rate() for name, shares in sorted(self._by_damage.items())},
            by_reason=_most_first(self._reasons),
            pass_at_k=self._over_tasks(pass_at_k),
            pass_hat_k=self._over_tasks(pass_hat_k),
            providers=_most_first(self._providers),
        )

    def _over_tasks(self, chance: Callable[[int, int, int], float]) -> dict[int, float | None]:
        """For each k the mean over the tasks that have as many trials; ``None`` where none has."""
        pairs = self.successes.per_task.values()
        of_k = {k: [chance(n, c, k) for c, n in pairs if n >= k] for k in range(1, self.header.epochs + 1)}
        return {k: fsum(chances) / len(chances) if chances else None for k, chances in of_k.items()}


def _answered_by(result: Result) -> str:
    models = " + ".join(result.models) or result.run.model or "unknown"
    return f"{result.run.provider or 'unknown'} {models}"


def _most_first(counts: Counter[str]) -> dict[str, int]:
    # Ties go by name, so that the order does not hang on which trial ended first.
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
