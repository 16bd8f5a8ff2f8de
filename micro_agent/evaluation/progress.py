"""How far an eval is: one live line on a terminal, a plain line now and then elsewhere."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TextIO

from micro_agent.evaluation.results import ResultFile

EVERY_S = 10.0
"""Seconds between two plain lines."""


class Progress:
    """Counts the results of an eval. Call it with each one.

    Args:
        file: What is written to; results that it holds already count as done.
        todo: The number of trials that are asked now.
        clock: Seconds, for the rate and the time left.
    """

    def __init__(self, file: ResultFile, todo: int, *, clock: Callable[[], float] = monotonic) -> None:
        self.file, self.todo, self.asked = file, todo, 0
        self._total = file.header.planned
        self._clock, self._began = clock, clock()

    def __call__(self, _: object) -> None:
        """Count a result."""
        self.asked += 1

    def line(self) -> str:
        """Done and total, success so far, results a second, time left, cost so far; unknown figures are ``-``."""
        passed, done, left = self._clock() - self._began, len(self.file.done), self.todo - self.asked
        rate = self.asked / passed if passed > 0 and self.asked else None
        success = f"{len(self.file.solved) / done:.1%}" if done else "-"
        speed, ends = ("-", "-") if rate is None else (f"{rate:.3g}/s", _duration(left / rate))
        cost = self.file.cost_usd
        spent = "unknown" if cost is None else f"${cost:.4f}"
        return f"{self._total - left}/{self._total}  success {success}  {speed}  left {ends}  cost {spent}"


@contextmanager
def shown(progress: Progress, stream: TextIO, *, every_s: float = EVERY_S) -> Generator[Callable[[object], None]]:
    """Show the progress on a stream; gives what is to be called with each result. The last line stays."""
    if stream.isatty():
        with _live(progress, stream):
            yield progress
    else:
        yield _Plain(progress, stream, every_s)
    _say(progress, stream)


@contextmanager
def _live(progress: Progress, stream: TextIO) -> Generator[None]:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    def render() -> Text:
        return Text(progress.line(), no_wrap=True, overflow="ellipsis")

    with Live(console=Console(file=stream), get_renderable=render, transient=True, redirect_stdout=False):
        yield


class _Plain:
    def __init__(self, progress: Progress, stream: TextIO, every_s: float) -> None:
        self.progress, self.stream, self.every_s = progress, stream, every_s
        self.next = monotonic() + every_s

    def __call__(self, result: object) -> None:
        self.progress(result)
        if (now := monotonic()) >= self.next:
            self.next = now + self.every_s
            _say(self.progress, self.stream)


def _say(progress: Progress, stream: TextIO) -> None:
    stream.write(progress.line() + "\n")
    stream.flush()


def _duration(seconds: float) -> str:
    """Hours, minutes and seconds: ``1:02:03``, ``2:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
