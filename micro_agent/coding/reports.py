"""How many tests passed and failed, read from what a test runner printed: pytest, unittest, jest, vitest, cargo, go.

Each runner ends with a report of a fixed structure. It is looked for line by line, whatever stands around it; what a
report does not say is ``None``. A file, a fixture or a package that could not be loaded or built counts as one failed.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_COUNT = re.compile(r"(\d+) ([a-z]+(?: [a-z]+)*)")


@dataclass(frozen=True, slots=True)
class Counts:
    """What a report says: how many tests passed, how many failed; ``None`` where it does not say so."""

    passed: int | None = None
    failed: int | None = None

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(_sum(self.passed, other.passed), _sum(self.failed, other.failed))


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def read_counts(output: str, cmd: str = "") -> Counts:
    """The sum of the reports in some output.

    Args:
        output: What was printed, both streams one behind the other; colours are ignored.
        cmd: What was run. The reports of other runners than it names are taken for something that a test printed;
            where it names none (``make test``), any report counts.

    Returns:
        Both are ``None`` where there is no report. That no test ran is 0, if a report says so.
    """
    lines = lines_of(output)
    found = [counts for read in readers_for(cmd, _READERS) for counts in read(lines)]
    total = Counts(0, 0) if found else Counts()
    for counts in found:
        total += counts
    return total


def lines_of(output: str) -> list[str]:
    """The lines of some output as a terminal shows them: without colours and what was overwritten."""
    return [line.rpartition("\r")[2].rstrip() for line in _ESCAPES.sub("", output).replace("\r\n", "\n").split("\n")]


def readers_for(cmd: str, readers: Mapping[str, T]) -> list[T]:
    """The readers whose names are words of a command; all of them where it names none."""
    words = set(re.findall(r"\w+", cmd))
    return list(dict.fromkeys([read for name, read in readers.items() if name in words] or readers.values()))


def _numbered(text: str) -> dict[str, int]:
    """``{"passed": 3, "failed": 1}`` of ``3 passed, 1 failed``."""
    return {what: int(number) for number, what in _COUNT.findall(text)}


_HEADING = re.compile(r"={2,} (.+) ={2,}")
_PYTESTS = re.compile(
    r"=* ?((?:\d+ [a-z]+(?: [a-z]+)*(?:, )?)+|no tests ran) in \d+\.\d+ ?s(?:econds)?(?: \([\d:]+\))? ?=*"
)
_PROGRESS = re.compile(r"(?:.*\[ *(?:\d+%|\d+/\d+)\]|[.FEsxXuR]+)")


def _pytests(lines: Sequence[str]) -> Iterator[Counts]:
    """The last line of each session. One that a test printed is followed by another, with no session between."""
    last: Counts | None = None  # of a session that has ended, unless another summary follows it at once
    within: Counts | None = None  # among the failures: printed by a test, unless it stays the last one
    inside = began = False
    for line in lines:
        heading = _HEADING.fullmatch(line)
        summary = _PYTESTS.fullmatch(line)
        if summary and inside:
            within = _of_pytest(summary[1])
        elif summary:
            if last is not None and began:
                yield last
            last, within, began = _of_pytest(summary[1]), None, False
        elif heading:
            inside = heading[1] in ("FAILURES", "ERRORS") or (inside and heading[1] == "test session starts")
        elif _PROGRESS.fullmatch(line) and not inside:
            began = True
    ended = [last] if within is None or began else []
    yield from (counts for counts in (*ended, within) if counts is not None)


def _of_pytest(summary: str) -> Counts:
    said = _numbered(summary)
    return Counts(said.get("passed", 0), said.get("failed", 0) + said.get("error", 0) + said.get("errors", 0))


_RAN = re.compile(r"Ran (\d+) tests? in \d+\.\d+s")
_UNITTESTS = re.compile(r"(?:[A-Z]+(?: [A-Z]+)*)(?: \((\w[\w ]*=\d+(?:, \w[\w ]*=\d+)*)\))?")
_HEADED = re.compile(r"(?:FAIL|ERROR): (\S+ \(\S+\))(?: .*)?")
_OF_MODULES = re.compile(r"(?:setUp|tearDown)(?:Class|Module) ")


def _unittests(lines: Sequence[str]) -> Iterator[Counts]:
    """``Ran 7 tests in 0.001s`` and, behind it, ``FAILED (failures=1, errors=1)``."""
    headed: list[str] = []
    ran: int | None = None
    for at, line in enumerate(lines):
        test = _HEADED.fullmatch(line)
        if test and at and set(lines[at - 1]) == {"="}:
            headed.append(test[1])
        begins = _RAN.fullmatch(line)
        ends = _UNITTESTS.fullmatch(line)
        if begins:
            ran = int(begins[1])
        elif ran is not None and ends:
            yield _of_unittest(ran, ends[1] or "", headed)
            headed, ran = [], None


def _of_unittest(ran: int, details: str, headed: list[str]) -> Counts:
    said = {what: int(number) for what, number in re.findall(r"([a-z][a-z ]*)=(\d+)", details)}
    faults = said.get("failures", 0) + said.get("errors", 0)
    unexpected = said.get("unexpected successes", 0)
    others = unexpected + said.get("skipped", 0) + said.get("expected failures", 0)
    # A test counts one failure for each of its subtests, and setUpClass is none of the tests that were run. Python
    # 3.12.1 alone does not count skipped tests among those that it ran: their number is missing from its report.
    tests = {name for name in headed if not _OF_MODULES.match(name)}
    passed = ran - len(tests) - others
    is_known = len(headed) == faults and passed >= 0
    return Counts(passed if is_known else None, faults + unexpected)


_OF_FILES = re.compile(r"\s*Test (?:Suites:|Files)\s+(.+)")
_OF_TESTS = re.compile(r"\s*Tests:?\s+((?:\d+ [a-z]+(?: \| |, )?)+ ?(?:\(\d+\)|total)?|\d+ total|no tests)")
_OF_ERRORS = re.compile(r"\s*Errors\s+(\d+) errors?")


def _javascripts(lines: Sequence[str]) -> Iterator[Counts]:
    """``Test Suites: 1 failed, 1 total`` with ``Tests: 1 failed, 2 passed, 3 total`` below; vitest has no colons."""
    broken: int | None = None
    pending: Counts | None = None
    for line in lines:
        files, tests, errors = _OF_FILES.fullmatch(line), _OF_TESTS.fullmatch(line), _OF_ERRORS.fullmatch(line)
        if files:
            broken = _numbered(files[1]).get("failed", 0)
        elif tests and broken is not None:
            if pending is not None:
                yield pending
            said = _numbered(tests[1])
            pending, broken = Counts(said.get("passed", 0), said.get("failed", 0) or broken), None
        elif errors and pending is not None:
            pending += Counts(0, int(errors[1]))
    if pending is not None:
        yield pending


_CARGOS = re.compile(r".*\btest result: \w+\. (\d+) passed; (\d+) failed; \d+ ignored; .*")


def _cargos(lines: Sequence[str]) -> Iterator[Counts]:
    """One line for each program of tests: ``test result: FAILED. 1 passed; 1 failed; 0 ignored; …``."""
    for line in lines:
        result = _CARGOS.fullmatch(line)
        if result:
            yield Counts(int(result[1]), int(result[2]))


_OF_TEST = re.compile(r".*--- (PASS|FAIL): ([^\s/]+) \(\d+\.\d+s\)")
_OF_PACKAGE = re.compile(r"(ok  |FAIL|\?   )\t\S+(?:\t.+| \[.+\])")


def _gos(lines: Sequence[str]) -> Iterator[Counts]:
    """A line for each package; above it one for each test that failed, and with ``-v`` for each that passed."""
    verbose = any(line.startswith("=== RUN ") for line in lines)
    passed = failed = 0
    for line in lines:
        event = _event(line)
        test, package = _OF_TEST.fullmatch(line), _OF_PACKAGE.fullmatch(line)
        ended = package[1] if package else None
        if event is not None:
            verbose = True
            ended = {"fail": "FAIL", "pass": "ok  ", "skip": "?   "}.get(event["Action"])
            if "Test" in event:
                top = "/" not in str(event["Test"])
                passed += ended == "ok  " and top
                failed += ended == "FAIL" and top
                continue
        elif test:
            passed += test[1] == "PASS"
            failed += test[1] == "FAIL"
        if ended is not None:
            yield Counts(passed if verbose else None, failed or int(ended == "FAIL"))
            passed = failed = 0


def _event(line: str) -> dict[str, Any] | None:
    """What ``go test -json`` says in a line."""
    if line.startswith("{"):
        with suppress(ValueError, RecursionError):
            said = cast("dict[str, Any]", json.loads(line))
            if isinstance(said.get("Action"), str) and isinstance(said.get("Package"), str):
                return said
    return None


_READERS: dict[str, Callable[[Sequence[str]], Iterator[Counts]]] = {
    "pytest": _pytests, "unittest": _unittests, "jest": _javascripts, "vitest": _javascripts, "cargo": _cargos,
    "go": _gos,
}  # fmt: skip
"""How the reports of a runner are read, by the word that names it in a command."""
