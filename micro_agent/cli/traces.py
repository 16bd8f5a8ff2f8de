"""`micro-agent traces`: the runs on record."""

import os
from functools import partial
from itertools import filterfalse
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from micro_agent.cli.messages import print_json, print_text, say
from micro_agent.cli.options import Json, TracesDir, option
from micro_agent.cli.repository import Repo, runs_of
from micro_agent.cli.run_ids import run_id_of
from micro_agent.cli.spans import Phoenix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from micro_agent.index import TraceIndex
    from micro_agent.run import Run
    from micro_agent.traces import TraceStore

_BRIEF, _MOST = 0.5, 10_000
"""Seconds that a list takes for what is new in the index, and how many runs it asks the index for."""

app = typer.Typer(help="List, show, compare and summarize recorded runs.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_runs(
    limit: Annotated[int, option(metavar="N", env="MICRO_AGENT_LIMIT", help="Number of runs; 0 for all.", min=0)] = 20,
    repo: Repo = None,
    traces_dir: TracesDir = None,
    as_json: Json = False,
) -> None:
    """List runs, latest first."""
    store = runs_of(repo, traces_dir)
    shown = 0
    for run in _runs(store, _latest(store, limit)):
        if as_json:
            print_json(_row(run))
        else:
            ended = run.termination_reason or run.status
            print_text(f"{run.id}  {run.ts}  {ended:12}  {shorten(run.question, 50, placeholder='…')}")
        shown += 1
        if shown == limit:
            break
    if not shown:
        say(f"No run in {store.directory}.")


@app.command()
def show(
    run_id: Annotated[
        str, typer.Argument(metavar="ID", show_default=False, help="Run ID, the first digits of one, or last.")
    ],
    repo: Repo = None,
    traces_dir: TracesDir = None,
    as_json: Json = False,
) -> None:
    """Show one run, like `replay`."""
    from micro_agent.replay import describe

    store = runs_of(repo, traces_dir)
    run = store.load(run_id_of(store, run_id))
    if as_json:
        print_json(run)
    else:
        print_text("\n".join(describe(run)))


@app.command()
def stats(repo: Repo = None, traces_dir: TracesDir = None, as_json: Json = False) -> None:
    """Summarize runs: outcomes, calls, tokens, cost, latency."""
    from micro_agent.replay import statistics

    store = runs_of(repo, traces_dir)
    index = _index(store)
    known = index.statistics(partial(_runs, store)) if index else None
    counted = statistics(_runs(store, store.ids())) if known is None else known
    if as_json:
        print_json(counted)
        return
    unknown: dict[str, int] = counted.pop("unknown")
    for name, value in counted.items():
        print_text(f"{name}: {_figure(value)}{_unsaid(name, unknown.get(name), counted['lm_calls'])}")


@app.command()
def diff(
    a: Annotated[str, typer.Argument(metavar="A", show_default=False, help="Run ID, last, or a trace file.")],
    b: Annotated[str, typer.Argument(metavar="B", show_default=False, help="The run to compare it with.")],
    repo: Repo = None,
    traces_dir: TracesDir = None,
    as_json: Json = False,
) -> None:
    """Compare two runs step by step. Exits with 1 if they differ."""
    from micro_agent.replay import diff

    store = runs_of(repo, traces_dir)
    found = diff(_run(store, a), _run(store, b))
    if as_json:
        print_json(found.as_dict())
    else:
        print_text("\n".join(found.lines()))
    raise typer.Exit(0 if found.same else 1)


@app.command()
def export(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", show_default=False, help="Run IDs, their first digits, or last [all runs]."),
    ] = None,
    otlp: Annotated[
        str | None, option("--otlp", metavar="URL", env="MICRO_AGENT_OTLP", help="A collector, as OTLP over HTTP.")
    ] = None,
    phoenix: Phoenix = None,
    content: Annotated[
        bool, option("--content", env="MICRO_AGENT_SPANS_CONTENT", help="Send questions, replies, results too.")
    ] = False,
    repo: Repo = None,
    traces_dir: TracesDir = None,
) -> None:
    """Send runs on record, and open ones, as spans. Sent again, they have the same ids."""
    from micro_agent.cli.spans import export_runs

    store = runs_of(repo, traces_dir)
    named = [run_id_of(store, one) for one in ids or ()] or [*dict.fromkeys([*store.open_ids(), *store.ids()])]
    raise typer.Exit(0 if export_runs(store, named, otlp, phoenix, content=content) else 1)


def _run(store: "TraceStore", named: str) -> "Run":
    """The latest record of a run, by its id or by the path of a trace."""
    from micro_agent.replay import record_of

    return record_of(named) if "/" in named or "." in named else store.load(run_id_of(store, named))


def _index(store: "TraceStore") -> "TraceIndex | None":
    """The index of a folder of traces, ``None`` where there is no folder."""
    from micro_agent.index import TraceIndex

    if not os.path.isdir(store.directory):
        return None
    return TraceIndex(store, announce=_announce, otherwise="the traces themselves are read")


def _announce(line: str) -> None:
    say(f"micro-agent: {line}")


def _latest(store: "TraceStore", limit: int) -> "Iterator[str]":
    """The ids of the runs written last: at least so many as it takes to find that many that can be read; 0: all."""
    index = _index(store) if 0 < limit <= _MOST else None
    known = index.newest(limit, _BRIEF) if index else None
    first = list(store.ids(limit)) if limit and known is None else known or []
    yield from first
    if not limit or (known is None and len(first) == limit):
        yield from filterfalse(set(first).__contains__, store.ids())


def _runs(store: "TraceStore", ids: "Iterable[str]") -> "Iterator[Run]":
    """Of these runs those that can be read; each file is read when its turn comes."""
    from micro_agent.errors import MicroAgentError

    for run_id in ids:
        try:
            yield store.load(run_id, earlier=False)
        except MicroAgentError as error:
            say(f"micro-agent: {error}")


def _row(run: "Run") -> dict[str, object]:
    keys = {"id", "ts", "question", "status", "termination_reason", "answer", "provider", "model", "follows"}
    return {**run.model_dump(include=keys), "steps": len(run.steps), "cost_usd": run.usage.cost_usd}


def _figure(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items()) or "none"  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, float):
        return f"{value:.6g}"
    return "unknown" if value is None else f"{value:,}"


def _unsaid(name: str, calls: int | None, of: int) -> str:
    """How many model calls a sum leaves out."""
    if not calls:
        return ""
    told = "have no known price" if name == "cost_usd" else "did not say"
    return f" ({calls} of {of} model calls {told})"
