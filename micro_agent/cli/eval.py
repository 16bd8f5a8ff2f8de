"""`micro-agent eval`: tasks asked, scored, counted, reported and compared."""

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
    Mcp,
    Mode,
    Model,
    NoBuiltinTools,
    NoRequiredTools,
    Provider,
    Samples,
    Tools,
    UseToolCalls,
    is_typed,
    mode_for,
    option,
    settings,
)
from micro_agent.cli.spans import Phoenix, seen
from micro_agent.cli.spread import By, ExecutorOption, PerWorker, RayAddress, Workers, spread_of

if TYPE_CHECKING:
    from micro_agent.evaluation.figures import Summary

app = typer.Typer(help="Ask tasks, score and count the answers.", no_args_is_help=True, rich_markup_mode=None)


class Suite(StrEnum):
    """The sets of tasks that have a name."""

    coding = "coding"


_File = Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="A result file.")]


@app.command(
    epilog="Exit codes: 0 done, 1 the eval failed, 2 usage, 3 stopped by --limit-cost, 100 under the threshold, "
    "130 interrupted. Environment: as `ask`."
)
def run(
    context: typer.Context,
    tasks: Annotated[
        Path | None,
        option(metavar="FILE", env="MICRO_AGENT_TASKS", help="A dataset [evals/tasks.yaml, or ours]."),
    ] = None,
    suite: Annotated[
        Suite | None, option(metavar="NAME", env="MICRO_AGENT_SUITE", help="coding: our tasks in repositories.")
    ] = None,
    n: Annotated[int | None, option("--n", metavar="N", env="MICRO_AGENT_N", help="Draw so many tasks.", min=1)] = None,
    tag: Annotated[list[str] | None, option(metavar="T", env="MICRO_AGENT_TAG", help="Tasks with this tag.")] = None,
    seed: Annotated[int | None, option(metavar="S", env="MICRO_AGENT_SEED", help="For draw and model.")] = None,
    shard: Annotated[
        str | None, option(metavar="K/N", env="MICRO_AGENT_SHARD", help="Run this part of N; see eval merge.")
    ] = None,
    epochs: Annotated[int, option(metavar="K", env="MICRO_AGENT_EPOCHS", help="Repeats per task.", min=1)] = 1,
    concurrency: Annotated[
        int, option(metavar="C", env="MICRO_AGENT_CONCURRENCY", help="Trials run in parallel, per server.", min=1)
    ] = 4,
    executor: ExecutorOption = By.threads,
    ray_address: RayAddress = None,
    workers: Workers = None,
    per_worker: PerWorker = None,
    rubrics: Annotated[
        Path | None, option(metavar="FILE", env="MICRO_AGENT_RUBRICS", help="[rubrics.yaml beside the tasks]")
    ] = None,
    limit_cost: Annotated[
        float | None,
        option(metavar="USD", env="MICRO_AGENT_LIMIT_COST", help="Cost limit of the whole eval, in US dollars."),
    ] = None,
    timeout: Annotated[
        float | None, option(metavar="S", env="MICRO_AGENT_TIMEOUT", help="Time limit per task, in seconds.")
    ] = None,
    tools: Tools = None,
    mcp: Mcp = None,
    no_builtin_tools: NoBuiltinTools = False,
    no_required_tools: NoRequiredTools = False,
    samples: Samples = None,
    max_steps: MaxSteps = 6,
    provider: Provider = None,
    model: Model = None,
    base_url: BaseUrls = None,
    mode: AskedMode = Mode.auto,
    use_tool_calls: UseToolCalls = None,
    demos: Demos = None,
    out: Annotated[
        Path | None, option(metavar="FILE", env="MICRO_AGENT_OUT", help="[evals/results/TIME-ID.jsonl]")
    ] = None,
    resume: Annotated[
        Path | None, option(metavar="FILE", env="MICRO_AGENT_RESUME", help="Resume a result file.")
    ] = None,
    retry_errors: Annotated[
        bool, option("--retry-errors", env="MICRO_AGENT_RETRY_ERRORS", help="Rerun trials that failed.")
    ] = False,
    threshold: Annotated[
        float | None, option(metavar="R", env="MICRO_AGENT_THRESHOLD", help="Required success rate, 0 to 1.")
    ] = None,
    faults: Annotated[
        float | None,
        option(metavar="R", env="MICRO_AGENT_FAULTS", help="Run again with this share of replies damaged."),
    ] = None,
    phoenix: Phoenix = None,
    traces_dir: Annotated[
        Path | None, option(metavar="DIR", env="MICRO_AGENT_TRACES_DIR", help="Where runs are written [FILE.traces].")
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask the tasks of a file, and score the answers."""
    from micro_agent.cli import eval_plan, eval_run
    from micro_agent.errors import ConfigurationError
    from micro_agent.evaluation.datasets.shipped import coding_tasks, usual_tasks
    from micro_agent.evaluation.shards import Shard

    if suite and tasks:
        raise ConfigurationError("--suite names our tasks, and --tasks a file of others: leave out one of them")

    found = settings(
        tools=tools, no_builtin_tools=no_builtin_tools, no_required_tools=no_required_tools, provider=provider,
        samples=samples, mcp=mcp,
    )  # fmt: skip
    asked = eval_plan.Asked(
        tasks or (coding_tasks() if suite else usual_tasks()), n, tuple(tag or ()), seed, epochs, rubrics, timeout,
        max_steps if _given(context, "max_steps") else None, provider, model, tuple(base_url or ()),
        mode_for(found, mode, use_tool_calls), faults, demos, samples,
        Shard.parse(shard) if shard else None,
    )  # fmt: skip
    spread = spread_of(context, executor, ray_address, workers, per_worker, phoenix=phoenix)
    bounds = eval_run.Bounds(concurrency, limit_cost, threshold, spread)
    if resume is None:
        if retry_errors:
            raise ConfigurationError("--retry-errors goes with --resume FILE: it asks again what failed there")
        plans = eval_plan.made(out, asked, found)
    else:
        if out is not None:
            raise ConfigurationError("--resume continues its own file: leave out --out")
        plans = eval_plan.all_taken_up(resume, asked, found, _said(context), retry_errors=retry_errors)
    if spread is None:  # pragma: no branch (needs Ray)
        context.with_resource(seen(phoenix))
    eval_run.report(plans, bounds, found, traces_dir, as_json=as_json)


@app.command()
def report(
    file: _File,
    html: Annotated[Path | None, option(metavar="OUT", env="MICRO_AGENT_HTML", help="Write a page instead.")] = None,
    baseline: Annotated[
        Path | None, option(metavar="FILE", env="MICRO_AGENT_BASELINE", help="Compare with it, on the page.")
    ] = None,
    markdown: Annotated[
        bool, option("--markdown", env="MICRO_AGENT_MARKDOWN", help="Print Markdown, for the summary of a CI job.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the figures of a result file, or write a page."""
    from micro_agent.errors import ConfigurationError

    settings()
    if html is None and baseline is not None:
        raise ConfigurationError("--baseline goes with --html; without: micro-agent eval compare BASELINE FILE")
    if markdown and as_json:
        raise ConfigurationError("--markdown and --json are two forms of the same: leave out one of them")
    if markdown:
        from micro_agent.evaluation.markdown import markdown_lines
        from micro_agent.evaluation.results import read_results

        print_text("\n".join(markdown_lines(*read_results(file))))
    elif html is None or as_json:
        _show(_summary(file), as_json=as_json)
    if html is None:
        return
    from micro_agent.evaluation.report import write_report

    write_report(html, file, baseline=baseline)
    say(f"Report: {html}")


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(metavar="A", show_default=False, help="A result file.")],
    b: Annotated[Path, typer.Argument(metavar="B", show_default=False, help="The one that may be better.")],
    as_json: Json = False,
) -> None:
    """Compare two evals on the tasks that both have."""
    from micro_agent.evaluation.compare import compare
    from micro_agent.evaluation.results import read_results
    from micro_agent.evaluation.wording import comparison_lines

    settings()
    comparison = compare(read_results(a), read_results(b))
    if as_json:
        print_json(comparison.model_dump(mode="json"))
    else:
        print_text("\n".join(comparison_lines(comparison)))


