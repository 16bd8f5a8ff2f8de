"""Tracebacks as Python prints them itself, which unittest and ``pytest --tb=native`` show."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from micro_agent.coding.failures.places import Place

_BEGINS = re.compile(r" *(?:\+ )?(?:Exception Group )?Traceback \(most recent call last\):")
IN_FILE = re.compile(r' *(?:\| +)?File "(.+)", line (\d+)(?:, in .+)?')


@dataclass(slots=True)
class Traceback:
    """The last of several that were chained: the error that came out.

    Attributes:
        places: Its frames, the outermost first.
        message: The error, line by line.
    """

    places: list[Place] = field(default_factory=list[Place])
    message: list[str] = field(default_factory=list[str])


def traceback_in(lines: Iterable[str]) -> Traceback:
    """The traceback in some lines; what stands there instead of one is its message."""
    found, ended = Traceback(), False
    for line in lines:
        frame = IN_FILE.fullmatch(line)
        if _BEGINS.fullmatch(line):
            found, ended = Traceback(), False
        elif frame:
            found.places.append((frame[1], frame[2]))
        elif found.message and (not line or ended):
            ended = True  # what a test printed, or the sentence before the next of a chain
        elif line and (not found.places or found.message or not line[0].isspace()):
            found.message.append(line)
    return found
