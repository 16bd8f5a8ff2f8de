"""What is said to a person: one line each on standard error, with nothing in it that a terminal would obey."""

import logging
import sys
from typing import TYPE_CHECKING, TextIO

import typer

if TYPE_CHECKING:
    from micro_agent.run import Run


def say(line: str) -> None:
    """Print a line on standard error; control characters in it are shown as what they are."""
    from micro_agent.replay import printable

    typer.echo(printable(line), err=True)


def print_text(text: str, *, end: str = "\n") -> None:
    """Print a result on standard output: as it is for a program, safe to look at on a terminal."""
    from micro_agent.replay import printable

    # By default typer cuts escape sequences out of what goes to a program.
    typer.echo((printable(text) if is_terminal(sys.stdout) else text) + end, nl=False, color=True)


def print_record(run: "Run") -> None:
    """Print a run as the line that stands in its trace, secrets masked."""
    from micro_agent.storage.masking import mask_of

    typer.echo(mask_of().encode(run), nl=False)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person is at the other end. Streams that a parent process closed are ``None``."""
    return stream is not None and stream.isatty()


def log_from(level: str) -> None:
    """Show what the package logs on standard error, from ``level`` (``debug`` to ``error``) on."""
    log = logging.getLogger("micro_agent")
    log.handlers = [_Lines()]
    log.setLevel(level.upper())
    log.propagate = False


class _Lines(logging.Handler):
    """One line a message, never a traceback."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"micro-agent: {record.levelname.lower()}: {' '.join(record.getMessage().split())}")
