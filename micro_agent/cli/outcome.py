"""How a run that was asked for is reported: the answer on standard output, the rest on standard error, an exit code."""

import signal
import sys
from collections.abc import Callable, Iterator
from typing import NoReturn

import typer

from micro_agent.cancel import Cancel, RunInterrupted
from micro_agent.replay import step_line
from micro_agent.run import Run
from micro_agent.streaming import AnswerText, StepTaken, StreamEvent
from micro_agent.traces import TraceStore

_CODES = {"completed": 0, "failed": 1, "stopped": 3, "confirmation_required": 4}


def report(work: Callable[[Cancel], Run], store: TraceStore, *, as_json: bool, streamed: bool = False) -> NoReturn:
    """Do the work, print what came of it, leave with its exit code. Ctrl-C ends the run, which is still reported."""
    cancel = Cancel()
    before = signal.signal(signal.SIGINT, cancel.interrupt)
    try:
        run = work(cancel)
    except RunInterrupted as interrupted:
        run = interrupted.run
    finally:
        signal.signal(signal.SIGINT, before)
    if as_json:
        typer.echo(run.model_dump_json())
    elif run.answer is not None and not streamed:
        typer.echo(run.answer)
    for line in _aside(run, store):
        typer.echo(line, err=True)
    raise typer.Exit(130 if run.termination_reason == "cancelled" else _CODES[run.status])


def _aside(run: Run, store: TraceStore) -> Iterator[str]:
    if run.status == "confirmation_required" and run.confirmation is not None:
        yield "Waiting for confirmation:"
        yield f"  {step_line(run.confirmation['tool'], run.confirmation['args'])}"
        yield f"  {run.confirmation['reason']}"
        yield f"Decide:  micro-agent approve {run.id}   or   micro-agent reject {run.id} --feedback TEXT"
        yield f"Go on:   micro-agent resume {run.id}"
    elif run.status != "completed":
        error = run.error or {}
        yield f"{run.status.capitalize()} ({run.termination_reason}): {error.get('message', '')}".rstrip(": ")
    yield f"Trace: {store.path(run.id)}"


class Printer:
    """Prints answer text as it comes and steps on standard error; at the end, what the answer has beyond the text."""

    def __init__(self) -> None:
        self._said = ""

    def __call__(self, event: StreamEvent) -> None:
        """Take one event."""
        if isinstance(event, AnswerText):
            self._said += event.text
            typer.echo(event.text, nl=False)
            sys.stdout.flush()
        elif isinstance(event, StepTaken):
            self._finish_line()
            typer.echo(step_line(event.step.tool, event.step.args, event.step.observation), err=True)
        elif event.run.answer is not None:
            rest = event.run.answer.removeprefix(self._said) if event.run.answer.startswith(self._said) else None
            if rest is None:
                self._finish_line()
            typer.echo(event.run.answer if rest is None else rest)

    def _finish_line(self) -> None:
        if self._said:
            typer.echo()
        self._said = ""
