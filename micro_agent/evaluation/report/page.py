"""The page: a template filled piece by piece, with a policy that lets nothing of it run or load."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from micro_agent.evaluation.figures import Comparison, Summary
from micro_agent.evaluation.report import filters, headline, panels, wording
from micro_agent.evaluation.report.against import against
from micro_agent.evaluation.report.tables import pass_table, quantities_table
from micro_agent.evaluation.report.tasks import TaskView, task_views
from micro_agent.evaluation.result import Header, Result
from micro_agent.files.masking import mask_of
from micro_agent.text.printable import printable

_FILES = Path(__file__).parent
_PIECES = 200
"""Pieces of the template that are joined before they are given out."""


def pieces(
    header: Header,
    summary: Summary,
    results: Iterable[Result],
    comparison: Comparison | None = None,
    *,
    baseline: Header | None = None,
    traces: Path | None = None,
) -> Iterator[str]:
    """The page as pieces of HTML, in order. ``results`` are read once, one by one."""
    views = task_views(results, order=header.tasks, trials=summary.n, traces=traces)
    _flip(views, comparison)
    outcomes, tags = filters.outcomes(views, epochs=header.epochs), filters.tag_choices(views)
    style = _style([*outcomes, *tags])
    stream = _environment().get_template("page.html.jinja").stream(
        policy=_policy(style), style=Markup(style), header=header, summary=summary, views=views, baseline=baseline,
        sections=_sections(views), outcomes=outcomes, tags=tags,
        tag_class={choice.label: choice.css for choice in tags},
        against=comparison and against(comparison, {view.task.id: f"#task-{view.number}" for view in views}),
        quantities=quantities_table(summary), passes=pass_table(summary),
        panels=_panels(summary, views), answered=headline.answered(views), head=headline, say=wording,
    )  # fmt: skip
    stream.enable_buffering(_PIECES)
    return stream


def _sections(views: Sequence[TaskView]) -> list[tuple[str, str]]:
    """What stands behind the figures, as id and name: the tasks first when there is a failure to look at."""
    rest = [("tags", "Tags"), ("checks", "Checks"), ("spread", "Latency and cost"), ("endings", "Endings")]
    tasks = ("tasks", "Tasks")
    return [*rest, tasks] if all(view.outcome == "ok" for view in views) else [tasks, *rest]


def _panels(summary: Summary, views: Sequence[TaskView]) -> dict[str, panels.Panel]:
    trials = [trial for view in views for trial in view.trials]
    overall = summary.success_rate
    return {
        "tags": panels.rates_panel(summary.by_tag, overall, title="Success by tag", head="Tag", hits="Succeeded"),
        "checks": panels.rates_panel(summary.by_check, overall, title="Checks passed", head="Check", hits="Passed"),
        "latency": panels.distribution_panel(
            (trial.latency_s for trial in trials), summary.avg_latency_sec,
            title="Latency of a trial", say=wording.seconds, axis="Seconds", format=",~g",
        ),
        "cost": panels.distribution_panel(
            (trial.cost_usd for trial in trials), summary.avg_cost_usd,
            title="Cost of a trial", say=wording.dollars, axis="US dollars", format="$,.3~r",
        ),
        "endings": panels.endings_panel(summary),
    }  # fmt: skip


def _flip(views: Sequence[TaskView], comparison: Comparison | None) -> None:
    if comparison is not None:
        sides = {flip.task: "gained" for flip in comparison.gained} | {flip.task: "lost" for flip in comparison.lost}
        for view in views:
            view.flipped = sides.get(view.task.id)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_FILES),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """What jinja2 does with every value before it escapes it: no secret, and what does not show is made visible."""
    return printable(mask_of().text(value)) if isinstance(value, str) and not isinstance(value, Markup) else value


def _style(choices: Sequence[filters.Choice]) -> str:
    return "\n".join([(_FILES / "report.css").read_text("utf-8"), *filters.rules(choices), ""])


def _policy(style: str) -> str:
    """Nothing may be loaded or run; of styles only this very sheet counts (https://www.w3.org/TR/CSP3/)."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
