"""An eval under way: progress on standard error, its figures on standard output, an exit code."""

import shlex
import sys
from dataclasses import dataclass
from typing import NoReturn

import typer

from micro_agent.cancel import Cancel
from micro_agent.cli.eval_plan import Plan
from micro_agent.cli.messages import print_text, say
from micro_agent.cli.stopping import stopping
from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.figures import Summary
from micro_agent.evaluation.progress import Progress, shown
from micro_agent.evaluation.results import ResultFile, read_results
from micro_agent.evaluation.runner import Ending, agent_ask, run_trials
from micro_agent.evaluation.summary import summarize
from micro_agent.evaluation.wording import summary_lines
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

    def __post_init__(self) -> None:
        if self.limit_cost is not None and not self.limit_cost > 0:
            raise ConfigurationError(f"--limit-cost must be more than 0 dollars, not {self.limit_cost:g}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise ConfigurationError(f"--threshold must be a share from 0 to 1, such as 0.9, not {self.threshold:g}")


def report(plan: Plan, bounds: Bounds, store: TraceStore, *, as_json: bool) -> NoReturn:
    """Run an eval to its end, or to Ctrl-C or SIGTERM, and print its figures; leaves with the exit code."""
    cancel = Cancel()
    with plan.file, stopping(cancel.set) as got:
        try:
            ending = _run(plan, bounds, store, cancel)
        except BaseException:
            say(_how_to_go_on(plan.file))
            raise
        code = _report(ending, plan.file, bounds, as_json=as_json)
        raise typer.Exit(128 + got[0] if got and ending.reason == "cancelled" else code)


def _report(ending: Ending, file: ResultFile, bounds: Bounds, *, as_json: bool) -> int:
    if ending.reason == "unreached":
        say(f"micro-agent: {ending.message}")
        say(f"{_how_to_go_on(file)} --retry-errors")
        return _CODES[ending.reason]
    summary = summarize(*read_results(file.path))
    if as_json:
        typer.echo(summary.model_dump_json())
    else:
        print_text("\n".join(summary_lines(summary)))
    if ending.reason == "done":
        say(f"Results: {file.path}")
        return _judged(summary, bounds.threshold)
    say("Interrupted." if ending.reason == "cancelled" else f"Stopped: {ending.message}")
    say(_how_to_go_on(file))
    return _CODES[ending.reason]


def _run(plan: Plan, bounds: Bounds, store: TraceStore, cancel: Cancel) -> Ending:
    with shown(Progress(plan.file, len(plan.todo)), sys.stderr) as on_result:
        return run_trials(
            plan.todo, agent_ask(plan.agent_for), plan.file, plan.file.header.rubric, store=store,
            concurrency=bounds.concurrency, limit_cost=bounds.limit_cost, cancel=cancel, on_result=on_result,
        )  # fmt: skip


def _judged(summary: Summary, threshold: float | None) -> int:
    rate = summary.success_rate.value
    if threshold is None or rate is None or rate >= threshold:
        return 0
    say(f"The success rate {rate:.3f} is under the threshold {threshold:g}.")
    return _UNDER_THE_THRESHOLD


def _how_to_go_on(file: ResultFile) -> str:
    return f"Go on with: micro-agent eval run --resume {shlex.quote(str(file.path))}"
