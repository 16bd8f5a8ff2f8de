"""Which tests failed, why and where, read from what a test runner printed: pytest, unittest, jest, vitest, cargo, go.

Each runner has a reader of its own, which goes by the structure of what that runner prints and takes a few thousand
lines in a moment. What was printed by a test itself is no failure, as far as the structure tells.
"""

from collections.abc import Callable, Sequence
from typing import Any

from micro_agent.coding.bounds import FAILURES, LINE, SAID, cut_line, cut_list, cut_text
from micro_agent.coding.failures.cargos import cargos
from micro_agent.coding.failures.failing import Failing
from micro_agent.coding.failures.gos import gos
from micro_agent.coding.failures.jests import jests
from micro_agent.coding.failures.places import relative
from micro_agent.coding.failures.pytests import pytests
from micro_agent.coding.failures.unittests import unittests
from micro_agent.coding.failures.vitests import vitests
from micro_agent.coding.reports import lines_of, readers_for

__all__ = ["Failing", "condensed", "shown_failures"]


def condensed(output: str, cmd: str = "", *, root: str = "") -> list[Failing]:
    """The failures in some output, in the order in which their details stand there; each once.

    A file, package or program of tests that could not be loaded or built is one, with its own name for the test's.

    Args:
        output: What was printed, both streams one behind the other; colours are ignored.
        cmd: What was run. Where it names a runner, only the output of that one is looked for.
        root: The folder that places are relative to, as the runner saw it. What lies in it is the project's own.
    """
    lines = lines_of(output)
    found = [failing for read in readers_for(cmd, _READERS) for failing in read(lines, root)]
    return list(dict.fromkeys(Failing(one.test, one.assertion, relative(one.place, root)) for one in found))


def shown_failures(found: Sequence[Failing]) -> list[dict[str, Any]]:
    """The first of them, each as a model is shown it: ``test``, ``assertion``, ``place``."""
    return [
        {"test": cut_line(one.test)[0], "assertion": _said(one.assertion), "place": one.place and one.place[-LINE:]}
        for one in cut_list(found, FAILURES)[0]
    ]


def _said(assertion: str | None) -> str | None:
    return assertion and cut_text(assertion, SAID)[0].rstrip()


_READERS: dict[str, Callable[[Sequence[str], str], list[Failing]]] = {
    "pytest": pytests, "unittest": unittests, "jest": jests, "vitest": vitests, "cargo": cargos, "go": gos,
}  # fmt: skip
"""How the failures of a runner are read, by the word that names it in a command."""
