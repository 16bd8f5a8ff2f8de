"""An eval under way: progress on standard error, its figures on standard output, an exit code."""

import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import typer

from micro_agent.cancel import Cancel
from micro_agent.cli.eval_plan import Plan
from micro_agent.cli.eval_worker import setup_of
from micro_agent.cli.messages import is_terminal, print_json, print_text, say
from micro_agent.cli.options import store_of
from micro_agent.cli.spread import Spread
from micro_agent.cli.stopping import stopping
from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.failing import failing_lines
from micro_agent.evaluation.faults import fault_figures
from micro_agent.evaluation.progress import Progress, shown
from micro_agent.evaluation.results import ResultFile, read_results
from micro_agent.evaluation.runner import Ending, run_trials, run_with
from micro_agent.evaluation.summary import summarize
from micro_agent.evaluation.trial_traces import folder_of
from micro_agent.evaluation.wording import fault_lines, summary_lines
from micro_agent.models.servers import at_once
from micro_agent.models.settings import Settings
from micro_agent.traces import TraceStore

_CODES = {"unreached": 1, "limit_cost": 3, "cancelled": 130}
_UNDER_THE_THRESHOLD = 100


@dataclass(frozen=True, slots=True)
class Bounds:
    """What does not change what is measured: threads, US dollars at most, the success rate that is wanted.

    Raises:
        ConfigurationError: One of them is out of range.
    """

    concurrency: int
    limit_cost: float | None
    threshold: float | None
    spread: Spread | None = None
    """The workers that ask; ``None``: threads of this process do."""

    def __post_init__(self) -> None:
        if self.limit_cost is not None and not self.limit_cost > 0:
            raise ConfigurationError(f"--limit-cost must be more than 0 dollars, not {self.limit_cost:g}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise ConfigurationError(f"--threshold must be a share from 0 to 1, such as 0.9, not {self.threshold:g}")


def report(plans: list[Plan], bounds: Bounds, found: Settings, traces_dir: Path | None, *, as_json: bool) -> NoReturn:
    """Run an eval to its end, or to Ctrl-C or SIGTERM, and print its figures; leaves with the exit code.

    The runs are written to ``traces_dir``, else to a folder beside each result file. With faults there are two: the
    second begins when the first is done.
    """
    cancel = Cancel()
    first = plans[0].file
    with ExitStack() as held, stopping(cancel.set) as got:
        for plan in plans:
            held.enter_context(plan.file)
        try:
            ending = _run(plans, bounds, found, traces_dir, cancel)
        except BaseException:
            say(_how_to_go_on(first))
            raise
        code = _report(ending, plans, bounds, as_json=as_json)
        raise typer.Exit(128 + got[0] if got and ending.reason == "cancelled" else code)


def _report(ending: Ending, plans: list[Plan], bounds: Bounds, *, as_json: bool) -> int:
    first = plans[0].file
    if ending.reason == "unreached":
        say(f"micro-agent: {ending.message}")
        say(f"{_how_to_go_on(first)} --retry-errors")
        return _CODES[ending.reason]
    rate = _shown(plans, as_json=as_json)
    if is_terminal(sys.stderr):
        for line in failing_lines(*read_results(first.path)):
            say(line)
    if ending.reason == "done":
        say(f"Results: {' and '.join(str(plan.file.path) for plan in plans)}")
        return _judged(rate, bounds.threshold)
    say("Interrupted." if ending.reason == "cancelled" else f"Stopped: {ending.message}")
    say(_how_to_go_on(first))
    return _CODES[ending.reason]


def _shown(plans: list[Plan], *, as_json: bool) -> float | None:
    """Print the figures. Returns the success rate, with faults where there are some."""
    if len(plans) > 1:
        figures = fault_figures(plans[0].file.path, plans[1].file.path)
        rate, lines = figures.comparison.b.success_rate, fault_lines(figures)
    else:
        figures = summarize(*read_results(plans[0].file.path))
        rate, lines = figures.success_rate, summary_lines(figures)
    if as_json:
        print_json(figures.model_dump(mode="json"))
    else:
        print_text("\n".join(lines))
    return rate.value


def _run(plans: list[Plan], bounds: Bounds, found: Settings, traces_dir: Path | None, cancel: Cancel) -> Ending:
    spent, ending = 0.0, Ending("done")
    for number, plan in enumerate(plans):
        if len(plans) > 1:
            say("With faults:" if number else "Without faults:")
        store = store_of(found, traces_dir or folder_of(plan.file.path))
        with shown(Progress(plan.file, plan.left), sys.stderr) as on_result:
            ending = _asked(plan, bounds, found, store, on_result, cancel, spent)
        if ending.reason != "done":
            break
        spent += plan.file.cost_usd or 0.0
    return ending


def _asked(
    plan: Plan, bounds: Bounds, found: Settings, store: TraceStore, on_result: Callable[[object], None],
    cancel: Cancel, spent: float,
) -> Ending:  # fmt: skip
    if bounds.spread is not None:
        workers = bounds.spread.executor(setup_of(plan.file.header, found, plan.base_urls, store.directory))
        return run_with(
            workers, plan.todo, plan.file, store=store, limit_cost=bounds.limit_cost, cancel=cancel,
            on_tried=on_result, spent_usd=spent,
        )  # fmt: skip
    together = at_once(plan.lm, bounds.concurrency, samples=plan.file.header.settings.get("samples", 1))
    return run_trials(
        plan.todo, plan.ask, plan.file, plan.file.header.rubric, store=store, concurrency=together,
        limit_cost=bounds.limit_cost, cancel=cancel, on_result=on_result, damages_of=plan.damages_of, spent_usd=spent,
    )  # fmt: skip


def _judged(rate: float | None, threshold: float | None) -> int:
    if threshold is None or rate is None or rate >= threshold:
        return 0
    say(f"The success rate {rate:.3f} is under the threshold {threshold:g}.")
    return _UNDER_THE_THRESHOLD


def _how_to_go_on(file: ResultFile) -> str:
    return f"Go on with: micro-agent eval run --resume {shlex.quote(str(file.path))}"
