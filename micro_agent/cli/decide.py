"""`micro-agent approve` and `micro-agent reject`: the decision on a call that a run waits on, from any terminal."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from micro_agent.cli.messages import say
from micro_agent.cli.options import TracesDir, option, settings, store_of
from micro_agent.cli.repository import Repo, repository_of
from micro_agent.cli.run_ids import open_run_of

if TYPE_CHECKING:
    from micro_agent.traces import OpenRun

_RunId = Annotated[
    str, typer.Argument(metavar="RUN_ID", show_default=False, help="Run ID, the first digits of one, or last.")
]


def approve(run_id: _RunId, repo: Repo = None, traces_dir: TracesDir = None) -> None:
    """Approve the call that a run is waiting on."""
    _decide(run_id, "approve", None, repo, traces_dir)


def reject(
    run_id: _RunId,
    feedback: Annotated[
        str | None, option(metavar="TEXT", env="MICRO_AGENT_FEEDBACK", help="Reason, passed on to the model.")
    ] = None,
    repo: Repo = None,
    traces_dir: TracesDir = None,
) -> None:
    """Reject the call that a run is waiting on."""
    _decide(run_id, "reject", feedback, repo, traces_dir)


def _decide(
    run_id: str, decision: Literal["approve", "reject"], feedback: str | None, repo: Repo, traces_dir: TracesDir
) -> None:
    from micro_agent.replay import asked

    repository = repository_of(None, repo)
    store = store_of(settings(repository=repository), traces_dir, repository)
    run_id = open_run_of(store, run_id, _undecided, "no run waits for a decision")
    question = store.decide(run_id, decision, feedback=feedback)
    say("\n".join(asked(question)))
    waits = any(run.id == run_id and run.busy for run in store.open_runs())
    where = repository.again.where if repository else ""
    said = "The run continues by itself." if waits else f"Resume it with: micro-agent resume {run_id}{where}"
    say(f"The decision is on record: {decision}. {said}")


def _undecided(run: "OpenRun") -> bool:
    return run.status == "confirmation_required" and run.decision is None
