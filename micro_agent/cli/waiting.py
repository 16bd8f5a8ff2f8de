"""A sign of life on a terminal: a line that says for how long nothing was printed, gone when something is."""

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from time import monotonic

_AFTER_S = 0.5
_LOOK_AGAIN_S = 0.1
_CLEAR = "\r\x1b[K"

_screen = threading.RLock()
_line: "_Line | None" = None


@contextmanager
def sign_of_life(*, wanted: bool = True) -> Generator[None]:
    """Show a line on standard error after half a second of silence, if that is a terminal."""
    global _line
    if not wanted or sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
    else:
        _line = line = _Line()
        line.start()
        try:
            yield
        finally:
            with printing():
                _line = None
            line.ended.set()


@contextmanager
def printing(*, ends_line: bool = True) -> Generator[None]:
    """Print, or talk with a person, while there is no such line; without a line end none comes until the next one."""
    line = _line
    if line is None:
        yield
        return
    with _screen:
        line.clear()
        line.busy += 1
    try:
        yield
    finally:
        with _screen:
            line.busy -= 1
            line.since, line.fits = monotonic(), ends_line


class _Line(threading.Thread):
    """Writes the line. The cursor is left at its beginning, so that what others print goes over it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.since, self.busy, self.fits = monotonic(), 0, True
        self._shown = ""

    def run(self) -> None:
        with suppress(OSError):  # the terminal is gone
            while not self.ended.wait(_LOOK_AGAIN_S):
                with _screen:
                    silent = monotonic() - self.since
                    if _line is self and self.fits and not self.busy and silent >= _AFTER_S:
                        self._show(f"working, {silent:.0f} s")

    def clear(self) -> None:
        """Remove the line, if it is there."""
        if self._shown:
            self._show("")

    def _show(self, text: str) -> None:
        if text != self._shown:
            sys.stderr.write(f"{_CLEAR}{text}\r" if text else _CLEAR)
            sys.stderr.flush()
            self._shown = text
