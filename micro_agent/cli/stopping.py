"""Ctrl-C and SIGTERM end what a command is doing; what is done until then is reported and kept."""

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping(stop: Callable[[], None]) -> Generator[list[int]]:
    """Call ``stop`` at the first signal, in the handler; gives the numbers of the signals that came.

    A signal after the first one changes nothing: the work is about to end, and its report, which belongs into this
    context too, is not to be lost.
    """
    got = list[int]()

    def came(number: int, _: object) -> None:
        got.append(number)
        if len(got) == 1:
            stop()

    # What whoever started us told us to ignore stays ignored, as a shell does for commands in the background.
    before = {n: signal.signal(n, came) for n in _SIGNALS if signal.getsignal(n) is not signal.SIG_IGN}
    try:
        yield got
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
