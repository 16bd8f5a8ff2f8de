"""The figures of an eval as Markdown, for the summary of a CI job or a comment."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape

from micro_agent.evaluation.failing import failing_lines
from micro_agent.evaluation.figures import Rate, Summary
from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.summary import Tally
from micro_agent.text.printable import printable

_HARMLESS = frozenset(" -./:")
_WIDTH = 100


def markdown_lines(header: Header, results: Iterable[Result]) -> Iterator[str]:
    """A headline, a table of rates and the tasks that failed. ``results`` is read once.

    Names and messages come from files, models and servers: none of them is read as Markdown or as HTML.
    """
    tally = Tally(header)
    failing = list(failing_lines(header, _counted(tally, results)))
    summary = tally.summary()
    yield f"### Success rate {_percent(summary.success_rate.value)}"
    yield ""
    yield f"{_asked(summary)}, answered by {_names(summary.providers)}."
    yield ""
    yield "| | rate | passed | 95 % interval |"
    yield "|---|--:|--:|--:|"
    yield _row("all", summary.success_rate)
    for kind, rates in (("tag", summary.by_tag), ("check", summary.by_check)):
        for name, rate in rates.items():
            yield _row(f"{kind} {_text(name)}", rate)
    yield ""
    yield f"Seconds a run: {_mean(summary.avg_latency_sec.mean, 2)}; cost: {_mean(summary.avg_cost_usd.total, 4)} USD."
    if failing:
        yield from ("", f"<details><summary>{escape(failing[0])}</summary>", "", "<pre>")
        yield from (escape(line) for line in failing[1:])
        yield from ("</pre>", "", "</details>")


def _counted(tally: Tally, results: Iterable[Result]) -> Iterator[Result]:
    for result in results:
        tally.add(result)
        yield result


def _row(name: str, rate: Rate) -> str:
    hits = f"{rate.hits:.0f}" if rate.hits == round(rate.hits) else f"{rate.hits:.2f}"
    return f"| {name} | {_percent(rate.value)} | {hits} of {rate.n} | {_percent(rate.low)} to {_percent(rate.high)} |"


def _asked(summary: Summary) -> str:
    tasks = f"{summary.tasks} task{'' if summary.tasks == 1 else 's'}"
    return f"{tasks}, {summary.epochs} epochs" if summary.epochs > 1 else tasks


def _names(counts: Mapping[str, int]) -> str:
    return ", ".join(_text(name) for name in counts) or "nobody"


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def _mean(value: float | None, digits: int) -> str:
    return "unknown" if value is None else f"{value:.{digits}f}"


def _text(name: str) -> str:
    """A name that nothing in it can make more of: what is not a letter or a digit is written as its number."""
    line = printable(" ".join(name.split()))[:_WIDTH]
    return "".join(char if char.isalnum() or char in _HARMLESS else f"&#{ord(char)};" for char in line)
