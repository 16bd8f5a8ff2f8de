"""What is said to a person or a program: without secrets, and on a terminal with nothing in it that it would obey."""

import logging
import sys
import threading
import traceback
from types import TracebackType
from typing import Any, TextIO

import typer

from micro_agent.cli.waiting import printing
from micro_agent.text.printable import printable, printable_json


def say(line: str) -> None:
    """Print a line on standard error; control characters in it are shown as what they are."""
    with printing():
        typer.echo(printable(masked(line)), err=True)


def print_text(text: str, *, end: str = "\n") -> None:
    """Print a result on standard output: as it is for a program, safe to look at on a terminal."""
    text = masked(text)
    # By default typer cuts escape sequences out of what goes to a program.
    with printing(ends_line=(text + end).endswith("\n")):
        typer.echo((printable(text) if is_terminal(sys.stdout) else text) + end, nl=False, color=True)


def print_json(data: Any) -> None:
    """Print data, such as a run, as one line of JSON: in UTF-8 for a program, on a terminal with what hides escaped."""
    from micro_agent.files.masking import mask_of

    line = mask_of().encode(data)
    typer.echo(printable_json(line.decode()).encode() if is_terminal(sys.stdout) else line, nl=False)


def masked(text: str) -> str:
    """``text`` without secrets."""
    from micro_agent.files.masking import mask_of

    return mask_of().text(text)


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


def mask_the_rest() -> None:
    """Keep secrets out of what others say: the logs of other packages, and the traceback of a defect."""
    logging.setLogRecordFactory(_MaskedRecord)
    sys.excepthook = _defect
    threading.excepthook = lambda args: _defect(args.exc_type, args.exc_value, args.exc_traceback)


class _MaskedRecord(logging.LogRecord):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.msg, self.args = masked(self.getMessage()), None
        if self.exc_info:
            self.exc_text = masked(logging.Formatter().formatException(self.exc_info))


def _defect(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    if not issubclass(kind, SystemExit):  # in a thread
        say("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"))
