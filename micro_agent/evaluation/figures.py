"""The figures of an eval and of a comparison, as data: what is printed, reported and given to programs as JSON.

An unknown figure is ``None``, never 0.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict


class _Data(BaseModel):
    model_config = ConfigDict(protected_namespaces=())


class Rate(_Data):
    """A share with its 95 % interval. With no cases (``n`` is 0) everything but the counts is ``None``."""

    hits: float
    n: int
    value: float | None
    low: float | None
    high: float | None


class Distribution(_Data):
    """Of a quantity over trials: ``n`` known ones, and the number of trials where it is unknown."""

    n: int
    unknown: int
    mean: float | None
    """``None`` as soon as one is unknown."""
    sem: float | None
    """Standard error of the mean, clustered by task when there are epochs; ``None`` below two tasks."""
    median: float | None
    p90: float | None
    max: float | None
    total: float | None


class Summary(_Data):
    """An eval in figures. The names of the first nine are those that `run_evals.py` prints."""

    success_rate: Rate
    contains_hit_rate: Rate
    """Of the trials whose task has ``expect_contains``."""
    key_hit_rate: Rate
    """Of the trials whose task has ``expect_key``."""
    avg_latency_sec: Distribution
    """Seconds that the run spent on model and tools (``usage.latency_s``)."""
    avg_lm_calls: Distribution
    avg_tool_calls: Distribution
    avg_steps: Distribution
    avg_cost_usd: Distribution
    n: int
    """Trials that have a result."""
    tasks: int
    """Tasks that have a result."""
    epochs: int
    missing: int
    """Trials of the header that have no result (yet)."""
    errors: int
    """Trials whose run failed (status ``failed``): they count as no success, and ``--retry-errors`` asks them again."""
    score_mean: float | None
    by_tag: dict[str, Rate]
    by_check: dict[str, Rate]
    by_damage: dict[str, Rate] = {}
    """Of an eval with faults: by the class of a damage that was done to a reply of the trial."""
    by_reason: dict[str, int]
    """Trials by termination reason."""
    pass_at_k: dict[int, float | None]
    """k: the chance that one of k trials of a task succeeds; for k from 1 to the epochs."""
    pass_hat_k: dict[int, float | None]
    """k: the chance that all of k trials of a task succeed."""
    providers: dict[str, int]
    """Trials by ``provider model``, the model being the one that the server said answered."""
    input_tokens: Distribution
    output_tokens: Distribution
    replies_per_decision: Distribution
    """Of the trials in which something was decided; 1 without sampling."""


class Flip(_Data):
    """A task that the one eval solved and the other did not, with the success of each (a share with epochs)."""

    task: str
    question: str
    a: float
    b: float
    reason_a: str | None = None
    reason_b: str | None = None


class Paired(_Data):
    """A quantity in both evals on the same tasks: means and the mean of the differences (b minus a).

    A pair is the means of a task's trials. All figures are over the pairs where both are known, ``None`` without one.
    ``low`` and ``high`` are ``None`` where the differences do not vary.
    """

    n: int
    """Pairs where both are known."""
    unknown: int
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None


class Comparison(_Data):
    """Two evals on the tasks that both have. ``difference`` is b minus a."""

    a: Summary
    b: Summary
    tasks: int
    """Tasks that have a result in both and are the same in both: those that are compared."""
    only_a: list[str]
    """Tasks that have a result in a alone."""
    only_b: list[str]
    changed: list[str]
    """Tasks whose question or expectations differ between the two; they are left out."""
    a_rate: Rate
    """Over the tasks compared, all weighing the same: ``hits`` is the sum of their success rates, ``n`` the tasks."""
    b_rate: Rate
    difference: float | None
    low: float | None
    high: float | None
    method: str
    """How the interval was made, in words."""
    p_value: float | None
    test: str
    """Which test gave it, in words."""
    gained: list[Flip]
    lost: list[Flip]
    latency: Paired
    cost: Paired
    input_tokens: Paired
    output_tokens: Paired
    replies_per_decision: Paired
    settings: dict[str, tuple[Any, Any]]
    """What differs between the two headers' settings."""


class FaultFigures(_Data):
    """An eval without faults (a) and the same with a part of the replies damaged (b)."""

    rate: float
    """The share of the replies that was to be damaged."""
    seed: int
    comparison: Comparison
    still_solved: Rate
    """Of the trials that are a success without faults."""
    by_damage: dict[str, Rate]
    """The same of those whose replies were damaged in this way; a trial may have several."""
    damaged_replies: int
    damaged_trials: int
