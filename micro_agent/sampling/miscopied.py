"""What looks miscopied in a call: a word that stands nowhere, but nearly, and a number that stands nowhere."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from micro_agent.run import Run
from micro_agent.sampling.grounding import ungrounded
from micro_agent.sampling.seen import Seen, plain, read, seen_in
from micro_agent.tools import Tool

_MOST_WORDS = 2_000
"""Among more, almost every word is like another, and comparing takes long: then those of the question count alone."""


def miscopied(args: Mapping[str, Any], run: Run, tool: Tool) -> dict[str, str | None]:
    """The words and numbers of a call that look like a slip, with the word that may be meant, as it is written.

    A text that the model words itself has words that stand nowhere, too, but they are like none that do. Words are like
    one another by the ratio of `difflib.SequenceMatcher` (Ratcliff and Obershelp 1988), from 0.6 on.

    Args:
        args: The arguments, any JSON.
        run: The run so far, with the turns before it.
        tool: The tool that is called.

    Returns:
        By word, in the order of ``args``; ``None`` for a number.
    """
    words = [word for argument in ungrounded(args, run, tool) for word in argument.words]
    found: dict[str, str | None] = {}
    seen = seen_in(run) or Seen()  # where it cannot be known, there are no words either
    known = seen.words if len(seen.words) <= _MOST_WORDS else read(run.question).words
    for word in words:
        if word.removeprefix("-")[:1].isdigit():
            found[word] = None
        elif close := get_close_matches(word, sorted(known), n=1):
            found[word] = _as_written(close[0], run)
    return found


def _as_written(word: str, run: Run) -> str:
    spelled = {plain(token): token for token in re.findall(r"\w+", run.question)}
    return spelled.get(word, word)
