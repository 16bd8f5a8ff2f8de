"""`micro-agent approve` and `micro-agent reject`: the decision on a call that a run waits on, from any terminal."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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


def approve(
    run_id: _RunId,
    edit: Annotated[
        str | None,
        option(metavar="FILE|-|JSON", env="MICRO_AGENT_EDIT", help="Arguments to be used instead: a JSON object."),
    ] = None,
    repo: Repo = None,
    traces_dir: TracesDir = None,
) -> None:
    """Approve the call that a run is waiting on."""
    _decide(run_id, "approve", None, repo, traces_dir, None if edit is None else _arguments(edit))


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


def _arguments(edit: str) -> dict[str, Any]:
    """The arguments that are given as JSON, as ``-`` (standard input) or as a file."""
    from micro_agent.cli.editing import arguments_of
    from micro_agent.errors import ConfigurationError

    if edit.lstrip().startswith("{"):
        return arguments_of(edit)
    try:
        return arguments_of(sys.stdin.read() if edit == "-" else Path(edit).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{edit} cannot be read: {error}") from error


def _decide(
    run_id: str, decision: Literal["approve", "reject"], feedback: str | None, repo: Repo, traces_dir: TracesDir,
    args: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    from micro_agent.cli.asking import say_question
    from micro_agent.replay import whole_call

    repository = repository_of(None, repo)
    store = store_of(settings(repository=repository), traces_dir, repository)
    run_id = open_run_of(store, run_id, _undecided, "no run waits for a decision")
    question = store.decide(run_id, decision, feedback=feedback, args=args)
    say_question(question)
    if args is not None:
        say(f"Edited: {whole_call(question['tool'], args)}")
        say("The run checks the edited arguments when it goes on, and asks about them once more.")
    waits = any(run.id == run_id and run.busy for run in store.open_runs())
    where = repository.again.where if repository else ""
    said = "The run continues by itself." if waits else f"Resume it with: micro-agent resume {run_id}{where}"
    say(f"The decision is on record: {decision}. {said}")


def _undecided(run: "OpenRun") -> bool:
    return run.status == "confirmation_required" and run.decision is None
