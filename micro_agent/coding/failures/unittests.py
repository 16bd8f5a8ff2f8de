"""The failures that unittest reports: a line of ``=``, a heading, a line of ``-`` and a traceback for each."""

import re
from collections.abc import Sequence
from itertools import pairwise

from micro_agent.coding.failures.failing import Failing, told
from micro_agent.coding.failures.places import place_of
from micro_agent.coding.failures.tracebacks import traceback_in

_HEADED = re.compile(r"(FAIL|ERROR|UNEXPECTED SUCCESS): (\S+) \((\S+)\)( .*)?")
_NOT_LOADED = "unittest.loader."
_WIDTH = 70


def unittests(lines: Sequence[str], root: str) -> list[Failing]:
    """One for each heading; a subtest has its parameters behind the name."""
    rules = {"=" * _WIDTH: "=", "-" * _WIDTH: "-"}
    begins = [at for at, line in enumerate(lines) if rules.get(line) == "=" and _heading(lines, at)]
    found: list[Failing] = []
    for at, after in pairwise([*begins, len(lines)]):
        heading = _heading(lines, at)
        assert heading is not None
        bars = [n for n in range(at + 1, after) if rules.get(lines[n]) == "-"][:2]
        begin, end = [*bars, after, after][:2]
        failed = traceback_in(lines[begin + 1 : end])
        said = told(failed.message) if heading[1] != "UNEXPECTED SUCCESS" else "unexpected success"
        found.append(Failing(_named(heading), said, place_of(failed.places, root)))
    return found


def _heading(lines: Sequence[str], at: int) -> "re.Match[str] | None":
    return _HEADED.fullmatch(lines[at + 1]) if at + 1 < len(lines) else None


def _named(heading: "re.Match[str]") -> str:
    """The dotted name, which ``python -m unittest`` takes. Before Python 3.11 the method is not part of it."""
    name, within, more = heading[2], heading[3], heading[4] or ""
    if within.startswith(_NOT_LOADED):
        return name
    return (within if within.endswith(f".{name}") else f"{within}.{name}") + more
