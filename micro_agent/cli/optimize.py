"""`micro-agent optimize`: few-shot demos or instructions for the planner, kept only when they make it better."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from micro_agent.cli.messages import print_json, print_text, say
from micro_agent.cli.options import (
    AskedMode,
    BaseUrls,
    Demos,
    Json,
    MaxSteps,
    Mode,
    Model,
    NoBuiltinTools,
    NoRequiredTools,
    Provider,
    Tools,
    UseToolCalls,
    measured_model,
    mode_for,
    option,
    rules_of,
    settings,
    tools_of,
)
from micro_agent.cli.spread import By, ExecutorOption, PerWorker, RayAddress, Workers, spread_of
from micro_agent.cli.stopping import stopping

if TYPE_CHECKING:
    from micro_agent.cancel import Cancel
    from micro_agent.models.settings import Settings
    from micro_agent.optimize import Outcome

ENVIRONMENT = (
    "Exit codes: 0 saved, 1 failed or stopped, 2 usage or settings, 3 not saved, 130 interrupted. "
    "Environment: MICRO_AGENT_ and the option's name in capitals, and what `ask` reads."
)
_NOT_SAVED = 3


class Optimizer(StrEnum):
    """How demos are made."""

    bootstrap = "bootstrap"
    random = "random"
    gepa = "gepa"


def optimize(
    context: typer.Context,
    tasks: Annotated[
        Path | None, option(metavar="FILE", env="MICRO_AGENT_TASKS", help="A dataset [evals/tasks.yaml, or ours].")
    ] = None,
    n: Annotated[int, option("--n", metavar="N", env="MICRO_AGENT_N", help="Tasks, all in all.", min=2)] = 12,
    save: Annotated[Path | None, option(metavar="FILE", env="MICRO_AGENT_SAVE", help="[COMPILED_DEMOS_PATH]")] = None,
    optimizer: Annotated[
        Optimizer, option(metavar="HOW", env="MICRO_AGENT_OPTIMIZER", help="bootstrap, random or gepa.")
    ] = Optimizer.bootstrap,
    from_traces: Annotated[
        str | None, option(metavar="GLOB", env="MICRO_AGENT_FROM_TRACES", help="Learn from recorded runs too.")
    ] = None,
    seed: Annotated[int, option(metavar="S", env="MICRO_AGENT_SEED", help="For draw and split.")] = 0,
    held_out: Annotated[float, option(metavar="R", env="MICRO_AGENT_HELD_OUT", help="Share of tasks to judge.")] = 0.5,
    max_demos: Annotated[
        int, option(metavar="K", env="MICRO_AGENT_MAX_DEMOS", help="Maximum number of demos.", min=1)
    ] = 4,
    candidates: Annotated[
        int, option(metavar="K", env="MICRO_AGENT_CANDIDATES", help="random: sets to try.", min=1)
    ] = 6,
    max_metric_calls: Annotated[
        int, option(metavar="K", env="MICRO_AGENT_MAX_METRIC_CALLS", help="gepa: runs, about.", min=1)
    ] = 60,
    reflection_model: Annotated[
        str | None,
        option(metavar="M", env="MICRO_AGENT_REFLECTION_MODEL", help="gepa: model that rewrites [the same model]."),
    ] = None,
    epochs: Annotated[int, option(metavar="K", env="MICRO_AGENT_EPOCHS", help="Repeats per task.", min=1)] = 1,
    concurrency: Annotated[
        int, option(metavar="C", env="MICRO_AGENT_CONCURRENCY", help="Trials in parallel, per server.", min=1)
    ] = 4,
    executor: ExecutorOption = By.threads,
    ray_address: RayAddress = None,
    workers: Workers = None,
    per_worker: PerWorker = None,
    provider: Provider = None,
    model: Model = None,
    base_url: BaseUrls = None,
    mode: AskedMode = Mode.auto,
    use_tool_calls: UseToolCalls = None,
    demos: Demos = None,
    tools: Tools = None,
    no_builtin_tools: NoBuiltinTools = False,
    no_required_tools: NoRequiredTools = False,
    max_steps: MaxSteps = 6,
    timeout: Annotated[
        float | None, option(metavar="S", env="MICRO_AGENT_TIMEOUT", help="Time limit per task, in seconds.")
    ] = None,
    limit_cost: Annotated[
        float | None, option(metavar="USD", env="MICRO_AGENT_LIMIT_COST", help="Cost limit of it all, in US dollars.")
    ] = None,
    allow_equal: Annotated[
        bool, option("--allow-equal", env="MICRO_AGENT_ALLOW_EQUAL", help="Save also what is not worse.")
    ] = False,
    force: Annotated[bool, option("--force", env="MICRO_AGENT_FORCE", help="Save also what is worse.")] = False,
    resume: Annotated[bool, option("--resume", env="MICRO_AGENT_OPTIMIZE_RESUME", help="Resume after a kill.")] = False,
    as_json: Json = False,
) -> None:
    """Make demos from some tasks, and save them if others get better."""
    found = settings(
        tools=tools, no_builtin_tools=no_builtin_tools, no_required_tools=no_required_tools, provider=provider
    )
    spread = spread_of(context, executor, ray_address, workers, per_worker)
    target = save or found.compiled_demos_path
    from micro_agent.optimize.job import Job
    from micro_agent.rules.limits import Limits

    job = Job(
        optimizer=optimizer.value, n=n, seed=seed, held_out=held_out, max_demos=max_demos, candidates=candidates,
        max_metric_calls=max_metric_calls, reflection_model=reflection_model, epochs=epochs, from_traces=from_traces,
    )  # fmt: skip
    limits = Limits(max_steps=max_steps, max_time=timeout)
    from micro_agent.evaluation.datasets import load_tasks
    from micro_agent.evaluation.datasets.shipped import usual_tasks
    from micro_agent.models import configure_lm
    from micro_agent.models.identity import provider_of
    from micro_agent.models.servers import at_once
    from micro_agent.optimize import Bench, Bounds, Teller
    from micro_agent.optimize import optimize as work

    dataset, offered = load_tasks(tasks or usual_tasks()), tools_of(found)
    lm = measured_model(found, provider, model, base_url)
    bench = Bench(
        lm=lm, tools=list(offered.values()), settings=found, limits=limits, demos=demos, rules=rules_of(found),
        mode=mode_for(found, mode, use_tool_calls),
        reflection_lm=reflection_model
        and configure_lm(provider_of(lm), reflection_model, base_url, settings=found, fallback=False),
    )  # fmt: skip
    from micro_agent.cli.eval_worker import workers_for

    with _stopping() as cancel:
        bounds = Bounds(
            concurrency=at_once(lm, concurrency, samples=found.samples), limit_cost=limit_cost, cancel=cancel,
            workers_for=spread and workers_for(spread.executor, bench, offered, base_url or ()),
        )  # fmt: skip
        outcome = work(
            job, dataset, bench, target, bounds=bounds, teller=Teller(sys.stderr), force=force,
            allow_equal=allow_equal, resume=resume,
        )  # fmt: skip
    _print(outcome, found, as_json=as_json)
    raise typer.Exit(0 if outcome.saved else _NOT_SAVED)


def _print(outcome: "Outcome", found: "Settings", *, as_json: bool) -> None:
    from micro_agent.evaluation.wording import comparison_lines

    if as_json:
        saved = str(outcome.saved) if outcome.saved else None
        print_json({"saved": saved, "why": outcome.why, **outcome.evidence})
        return
    if outcome.comparison is not None:
        print_text("a: the agent as it is today; b: with what training made\n")
        print_text("\n".join([*comparison_lines(outcome.comparison), ""]))
    print_text(f"{outcome.why[0].upper()}{outcome.why[1:]}.")
    if outcome.saved is not None:
        used = outcome.saved.absolute() == found.compiled_demos_path.absolute()
        say(f"Demos: {outcome.saved}" + ("" if used else f" (used with COMPILED_DEMOS_PATH={outcome.saved})"))


@contextmanager
def _stopping() -> "Generator[Cancel]":
    """A `Cancel` that Ctrl-C and SIGTERM set; what they broke off leaves with 128 and the signal's number."""
    from micro_agent.cancel import Cancel
    from micro_agent.optimize.ending import GO_ON, NotFinished

    cancel = Cancel()
    with stopping(cancel.interrupt) as got:
        try:
            yield cancel
        except (KeyboardInterrupt, NotFinished):
            if not got:
                raise
            say(f"Interrupted; {GO_ON}.")
            raise typer.Exit(128 + got[0]) from None
