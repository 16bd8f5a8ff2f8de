"""What a person is told on the way: the phase, how much of it is done, what it has cost so far."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TextIO

from micro_agent.evaluation.progress import EVERY_S, Progress, shown
from micro_agent.evaluation.results import ResultFile
from micro_agent.files.masking import mask_of
from micro_agent.optimize.ending import Spent
from micro_agent.text.printable import printable


class Teller:
    """Writes lines to ``stream``: live ones on a terminal, plain ones now and then elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def say(self, line: str) -> None:
        """Write a line."""
        print(printable(mask_of().text(line)), file=self._stream, flush=True)

    @contextmanager
    def training(self, most: int, *, every_s: float = EVERY_S) -> Generator[Callable[[Spent], None]]:
        """Show how training goes; gives what is to be called after each run. ``most``: runs at most."""
        live, due, last = self._stream.isatty(), monotonic() + every_s, Spent()

        def on_run(spent: Spent) -> None:
            nonlocal due, last
            last = spent
            if live:
                print(f"\r\x1b[K{training_line(spent, most)}", end="", file=self._stream, flush=True)
            elif monotonic() >= due:
                due = monotonic() + every_s
                self.say(training_line(spent, most))

        try:
            yield on_run
        finally:
            print("\r\x1b[K" if live else "", end="", file=self._stream)
            self.say(training_line(last, most))

    @contextmanager
    def trials(self, arm: str, file: ResultFile, todo: int) -> Generator[Callable[[object], None]]:
        """Show how an arm goes, as evals do."""
        self.say(f"Held-out tasks, {arm}:")
        with shown(Progress(file, todo), self._stream) as on_result:
            yield on_result


def training_line(spent: Spent, most: int) -> str:
    """Runs so far and at most, model calls, cost."""
    cost = "unknown" if spent.cost_usd is None else f"${spent.cost_usd:.4f}"
    return f"Training: {spent.runs} runs, at most {most}  {spent.lm_calls} model calls  cost {cost}"
