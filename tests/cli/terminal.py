"""A terminal with a person before it."""

import os
import pty
import select
import time


class Terminal:
    """The person's end of a pseudo-terminal."""

    def __init__(self) -> None:
        self.descriptor, self.other = pty.openpty()
        self.seen = ""

    def until(self, wanted: str) -> str:
        """What appears up to and with ``wanted``."""
        end = time.monotonic() + 30
        while wanted not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self.descriptor], [], [], 0.1)[0]:
                self.seen += os.read(self.descriptor, 4096).decode()
        shown, _, self.seen = self.seen.partition(wanted)
        return shown + wanted

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self.descriptor, keys.encode())
