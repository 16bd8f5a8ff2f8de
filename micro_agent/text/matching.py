r"""``re.search`` that ends: some expressions take exponential time on some texts, and no thread can be interrupted.

Where the text and the form of the expression bound the time, `re` searches. Else the package regex does: it reads the
same language and more of it (``\p{L}``), remembers what it has tried in vain, and gives up after a time.
"""

import math
import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from micro_agent.errors import MicroAgentError

if TYPE_CHECKING:
    import regex

LIMIT_S = 1.0
"""Seconds of processor time that one search may take, unless it is said otherwise."""

# A tenth of a second, about.
_MOST_STEPS = math.log(10_000_000)
# Beyond it, regex takes long and much memory to compile: it writes out what is to be there several times.
_MOST_ITEMS = 10_000
# What counts as one character: an escape, a set.
_ITEM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
# A repeated group, a group that is more than a group.
_UNBOUNDED = re.compile(r"\)\s*[*+?{]|\(\?(?!:)")
_TOKEN = re.compile(r"\{0*(?P<times>[0-9]{0,9})(?:,[0-9]*)?\}|.", re.DOTALL)


def search(pattern: str, text: str, *, limit_s: float = LIMIT_S) -> bool | None:
    """Whether a regular expression is found in a text; ``None`` if that takes too much time, or all memory.

    Args:
        pattern: One that `re` or regex compiles.
        text: Where it is looked for.
        limit_s: Seconds of processor time, of the whole process where it has several threads.

    Raises:
        MicroAgentError: Neither can read it.
    """
    compiled, repeats, alternatives, items = _form(pattern)
    if compiled is not None and (repeats + 1) * math.log(len(text) + 1) + alternatives <= _MOST_STEPS:
        return compiled.search(text) is not None
    if items > _MOST_ITEMS:
        return None
    try:
        return _compiled(pattern).search(text, timeout=limit_s) is not None
    except TimeoutError:
        return None


def readable(pattern: str) -> bool:
    """Whether a search can be made at all: the expression can be read, and is not too large."""
    compiled, _, _, items = _form(pattern)
    if items > _MOST_ITEMS:
        return False
    if compiled is None:
        with suppress(MicroAgentError):
            _compiled(pattern)
            return True
    return compiled is not None


def _compiled(pattern: str) -> "regex.Pattern[str]":
    import regex

    try:
        return regex.compile(pattern)  # it remembers them
    except (regex.error, RecursionError) as error:
        raise MicroAgentError(f"cannot read the regular expression {pattern[:80]!r}: {error}") from None


@lru_cache(maxsize=512)
def _form(pattern: str) -> tuple["re.Pattern[str] | None", float, float, int]:
    """The expression if `re` can read it, and what bounds the work of a search.

    A bound on what `re` tries, on the safe side, is the length of the text to the power of repeats + 1, with the factor
    whose logarithm is the third: repeated single characters end anywhere in the text, independently of each other and
    of where the match begins, and each alternative doubles the ways. Infinite where no bound is as simple.
    """
    if len(pattern) > _MOST_ITEMS:
        return None, math.inf, 0.0, len(pattern)
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        compiled = None
    items = _ITEM.sub("x", pattern.removeprefix("(?i)"))
    repeats = len(re.findall(r"[*+?{]", items.replace("(?:", "(")))
    return (
        compiled,
        math.inf if _UNBOUNDED.search(items) else repeats,
        items.count("|") * math.log(2),
        _written_out(items),
    )


def _written_out(items: str) -> int:
    """How many items the expression has when those that are to be there several times are written out."""
    sizes, last = [0], 0
    for token in _TOKEN.finditer(items):
        if token["times"] is not None:
            last *= max(int(token["times"] or 0) - 1, 0)
        elif token[0] == "(":
            sizes.append(0)
            continue
        else:
            last = sizes.pop() if token[0] == ")" and len(sizes) > 1 else 1
        sizes[-1] += last
    return sum(sizes)
