"""`micro-agent code plan FILE`: the tasks of a plan in order, from where its state says that it stands."""

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from micro_agent.cli.messages import is_terminal, print_json, print_text, say
from micro_agent.cli.options import Again
from micro_agent.cli.stopping import stopping

if TYPE_CHECKING:
    from micro_agent.cli.agent_options import Made
    from micro_agent.plans import PlanState
    from micro_agent.run import Run

CODES = {"completed": 0, "failed": 1, "stopped": 3, "paused": 4}
"""The exit code for a plan that stands so."""
_ANSWER = 100


def run_plan(
    path: Path, make: "Callable[[], Made]", *, state: Path | None = None, as_json: bool = False, retry: bool = False
) -> NoReturn:
    """Run a plan, print what came of it, leave with an exit code.

    Args:
        path: Its file.
        make: Makes the agent, once the plan is read.
        state: The file of its state; default: beside the runs of the repository.
        as_json: Whether each event is printed as a line of JSON, and at last how the plan stands.
        retry: Whether what failed, was stopped or blocked is done again.

    Raises:
        ConfigurationError: The plan cannot be read, or its state is of another.
    """
    from micro_agent.cli.outcome import print_step
    from micro_agent.plans import Plan, PlanState, state_path
    from micro_agent.plans import run_plan as run
    from micro_agent.plans.leaving import Leaving, LeftInTheMidst

    plan = Plan.load(path)
    made = make()
    kept, leaving = state or state_path(plan, made.store), Leaving()
    show = print_json if as_json else _say
    on_step = print_step if is_terminal(sys.stderr) and not as_json else None
    with stopping(leaving.interrupt) as got:
        try:
            found = run(plan, made.agent, state=kept, on_event=show, on_step=on_step, cancel=leaving, retry=retry)
        except LeftInTheMidst:
            found = PlanState.load(kept)
    waiting = next((task for task, status in found.task_status.items() if status == "paused"), None)
    if as_json:
        told = {"event": "plan", "status": found.status, "task_status": found.task_status, "state": str(kept)}
        print_json({**told, "waiting": waiting and found.results[waiting]["run_id"]})
    else:
        _print(found)
    if waiting is not None:
        _say_waiting(waiting, made.store.peek(found.results[waiting]["run_id"]), made.again)
    if found.status in ("paused", "running"):
        _say_how_to_go_on("Go on:  ")
    elif found.status != "completed":
        _say_how_to_go_on("Try what went wrong again: ", "--retry")
    say(f"State: {kept}")
    raise typer.Exit(128 + got[0] if found.status == "running" else CODES[found.status])


def _say(event: Mapping[str, Any]) -> None:
    """Say an event on standard error."""
    if event["event"] == "task_begun":
        say(f"{event['task']}: begins, run {event['run_id']}")
    elif event["event"] == "self_correction_triggered":
        say(f"{event['failed_task']}: tests fail; {event['fix_task']} is to fix them")
    elif event["status"] == "blocked":
        say(f"{event['task']}: blocked, since a task that it depends on went wrong")
    else:
        say(f"{event['task']}: {event['status']}")


def _print(state: "PlanState") -> None:
    """A line for each task on standard output."""
    widest = max(map(len, state.task_status))
    for task, status in state.task_status.items():
        result = state.results.get(task, {})
        came_to = result.get("answer") or result.get("error") or result.get("reason") or ""
        answer = shorten(came_to, _ANSWER, placeholder="…")
        print_text(f"{task:{widest}}  {status:9}  {answer}".rstrip())


def _say_waiting(task: str, run: "Run", again: Again) -> None:
    """Say what a run asks, and how it is decided."""
    from micro_agent.cli.asking import say_question

    say(f"{task} is waiting for confirmation:")
    say_question(run.confirmation or {}, before="  ")
    where = f"{run.id}{again.where}"
    say(f"Decide:  micro-agent approve {where}   or   micro-agent reject {where} --feedback TEXT")


def _say_how_to_go_on(before: str, *more: str) -> None:
    """Say what to type: what was typed now, since the state knows the rest."""
    words = [word for word in sys.argv[1:] if word != "--retry"]
    say(f"{before} {shlex.join(['micro-agent', *words, *more])}")
