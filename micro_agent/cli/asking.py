"""What a person is asked about a call, in full; on a terminal, a diff has its colours."""

import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO

import typer

from micro_agent.cli.messages import is_terminal, masked
from micro_agent.cli.waiting import printing
from micro_agent.replay import MARGIN, asked
from micro_agent.run.questions import about
from micro_agent.text.printable import printable

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def say_question(question: Mapping[str, Any], *, before: str = "") -> None:
    """Print what is asked on standard error, each line behind ``before``."""
    with printing():
        typer.echo(_text(question, sys.stderr, before), err=True, color=True)


def print_question(question: Mapping[str, Any]) -> None:
    """Print what is asked on standard output."""
    typer.echo(_text(question, sys.stdout, ""), color=True)


def _text(question: Mapping[str, Any], stream: TextIO | None, before: str) -> str:
    """The lines, made safe to look at. The only escape sequences in them are the colours that are put in here."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    coloured = wanted and is_terminal(stream) and about(question)[0] == "patch"
    lines = [printable(masked(line)) for line in asked(question)]
    return "\n".join(before + (_coloured(line) if coloured else line) for line in lines)


def _coloured(line: str) -> str:
    colour = _COLOURS.get(line.removeprefix(MARGIN)[:1]) if line.startswith(MARGIN) else None
    return line if colour is None else typer.style(line, fg=colour)
