"""The figures of an eval and of a comparison as lines of text for a terminal."""

from collections.abc import Iterator, Mapping, Sequence

from micro_agent.evaluation.figures import Comparison, Distribution, FaultFigures, Flip, Paired, Rate, Summary
from micro_agent.text.printable import printable

_QUESTION = 70
_FLIPS = 20
_IDS = 10
_SETTING = 60


def summary_lines(summary: Summary) -> Iterator[str]:
    """The figures of an eval. The first nine lines are its main figures, one a line, as ``name: value``."""
    yield f"success_rate: {_rate(summary.success_rate, 'there is no result')}"
    yield f"contains_hit_rate: {_rate(summary.contains_hit_rate, 'none of the tasks has expect_contains')}"
    yield f"key_hit_rate: {_rate(summary.key_hit_rate, 'none of the tasks has expect_key')}"
    yield f"avg_latency_sec: {_average(summary.avg_latency_sec)}"
    yield f"avg_lm_calls: {_average(summary.avg_lm_calls)}"
    yield f"avg_tool_calls: {_average(summary.avg_tool_calls)}"
    yield f"avg_steps: {_average(summary.avg_steps)}"
    yield f"avg_cost_usd: {_average(summary.avg_cost_usd, digits=6)}"
    yield f"n: {summary.n}{_extent(summary)}"
    if (summary.replies_per_decision.max or 1) > 1:
        yield f"replies_per_decision: {_average(summary.replies_per_decision)}"
    if summary.epochs > 1:
        yield from _chances(summary)
    yield from _rates("success by tag", summary.by_tag)
    yield from _rates("checks passed", summary.by_check)
    yield from _rates("success by damage", summary.by_damage)
    yield from _counts("termination reasons", summary.by_reason)
    if summary.errors:
        failed = "1 run failed and counts" if summary.errors == 1 else f"{summary.errors} runs failed and count"
        yield ""
        yield f"errors: {failed} as no success; --retry-errors asks again"
    yield from _counts("answered by", summary.providers)


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """Two evals side by side, and at the end one sentence on what the difference shows."""
    yield f"tasks compared: {comparison.tasks}"
    yield f"success_rate a: {_rate(comparison.a_rate, 'no task is in both')}"
    yield f"success_rate b: {_rate(comparison.b_rate, 'no task is in both')}"
    if comparison.difference is not None and comparison.p_value is not None:
        yield f"difference, b minus a: {_difference(comparison)}  ({comparison.method})"
        yield f"p-value: {_p_value(comparison.p_value)}  ({comparison.test})"
    yield f"latency, seconds: {_paired(comparison.latency, 3)}"
    yield f"cost, US dollars: {_paired(comparison.cost, 6)}"
    yield f"input tokens: {_paired(comparison.input_tokens, 0)}"
    yield f"output tokens: {_paired(comparison.output_tokens, 0)}"
    yield f"replies per decision: {_paired(comparison.replies_per_decision, 3)}"
    yield from _flips("gained", comparison.gained)
    yield from _flips("lost", comparison.lost)
    if comparison.settings:
        yield ""
        yield "settings that differ (a, b):"
        for name, (a, b) in comparison.settings.items():
            yield f"  {_cut(name, _SETTING)}: {_setting(a)}, {_setting(b)}"
    yield from _left_out(comparison)
    yield ""
    yield conclusion(comparison)


def fault_lines(figures: FaultFigures) -> Iterator[str]:
    """The comparison of an eval with and without faults, and what became of the tasks that are solved without."""
    trials = _count(figures.comparison.b.n, "trial")
    yield f"a: without faults; b: {figures.rate:g} of the replies damaged, seed {figures.seed}"
    yield f"still solved with faults: {_rate(figures.still_solved, 'nothing was solved without')}"
    yield f"damaged: {_count(figures.damaged_replies, 'reply', 'replies')}, in {figures.damaged_trials} of {trials}"
    yield from _rates("still solved, by damage", figures.by_damage)
    yield ""
    yield from comparison_lines(figures.comparison)


def conclusion(comparison: Comparison) -> str:
    """One sentence on what the comparison shows, which claims no more than its interval and its test allow."""
    low, high, p_value = comparison.low, comparison.high, comparison.p_value
    if low is None or high is None or p_value is None:
        return "Nothing can be said of the difference: no task was asked in both evals."
    if low <= 0 <= high:
        least = f"{-100 * low:.1f} points worse" if low else "no worse"
        most = f"{100 * high:.1f} points better" if high else "no better"
        return f"These tasks do not show which is better: b may be anything from {least} to {most} than a."
    near, far = sorted((abs(100 * low), abs(100 * high)))
    said = f"b succeeds {'more' if low > 0 else 'less'} often than a, by {near:.1f} to {far:.1f} percentage points"
    if p_value >= 0.05:
        return f"The evidence is weak: the interval says that {said}, the test does not (p = {_p_value(p_value)})."
    return f"On tasks like these {said} (95 % interval)."


