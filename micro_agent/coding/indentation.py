"""The indentation of a text, carried over to where the same lines are indented otherwise."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import gcd

_NARROWEST = 2
"""Blanks of one level of indentation."""


def indent_of(line: str) -> str:
    """The blanks in front of a line."""
    return line[: len(line) - len(line.lstrip())]


def carried(there: Sequence[str], given: Sequence[str], lines: Sequence[str]) -> list[str] | None:
    """Lines with the indentation that they have at their place.

    Args:
        there: The lines of the place.
        given: The same lines, as they were given with another indentation.
        lines: Lines that were given along with them.

    Returns:
        ``None`` where the two do not say which indentation stands for which.
    """
    pairs = {(indent_of(one), indent_of(other)) for one, other in zip(given, there, strict=True) if one.strip()}
    known = dict(pairs)
    if len(known) < len(pairs):
        return None
    step = _step(known, [*given, *lines])
    signs = set("".join(known.values()))
    found: list[str] = []
    for line in lines:
        there_too = _carried(line, known, step)
        if there_too is None or (len(signs) == 1 and set(indent_of(there_too)) - signs):
            return None
        found.append(there_too)
    return found


def _carried(line: str, known: dict[str, str], step: tuple[str, str] | None) -> str | None:
    if not line.strip():
        return ""
    indent, text = indent_of(line), line.lstrip()
    outer = max((one for one in known if indent.startswith(one)), key=len, default=None)
    if outer is not None:
        deeper = _in_steps(indent.removeprefix(outer), step)
        return None if deeper is None else known[outer] + deeper + text
    least = min(known, key=len)
    less = _in_steps(least.removeprefix(indent), step) if least.startswith(indent) else None
    return known[least].removesuffix(less) + text if less and known[least].endswith(less) else None


def _in_steps(blanks: str, step: tuple[str, str] | None) -> str | None:
    """The blanks in the steps of the place; ``None`` where they are no whole number of steps."""
    if step is None or not blanks:
        return blanks
    one, other = step
    times = len(blanks) // len(one)
    return other * times if blanks == one * times else None


def _step(known: dict[str, str], lines: Iterable[str]) -> tuple[str, str] | None:
    """What one level of indentation is as it was given, and what it is at the place; ``None`` where it is the same."""
    steps = {
        (inner.removeprefix(outer), known[inner].removeprefix(known[outer]))
        for outer, inner in combinations(sorted(known, key=len), 2)
        if inner.startswith(outer) and known[inner].startswith(known[outer])
    }
    steps = {(one, other) for one, other in steps if one and other}
    if not steps:
        steps = _guessed(known, lines)
    one, other = min(steps, key=lambda step: len(step[0]), default=("", ""))
    return None if one == other else (one, other)


def _guessed(known: dict[str, str], lines: Iterable[str]) -> set[tuple[str, str]]:
    """The same of a single level: a tab for blanks, or blanks for a tab."""
    given, there = next(iter(known.items()))
    if set(there) == {"\t"} and set(given) <= {" "}:
        width, rest = divmod(len(given), len(there))
        if not given:
            width = gcd(*(len(indent) for line in lines if set(indent := indent_of(line)) == {" "}))
        return set() if rest or width < _NARROWEST else {(" " * width, "\t")}
    if set(there) == {" "} and set(given) == {"\t"} and len(there) % len(given) == 0:
        return {("\t", " " * (len(there) // len(given)))}
    return set()
