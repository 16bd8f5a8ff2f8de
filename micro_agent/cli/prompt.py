"""Confirmation on a terminal. Somebody at another terminal may decide while the prompt waits."""

import select
import sys
import termios
from dataclasses import asdict
from typing import Literal

import typer

from micro_agent.cli.asking import say_question
from micro_agent.cli.editing import arguments_of, edited, editor_of
from micro_agent.cli.messages import is_terminal, say
from micro_agent.cli.waiting import printing
from micro_agent.effects import Approval, Question
from micro_agent.errors import ConfigurationError
from micro_agent.running.session import Confirmation

_LOOK_AGAIN_S = 0.25


def confirmer(wanted: Literal["ask", "pause", "never", "all"] | None) -> Confirmation:
    """What is done about confirmations: as ``wanted``, else a prompt on a terminal and a pause without one.

    Raises:
        ConfigurationError: A prompt was asked for and there is no terminal.
    """
    terminal = is_terminal(sys.stdin) and is_terminal(sys.stderr)
    if wanted == "ask" and not terminal:
        raise ConfigurationError("--approve ask needs a terminal; use pause, never or all")
    if wanted == "all":
        say("Every call that asks for confirmation is approved unseen (--approve all).")
    if wanted in ("pause", "never", "all"):
        return wanted
    return _ask if terminal else "pause"


def agreed(question: str) -> bool:
    """Whether the person at the terminal says yes; without a terminal nobody does."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return False
    with printing():
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        typer.echo(f"{question} [y]es, [n]o: ", err=True, nl=False)
        return sys.stdin.readline().strip().lower() in ("y", "yes")


def _ask(question: Question) -> Approval:
    with printing():
        return _asked(question)


def _asked(question: Question) -> Approval:
    say_question(asdict(question))
    termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before the question is not an answer to it
    while True:
        typer.echo("Run it? [y]es, [n]o, [e]dit, or no with a reason: ", err=True, nl=False)
        answer = _line(question)
        if isinstance(answer, Approval):
            return answer
        if answer is None:
            return Approval("pause")
        if (word := answer.strip().lower()) in ("y", "yes"):
            return Approval("approve")
        if word in ("n", "no"):
            return Approval("reject")
        if word in ("e", "edit"):
            if (edited := _edited(question)) is not None:
                return edited
        elif word:
            return Approval("reject", answer.strip())


def _edited(question: Question) -> Approval | None:
    """The call with other arguments; ``None`` where they are the same, or no object, of which is told then."""
    try:
        if editor := editor_of():
            args = edited(editor, question.args)
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
        else:
            typer.echo("The arguments, as a JSON object on one line: ", err=True, nl=False)
            answer = _line(question)
            if not isinstance(answer, str):
                return answer or Approval("pause")
            args = arguments_of(answer)
    except ConfigurationError as error:
        say(str(error))
        return None
    if args == question.args:
        say("Nothing was changed.")
        return None
    return Approval("approve", args=args)


def _line(question: Question) -> str | Approval | None:
    """A line of the terminal, or a decision from elsewhere; ``None`` when the terminal is closed."""
    while True:
        if (standing := question.elsewhere()) is not None:
            say(f"\n{standing.word}: decided elsewhere")
            return standing
        if select.select([sys.stdin], [], [], _LOOK_AGAIN_S)[0]:
            return sys.stdin.readline() or None
