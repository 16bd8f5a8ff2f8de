"""`micro-agent traces`: the runs on record."""

import json
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from micro_agent.cli.ask import TracesDir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from micro_agent.run import Run

app = typer.Typer(help="List, show and count recorded runs.", no_args_is_help=True, rich_markup_mode=None)

_Json = Annotated[bool, typer.Option("--json", envvar="MICRO_AGENT_JSON", help="For programs.")]


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(metavar="N", envvar="MICRO_AGENT_LIMIT", help="At most; 0 is all.")] = 20,
    traces_dir: TracesDir = None,
    as_json: _Json = False,
) -> None:
    """List runs, the latest first."""
    shown = 0
    for run in _runs(traces_dir):
        if as_json:
            typer.echo(json.dumps(_row(run), ensure_ascii=False))
        else:
            ended = run.termination_reason or run.status
            typer.echo(f"{run.id}  {run.ts}  {ended:12}  {shorten(run.question, 50, placeholder='…')}")
        shown += 1
        if shown == limit:
            break
    if not shown:
        typer.echo(f"No runs in {traces_dir or 'traces'}.", err=True)


@app.command()
def show(
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run.")],
    traces_dir: TracesDir = None,
    as_json: _Json = False,
) -> None:
    """Show one run, as `replay` does."""
    from micro_agent.replay import describe
    from micro_agent.traces import TraceStore

    run = TraceStore(traces_dir or "traces").load(run_id)
    typer.echo(run.model_dump_json() if as_json else "\n".join(describe(run)))


@app.command()
def stats(traces_dir: TracesDir = None, as_json: _Json = False) -> None:
    """Count runs by how they ended, and what they took."""
    from micro_agent.replay import statistics

    counted = statistics(_runs(traces_dir))
    if as_json:
        typer.echo(json.dumps(counted))
        return
    for name, value in counted.items():
        typer.echo(f"{name}: {'unknown' if value is None else value}")


def _runs(traces_dir: Path | None) -> "Iterator[Run]":
    from micro_agent.errors import MicroAgentError
    from micro_agent.traces import TraceStore

    store = TraceStore(traces_dir or "traces")
    for run_id in store.ids():
        try:
            yield store.load(run_id)
        except MicroAgentError as error:
            typer.echo(f"micro-agent: {error}", err=True)


def _row(run: "Run") -> dict[str, object]:
    keys = {"id", "ts", "question", "status", "termination_reason", "answer", "provider", "model"}
    return {**run.model_dump(include=keys), "steps": len(run.steps), "cost_usd": run.usage.cost_usd}
