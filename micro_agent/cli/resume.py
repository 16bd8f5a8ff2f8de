"""`micro-agent resume`: go on with a run that paused or was killed."""

import json
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from micro_agent.cli.ask import Approve, TracesDir

if TYPE_CHECKING:
    from micro_agent.traces import TraceStore


def resume(
    run_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="The run.")] = None,
    last: Annotated[bool, typer.Option("--last", help="The latest open run.")] = False,
    show: Annotated[bool, typer.Option("--list", help="List the open runs.")] = False,
    approve: Annotated[
        Approve | None,
        typer.Option(envvar="MICRO_AGENT_APPROVE", help="Confirmations [default: ask on a terminal, else pause]"),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="U", envvar="MICRO_AGENT_BASE_URL", help="Server; also OPENAI_BASE_URL, OLLAMA_HOST."),
    ] = None,
    traces_dir: TracesDir = None,
    as_json: Annotated[bool, typer.Option("--json", envvar="MICRO_AGENT_JSON", help="Print the record.")] = False,
) -> None:
    """Go on with a run that waits or was killed, on the model it began with."""
    if [run_id is not None, last, show].count(True) != 1:
        raise typer.BadParameter("name one run: an ID, --last or --list")
    from micro_agent.models.settings import load_settings
    from micro_agent.traces import TraceStore

    settings = load_settings(env_file=".env")
    store = TraceStore(traces_dir or settings.traces_dir, state_dir=settings.micro_agent_state_dir)
    if show:
        return _list(store, as_json=as_json)
    from micro_agent import MicroAgent
    from micro_agent.cli import outcome
    from micro_agent.cli.prompt import confirmer
    from micro_agent.models.identity import model_of

    run = store.peek(run_id or _last(store))
    agent = MicroAgent(
        lm=model_of(run, settings, base_url=base_url), traces=store, settings=settings,
        confirm=confirmer(approve.value if approve else None),
    )  # fmt: skip
    outcome.report(lambda cancel: agent.resume(run.id, cancel=cancel), store, as_json=as_json)
    return None


def _last(store: "TraceStore") -> str:
    from micro_agent.errors import RunNotFound

    for run in store.open_runs():
        if not run.busy and run.question is not None:
            return run.id
    raise RunNotFound("no run is open")


def _list(store: "TraceStore", *, as_json: bool) -> None:
    from dataclasses import asdict

    runs = store.open_runs()
    if as_json:
        typer.echo(json.dumps([asdict(run) for run in runs], ensure_ascii=False))
        return
    for run in runs:
        state = "interrupted" if run.status == "running" else run.status or "unreadable"
        state = "under way" if run.busy else state
        decided = f" ({run.decision})" if run.decision else ""
        said = shorten(run.question or run.damage or "", 60, placeholder="…")
        typer.echo(f"{run.id}  {run.ts or '-':24}  {state}{decided}  {said}")
    if not runs:
        typer.echo("No run is open.", err=True)
