"""Confirmation on a terminal. Somebody at another terminal may decide while the prompt waits."""

import json
import select
import sys
from typing import Literal

import typer

from micro_agent.effects import Approval, Question
from micro_agent.session import Confirmation

_LOOK_AGAIN_S = 0.25


def confirmer(wanted: Literal["ask", "pause", "never", "all"] | None) -> Confirmation:
    """What is done about confirmations: as ``wanted``, else a prompt on a terminal and a pause without one.

    Raises:
        typer.BadParameter: A prompt was asked for and there is no terminal.
    """
    terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if wanted == "ask" and not terminal:
        raise typer.BadParameter("--approve ask needs a terminal; use pause, never or all")
    if wanted in ("pause", "never", "all"):
        if wanted == "all":
            typer.echo("Every call that asks for confirmation is approved unseen (--approve all).", err=True)
        return wanted
    return _ask if terminal else "pause"


def _ask(question: Question) -> Approval:
    # ascii() shows control and bidi characters as what they are: what is approved is what is seen.
    typer.echo(f"{question.tool} {json.dumps(question.args, ensure_ascii=True)}\n{question.reason}", err=True)
    while True:
        typer.echo("Run it? [y]es, [n]o, or no with a reason: ", err=True, nl=False)
        answer = _line(question)
        if isinstance(answer, Approval):
            typer.echo(f"\n{answer.word}: decided elsewhere", err=True)
            return answer
        if answer is None:
            return Approval("pause")
        if (word := answer.strip().lower()) in ("y", "yes"):
            return Approval("approve")
        if word in ("n", "no"):
            return Approval("reject")
        if word:
            return Approval("reject", answer.strip())


def _line(question: Question) -> str | Approval | None:
    """A line of the terminal, or a decision from elsewhere; ``None`` when the terminal is closed."""
    while True:
        if (standing := question.elsewhere()) is not None:
            return standing
        if select.select([sys.stdin], [], [], _LOOK_AGAIN_S)[0]:
            return sys.stdin.readline() or None
