"""Lines for a person on standard error, about what must not happen silently."""

import sys
from collections.abc import Callable
from functools import cache

from micro_agent.text.printable import printable

Announce = Callable[[str], None]
"""Takes one line for a person."""


def to_stderr(line: str) -> None:
    """Print a line on standard error, where there is one: secrets masked, control characters as what they are."""
    from micro_agent.files.masking import mask_of

    if sys.stderr is not None:  # a parent process may have closed it
        said = printable(mask_of().text(line)).replace("\n", "\\n")
        sys.stderr.write(f"micro-agent: {said}\n")


@cache
def once(line: str) -> None:
    """`to_stderr`, but each line once in this process."""
    to_stderr(line)