def _rate(rate: Rate, none: str) -> str:
    if rate.value is None:
        return none
    return f"{rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}]  ({_hits(rate)} of {rate.n})"


def _hits(rate: Rate) -> str:
    return f"{rate.hits:.0f}" if rate.hits == round(rate.hits) else f"{rate.hits:.2f}"


def _average(figure: Distribution, *, digits: int = 3) -> str:
    if figure.unknown:
        return f"unknown  (for {figure.unknown} of {_count(figure.n + figure.unknown, 'trial')})"
    if figure.mean is None:
        return "there is no result"
    spread = f"median {figure.median:.{digits}f}, p90 {figure.p90:.{digits}f}, max {figure.max:.{digits}f}"
    total = f", total {figure.total:.{digits}f}"
    return f"{figure.mean:.{digits}f}  ({spread}{total if digits > 3 else ''})"


def _count(count: int, what: str, several: str | None = None) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {several or what + 's'}"


def _extent(summary: Summary) -> str:
    tasks = f"{_count(summary.tasks, 'task')}, {summary.epochs} epochs" if summary.epochs > 1 else ""
    missing = f"{_count(summary.missing, 'trial')} without a result" if summary.missing > 0 else ""
    said = ", ".join(filter(None, (tasks, missing)))
    return f"  ({said})" if said else ""


def _chances(summary: Summary) -> Iterator[str]:
    yield ""
    yield "   k  pass@k  pass^k"
    for k, at in summary.pass_at_k.items():
        yield f"{k:>4}  {_chance(at):>6}  {_chance(summary.pass_hat_k[k]):>6}"


def _chance(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _rates(title: str, rates: Mapping[str, Rate]) -> Iterator[str]:
    if rates:
        yield ""
        yield f"{title}:"
        width = max(map(len, rates))
        for name, rate in rates.items():
            yield f"  {name:<{width}}  {_rate(rate, 'no case')}"


def _counts(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    if counts:
        yield ""
        yield f"{title}:"
        # The names come from records and servers.
        names = {name: printable(" ".join(name.split())) for name in counts}
        width = max(map(len, names.values()))
        for name, count in counts.items():
            yield f"  {names[name]:<{width}}  {count}"


def _difference(figure: Comparison | Paired, digits: int = 3) -> str:
    interval = "" if figure.low is None else f" [{figure.low:+.{digits}f}, {figure.high:+.{digits}f}]"
    return f"{figure.difference:+.{digits}f}{interval}"


def _p_value(value: float) -> str:
    return "below 0.0001" if value < 0.0001 else f"{value:.4f}"


def _paired(pair: Paired, digits: int) -> str:
    unknown = f"unknown for {pair.unknown} of {_count(pair.n + pair.unknown, 'task')}"
    if pair.difference is None:
        return unknown if pair.unknown else "no task is in both"
    means = f"a {pair.a:.{digits}f}, b {pair.b:.{digits}f}, difference {_difference(pair, digits)}"
    return f"{means}  ({unknown}, which are left out)" if pair.unknown else means


def _flips(title: str, flips: Sequence[Flip]) -> Iterator[str]:
    if not flips:
        return
    yield ""
    yield f"{title}: {len(flips)}"
    shown = flips[:_FLIPS]
    width = max(len(flip.task) for flip in shown)
    for flip in shown:
        yield f"  {flip.task:<{width}}  {_shares(flip)}  {_cut(flip.question, _QUESTION)}"
    if len(flips) > len(shown):
        yield f"  … and {len(flips) - len(shown)} more"


def _shares(flip: Flip) -> str:
    whole = {flip.a, flip.b} <= {0.0, 1.0}
    shares = "" if whole else f"{flip.a:.2f} to {flip.b:.2f}, "
    reasons = (_cut(reason or "unknown", _SETTING) for reason in (flip.reason_a, flip.reason_b))
    return f"({shares}{' to '.join(dict.fromkeys(reasons))})"


def _left_out(comparison: Comparison) -> Iterator[str]:
    groups = {"only in a": comparison.only_a, "only in b": comparison.only_b, "changed": comparison.changed}
    if any(groups.values()):
        yield ""
        yield "tasks left out:"
    for title, tasks in groups.items():
        if tasks:
            more = f" … and {len(tasks) - _IDS} more" if len(tasks) > _IDS else ""
            yield f"  {title}: {len(tasks)}  ({', '.join(tasks[:_IDS])}{more})"


def _setting(value: object) -> str:
    return "not set" if value is None else _cut(str(value), _SETTING)


def _cut(text: str, width: int) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= width else f"{line[: width - 1]}…"
