"""How a run that was asked for is reported: the answer on standard output, the rest on standard error, an exit code."""

from collections.abc import Callable
from typing import NoReturn

import typer

from micro_agent.cancel import Cancel, RunInterrupted
from micro_agent.cli.asking import say_question
from micro_agent.cli.messages import masked, print_json, print_text, say
from micro_agent.cli.options import Again
from micro_agent.cli.stopping import stopping
from micro_agent.replay import step_line
from micro_agent.run import Run, Step
from micro_agent.run.finishing import stands
from micro_agent.streaming import Ended, StepTaken, StreamEvent
from micro_agent.streaming.said import SaidSoFar, breaks_off
from micro_agent.traces import TraceStore

CODES = {"completed": 0, "failed": 1, "stopped": 3, "confirmation_required": 4}
"""The exit code for a run that ended so."""


def report(
    work: Callable[[Cancel], Run], store: TraceStore, *, as_json: bool, streamed: bool = False,
    again: Again = Again(),  # noqa: B008 it cannot change
) -> NoReturn:  # fmt: skip
    """Do the work, print what came of it, leave with its exit code. Ctrl-C and SIGTERM end the run, reported, too.

    ``again`` are the options that commands about the run need.
    """
    cancel, interrupted = Cancel(), False
    with stopping(cancel.interrupt) as got:
        try:
            run = work(cancel)
        except RunInterrupted as error:
            run, interrupted = error.run, True
        if as_json:
            print_json(run)
        elif run.answer is not None and not streamed:
            print_text(run.answer)
        say_unanswered(run, again)
        if run.coach is not None:
            from micro_agent.cli.code_report import lines_of

            for line in lines_of(run):
                say(line)
        say(f"Trace: {store.path(run.id)}")
        raise typer.Exit(128 + got[0] if interrupted or run.termination_reason == "cancelled" else CODES[run.status])


def say_unanswered(run: Run, again: Again) -> None:
    """Say what there is to say of a run that has no answer."""
    if run.status == "confirmation_required" and run.confirmation is not None:
        say("Waiting for confirmation:")
        say_question(run.confirmation, before="  ")
        where = f"{run.id}{again.where}"
        say(f"Decide:  micro-agent approve {where}   or   micro-agent reject {where} --feedback TEXT")
        say(f"Resume:  micro-agent resume {run.id}{again}")
    elif run.status != "completed":
        error = run.error or {}
        say(f"{run.status.capitalize()} ({run.termination_reason}): {error.get('message', '')}".rstrip(": "))


def print_step(step: Step) -> None:
    """Print a step on standard error. That an answer stands goes without saying."""
    if not stands(step):
        say(step_line(step.tool, step.args, step.observation))


class Printer:
    """Prints answer text as it comes and steps on standard error; at the end, what the answer has beyond the text.

    What says that text is an answer, or no call, is no step for it: the line of the text goes on.
    """

    def __init__(self) -> None:
        self._said = SaidSoFar()

    def __call__(self, event: StreamEvent) -> None:
        """Take one event."""
        if text := self._said.take(event, masked):
            print_text(text, end="")
        if isinstance(event, StepTaken) and breaks_off(event.step):
            print_step(event.step)
        elif isinstance(event, Ended) and (event.run.answer is not None or self._said.is_open):
            print_text("")
