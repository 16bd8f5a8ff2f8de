"""A diff as a person reads it on a terminal: in colours, with nothing in it that the terminal would obey."""

import sys

import typer

from micro_agent.cli.messages import is_terminal, masked, print_text
from micro_agent.cli.waiting import printing
from micro_agent.text.printable import printable

_COLOURS = (("+", typer.colors.GREEN), ("-", typer.colors.RED), ("@@", typer.colors.CYAN))


def coloured(diff: str) -> str:
    """The diff for a terminal."""
    return "\n".join(_line(printable(line)) for line in diff.split("\n"))


def _line(line: str) -> str:
    if line.startswith(("diff --git ", "--- ", "+++ ", "new file", "deleted file", "rename ")):
        return typer.style(line, bold=True)
    colour = next((colour for sign, colour in _COLOURS if line.startswith(sign)), None)
    return typer.style(line, fg=colour) if colour else line


def print_diff(diff: str) -> None:
    """Print a diff: as it is for a program, coloured and safe to look at on a terminal."""
    if not is_terminal(sys.stdout):
        print_text(diff, end="")
        return
    with printing():
        typer.echo(coloured(masked(diff)), nl=False, color=True)