@app.command()
def merge(
    out: Annotated[Path, typer.Argument(metavar="OUT", show_default=False, help="The file to write.")],
    parts: Annotated[
        list[Path], typer.Argument(metavar="PART", show_default=False, help="The result file of each shard.")
    ],
) -> None:
    """Make one result file of those of all shards."""
    from micro_agent.evaluation.merging import merge

    settings()
    for merged in merge(out, parts):
        say(f"Merged: {merged.shards} shards, {merged.trials} trials")
        if len(merged.servers) > 1:
            say(f"{len(merged.servers)} servers were asked; --resume asks {merged.servers[0]}")
        say(f"Results: {merged.path}")


@app.command()
def score(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="FILE", show_default=False, help="A result file; or traces, folders, 'traces/*.jsonl'."),
    ],
    rubrics: Annotated[
        Path | None,
        option(metavar="FILE", env="MICRO_AGENT_RUBRICS", help="How checks count [as in FILE, or beside the tasks]."),
    ] = None,
    tasks: Annotated[
        Path | None, option(metavar="FILE", env="MICRO_AGENT_TASKS", help="Expectations [those in FILE].")
    ] = None,
    out: Annotated[
        Path | None,
        option(
            metavar="FILE", env="MICRO_AGENT_OUT", help="[FILE.rescored.jsonl; of traces evals/results/TIME-ID.jsonl]"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Score a result file again, or recorded runs, without a model."""
    from micro_agent.cli import eval_score
    from micro_agent.evaluation.trace_files import holds_runs

    settings()
    if len(sources) > 1 or holds_runs(sources[0]):
        target, lines = eval_score.traces(sources, rubrics, tasks, out)
    else:
        target, lines = eval_score.results(Path(sources[0]), rubrics, tasks, out)
    _show(_summary(target), as_json=as_json)
    for line in lines:
        say(line)
    say(f"Results: {target}")


def _given(context: typer.Context, name: str) -> bool:
    """Whether an option was given, on the command line or in the environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _said(context: typer.Context) -> frozenset[str]:
    """The options that stand on the command line, as opposed to defaults and the environment."""
    return frozenset(name for name in context.params if is_typed(context, name))


def _summary(file: Path) -> "Summary":
    from micro_agent.evaluation.results import read_results
    from micro_agent.evaluation.summary import summarize

    return summarize(*read_results(file))


def _show(summary: "Summary", *, as_json: bool) -> None:
    from micro_agent.evaluation.wording import summary_lines

    if as_json:
        print_json(summary.model_dump(mode="json"))
    else:
        print_text("\n".join(summary_lines(summary)))
