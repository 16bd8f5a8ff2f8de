"""`micro-agent approvals`: what waits for a person's word, over all runs."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from micro_agent.cli.messages import print_json, print_text, say
from micro_agent.cli.options import Json, TracesDir
from micro_agent.cli.repository import Repo, runs_of
from micro_agent.cli.run_ids import open_run_of

if TYPE_CHECKING:
    from micro_agent.traces import OpenRun

app = typer.Typer(help="List and show the calls that wait for a decision.", no_args_is_help=True, rich_markup_mode=None)

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


@app.command("list")
def list_approvals(repo: Repo = None, traces_dir: TracesDir = None, as_json: Json = False) -> None:
    """List the open questions, latest first."""
    store = runs_of(repo, traces_dir)
    waiting = [run for run in store.open_runs() if _waits(run)]
    rows = [_row(run, store.written(run.id) / 1e9) for run in waiting]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        left = "never expires" if row["expires_in_s"] is None else f"expires in {told(row['expires_in_s'])}"
        left = "expired" if row["expired"] else left
        named = " ".join(filter(None, (row["tool"], row["kind"], row["id"])))
        print_text(f"{row['run_id']}  {named}  {told(row['age_s'])} old, {left}{'  (busy)' if row['busy'] else ''}")
    if not rows:
        say("No run waits for a decision.")


@app.command()
def show(
    run_id: Annotated[
        str, typer.Argument(metavar="RUN_ID", show_default=False, help="Run ID, the first digits of one, or last.")
    ],
    repo: Repo = None,
    traces_dir: TracesDir = None,
    as_json: Json = False,
) -> None:
    """Show in full what a run asks."""
    from micro_agent.cli.asking import print_question
    from micro_agent.errors import NotWaiting

    store = runs_of(repo, traces_dir)
    run_id = open_run_of(store, run_id, _waits, "no run waits for a decision")
    question = store.peek(run_id).confirmation
    if question is None:
        raise NotWaiting(f"run {run_id} asks nothing now")
    if as_json:
        print_json(question)
        return
    print_question(question)
    if "expires" in question:
        print_text(f"Expires: {question['expires']}")


def _waits(run: "OpenRun") -> bool:
    return run.status == "confirmation_required" and run.decision is None


def _row(run: "OpenRun", since: float) -> dict[str, Any]:
    from micro_agent.run.questions import about, expired, until

    asked = run.confirmation or {}
    kind, named = about(asked)
    now, ends = datetime.now(UTC), until(asked)
    left = None if ends is None else max(0, round((ends - now).total_seconds()))
    return {
        "run_id": run.id, "question": run.question, "tool": asked["tool"], "kind": kind, "id": named,
        "reason": asked["reason"], "sha256": asked["sha256"], "age_s": max(0, round(now.timestamp() - since)),
        "expires": asked.get("expires"), "expires_in_s": left, "expired": expired(asked), "busy": run.busy,
    }  # fmt: skip


def told(seconds: int) -> str:
    """So many seconds in the largest unit that they fill."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds >= size or size == 1)
    return f"{seconds // size} {unit}"
