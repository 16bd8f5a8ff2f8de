"""Two evals side by side, task by task."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import fsum
from typing import Any, cast

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.figures import Comparison, Flip, Paired, Rate, Summary
from micro_agent.evaluation.result import Header, Result, Rubric
from micro_agent.evaluation.statistics import (
    all_alike,
    clustered_difference,
    mcnemar_exact,
    mean_interval,
    paired_interval,
    wilson_clustered,
)
from micro_agent.evaluation.summary import Tally
from micro_agent.evaluation.task import EXPECTATIONS, Task

SCORE_INTERVAL = "score interval for paired rates (Tango 1998)"
SCORE_INTERVAL_OF_TASKS = "score interval for paired rates (Tango 1998), one pair a task: all tasks differ alike"
T_INTERVAL = "Student's t on the tasks' differences, tasks as clusters"
MCNEMAR = "McNemar's exact test, two-sided"
SIGN_TEST = "exact sign test on the tasks, two-sided"
T_TEST = "Student's t test on the tasks' differences, two-sided"
NOTHING = "no task is in both"

_Eval = tuple[Header, Iterable[Result]]


@dataclass(slots=True)
class _Asked:
    """What is kept of a task and its trials in one eval."""

    question: str
    expected: str
    """Digest of the question and of what is expected."""
    hits: int
    trials: int
    reason: str
    """How the first trial ended that was not a success; of the first one if all were."""
    took: dict[str, float | None]
    """By quantity, sums over the trials; ``None`` once one is unknown."""

    @property
    def share(self) -> float:
        return self.hits / self.trials


_TOOK: Mapping[str, Callable[[Result], float | None]] = {
    "latency": lambda result: result.run.usage.latency_s,
    "cost": lambda result: result.run.usage.cost_usd,
    "input_tokens": lambda result: result.run.usage.input_tokens,
    "output_tokens": lambda result: result.run.usage.output_tokens,
    "replies_per_decision": lambda result: result.replies_per_decision,
}
_Pairs = Mapping[str, tuple[_Asked, _Asked]]


def compare(a: _Eval, b: _Eval) -> Comparison:
    """Two evals on the tasks that both have, paired by id. Each one's results are read once.

    With one trial a task in both: `mcnemar_exact` and `paired_interval`. With more in either: `clustered_difference`
    on the tasks. Tasks whose question or expectations differ are left out and named.

    Raises:
        ConfigurationError: Success was judged by different rubrics.
    """
    _same_rubric(a[0].rubric, b[0].rubric)
    (a_summary, a_asked), (b_summary, b_asked) = _read(*a), _read(*b)
    order = {task: place for place, task in enumerate(dict.fromkeys([*a[0].tasks, *b[0].tasks, *a_asked, *b_asked]))}
    both = sorted(a_asked.keys() & b_asked.keys(), key=order.__getitem__)
    changed = [task for task in both if a_asked[task].expected != b_asked[task].expected]
    left_out = frozenset(changed)
    pairs = {task: (a_asked[task], b_asked[task]) for task in both if task not in left_out}
    return Comparison(
        a=a_summary,
        b=b_summary,
        tasks=len(pairs),
        only_a=sorted(a_asked.keys() - b_asked.keys(), key=order.__getitem__),
        only_b=sorted(b_asked.keys() - a_asked.keys(), key=order.__getitem__),
        changed=changed,
        a_rate=_rate([of_a for of_a, _ in pairs.values()]),
        b_rate=_rate([of_b for _, of_b in pairs.values()]),
        **_difference(pairs),
        gained=_flips(pairs, 1),
        lost=_flips(pairs, -1),
        **_took(pairs),
        settings=_settings(a[0], b[0]),
    )


def _same_rubric(a: Rubric, b: Rubric) -> None:
    if (a.weights, a.pass_score) != (b.weights, b.pass_score):
        raise ConfigurationError(
            "the two evals judge success by different rubrics: score one of them again with the other's, "
            "with `micro-agent eval score`"
        )


def _read(header: Header, results: Iterable[Result]) -> tuple[Summary, dict[str, _Asked]]:
    tally, asked = Tally(header), dict[str, _Asked]()
    for result in results:
        tally.add(result)
        _note(asked, result)
    return tally.summary(), asked


def _note(asked: dict[str, _Asked], result: Result) -> None:
    reason = result.run.termination_reason or result.run.status
    took = {name: quantity(result) for name, quantity in _TOOK.items()}
    known = asked.get(result.task.id)
    if known is None:
        question, expected = result.task.question, _digest(result.task)
        asked[result.task.id] = _Asked(question, expected, int(result.success), 1, reason, took)
        return
    if known.hits == known.trials and not result.success:
        known.reason = reason
    known.hits += result.success
    known.trials += 1
    known.took = {name: _plus(total, took[name]) for name, total in known.took.items()}


def _digest(task: Task) -> str:
    judged = task.model_dump(mode="json", include={"question", *EXPECTATIONS})
    return sha256(json.dumps(judged, sort_keys=True).encode()).hexdigest()


def _plus(total: float | None, value: float | None) -> float | None:
    return None if total is None or value is None else total + value


def _took(pairs: _Pairs) -> dict[str, Any]:
    return {name: _paired([(_mean(name, a), _mean(name, b)) for a, b in pairs.values()]) for name in _TOOK}


def _mean(name: str, asked: _Asked) -> float | None:
    total = asked.took[name]
    return None if total is None else total / asked.trials


def _rate(asked: Sequence[_Asked]) -> Rate:
    if not asked:
        return Rate(hits=0, n=0, value=None, low=None, high=None)
    hits = fsum(task.share for task in asked)
    low, high = wilson_clustered([(task.share, 1) for task in asked], trials=sum(task.trials for task in asked))
    return Rate(hits=hits, n=len(asked), value=hits / len(asked), low=low, high=high)


def _difference(pairs: _Pairs) -> dict[str, Any]:
    """The difference with its interval, its p-value and the names of both methods."""
    if not pairs:
        return {"difference": None, "low": None, "high": None, "method": NOTHING, "p_value": None, "test": NOTHING}
    differences = [b.share - a.share for a, b in pairs.values()]
    difference = fsum(differences) / len(differences)
    if all(a.trials == b.trials == 1 for a, b in pairs.values()):
        only_a, only_b = differences.count(-1), differences.count(1)
        low, high = paired_interval(0, only_a, only_b, len(pairs) - only_a - only_b)
        p_value, method, test = mcnemar_exact(only_a, only_b), SCORE_INTERVAL, MCNEMAR
    else:
        low, high, p_value = clustered_difference(differences)
        alike = all_alike(differences)
        method, test = (SCORE_INTERVAL_OF_TASKS, SIGN_TEST) if alike else (T_INTERVAL, T_TEST)
    return {"difference": difference, "low": low, "high": high, "method": method, "p_value": p_value, "test": test}


def _flips(pairs: _Pairs, sign: int) -> list[Flip]:
    """The tasks whose success rate went up (``sign`` 1) or down (-1), those that changed most first."""
    found = [
        Flip(task=task, question=a.question, a=a.share, b=b.share, reason_a=a.reason, reason_b=b.reason)
        for task, (a, b) in pairs.items()
        if (b.share - a.share) * sign > 0
    ]
    # Rounded, so that 1 - 1/3 and 2/3 - 0 are the same change.
    return sorted(found, key=lambda flip: -round(abs(flip.b - flip.a), 9))


def _paired(values: Sequence[tuple[float | None, float | None]]) -> Paired:
    known = [(a, b) for a, b in values if a is not None and b is not None]
    n, unknown = len(known), len(values) - len(known)
    if not known:
        return Paired(n=0, unknown=unknown, a=None, b=None, difference=None, low=None, high=None)
    differences = [b - a for a, b in known]
    low, high = mean_interval(differences) or (None, None)
    a_mean, b_mean = fsum(a for a, _ in known) / n, fsum(b for _, b in known) / n
    return Paired(n=n, unknown=unknown, a=a_mean, b=b_mean, difference=fsum(differences) / n, low=low, high=high)


def _settings(a: Header, b: Header) -> dict[str, tuple[Any, Any]]:
    """The settings that differ, one level flattened; ``None`` stands for one that is not there."""
    of_a, of_b = _flat(a), _flat(b)
    names = dict.fromkeys([*of_a, *of_b])
    return {name: (of_a.get(name), of_b.get(name)) for name in names if of_a.get(name) != of_b.get(name)}


def _flat(header: Header) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in {**header.settings, "rubric": header.rubric.model_dump(mode="json")}.items():
        if isinstance(value, dict):
            flat.update({f"{name}.{key}": inner for key, inner in cast(dict[str, Any], value).items()})
        else:
            flat[name] = value
    return flat
