"""The failures that ``go test`` reports: a line for each test that failed, then one for its package.

What a test said stands below its line, or above it with ``-v``. With ``-json`` the same lines come as events, one
package between the others.
"""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from micro_agent.coding.failures.failing import Failing, told
from micro_agent.coding.failures.places import Place, place_of

_TEST = re.compile(r"(.*?)--- (FAIL|PASS|SKIP): (\S+) \(\d+\.\d+s\)")
_NOW = re.compile(r"=== (?:RUN|NAME|CONT) +(\S+)")
_PACKAGE = re.compile(r"(FAIL|ok  |\?   )\t(\S+)(?:\t.+| \[(.+)\])?")
_LOG = re.compile(r" +(\S+\.go):(\d+): (.*)")
_PANIC = re.compile(r"(?:panic|fatal error): .+")
_FUNCTION = re.compile(r"[^\s(].*\(.*\)")
_FRAME = re.compile(r"\t(\S.*\.\w+):(\d+)(?: \+0x[0-9a-f]+)?")
_OF_TEST = re.compile(r"(?:Test|Fuzz|Example|Benchmark)\w*")
_CREATED = re.compile(r"created by (\S+)(?: in goroutine \d+)?")
_INDENT = 4
_COMPILED = re.compile(r"# (\S+)(?: \[.+\])?")
_ERROR = re.compile(r"(?:vet: )?(\S.*?\.go):(\d+)(?::\d+)?: (.+)")


@dataclass(slots=True)
class _Package:
    """What is known of one package until its last line."""

    logs: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    failed: list[str] = field(default_factory=list[str])
    now: str = ""
    by_indent: dict[int, str] = field(default_factory=dict[int, str])
    panic: list[str] = field(default_factory=list[str])

    def log(self, line: str) -> None:
        """A line of the test that it stands below, by how far it is indented; with ``-v``, of the one that runs."""
        if _LOG.fullmatch(line):
            indent = len(line) - len(line.lstrip()) - _INDENT
            self.now = self.by_indent.get(indent, self.now)
        self.logs[self.now].append(line)


def gos(lines: Sequence[str], root: str) -> list[Failing]:
    """One for each test that failed, none for one of which only subtests did; one for each package not built."""
    lines = _without_events(lines)
    errors = _errors(lines, root)
    found: list[Failing] = []
    package = _Package()
    for line in lines:
        test, now, ended = _TEST.fullmatch(line), _NOW.fullmatch(line), _PACKAGE.fullmatch(line)
        if ended:
            if ended[1] == "FAIL":
                found += _of_package(ended[2], package, errors, root)
            package = _Package()
        elif package.panic or _PANIC.fullmatch(line):
            package.panic.append(line)
        elif now:
            package.now, package.by_indent = now[1], {}
        elif test:
            package.now = package.by_indent[len(test[1])] = test[3]
            package.failed += [test[3]] if test[2] == "FAIL" else []
        elif line.startswith("    ") and package.now:
            package.log(line)
    return found


def _without_events(lines: Sequence[str]) -> list[str]:
    """The lines that ``-json`` stands for, each package's together; what else was printed stands at the end."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    others: list[str] = []
    for line in lines:
        event = _event(line)
        if event is None:
            others.append(line)
        elif isinstance(event.get("Output"), str):
            texts[str(event.get("Package") or event.get("ImportPath"))].append(cast("str", event["Output"]))
    return [line for parts in texts.values() for line in "".join(parts).split("\n")] + others


def _event(line: str) -> dict[str, Any] | None:
    if line.startswith("{"):
        with suppress(ValueError, RecursionError):
            said = cast("dict[str, Any]", json.loads(line))
            if "Action" in said:
                return said
    return None


def _errors(lines: Sequence[str], root: str) -> dict[str, Failing]:
    """The first error of each package that could not be compiled, which stands behind ``#`` and its name."""
    found: dict[str, Failing] = {}
    package: str | None = None
    for line in lines:
        compiled, error = _COMPILED.fullmatch(line), _ERROR.fullmatch(line)
        if compiled:
            package = compiled[1]
        elif package is not None and error:
            found.setdefault(package, Failing(package, error[3], place_of([(error[1], error[2])], root)))
    return found


def _of_package(name: str, package: _Package, errors: dict[str, Failing], root: str) -> list[Failing]:
    failed = list(dict.fromkeys(package.failed))
    panicked = _of_panic(name, package, failed, root)
    parents = {test.rpartition("/")[0] for test in failed}
    found = [
        _of_test(name, test, package.logs[test], root)
        for test in failed
        if (package.logs[test] or test not in parents) and not (panicked and panicked.test == f"{name}.{test}")
    ]
    found += [panicked] if panicked else []
    return found or [errors.get(name) or Failing(name)]


def _of_test(package: str, test: str, logs: Sequence[str], root: str) -> Failing:
    """What was logged last comes first: an error ends a test more often than a note does."""
    said: list[str] = []
    place: Place | None = None
    for line in logs:
        log = _LOG.fullmatch(line)
        if log:
            said, place = [log[3]], (log[1], log[2])
        else:
            said.append(line.strip())
    return Failing(f"{package}.{test}", told(said), place_of([place], root) if place else None)


def _of_panic(name: str, package: _Package, failed: Sequence[str], root: str) -> Failing | None:
    """What a panic said, in the first goroutine that ran code outside of Go's own."""
    places: list[Place] = []
    tests: list[str] = []
    function = ""
    for line in package.panic:
        called, frame, created = _FUNCTION.fullmatch(line), _FRAME.fullmatch(line), _CREATED.fullmatch(line)
        if created:
            function = created[1]
        elif called:
            function = line
            test = line[: line.rindex("(")].removeprefix(f"{name}.")
            tests += [test] if _OF_TEST.fullmatch(test) else []
        elif frame and function and not _is_go(function, frame[1], root):
            places.insert(0, (frame[1], frame[2]))
        elif not line and places:
            break
    if not package.panic:
        return None
    test = failed[-1] if failed else (tests[0] if tests else package.now)
    said = package.panic[0].removesuffix(" [recovered]")
    return Failing(f"{name}.{test}" if test else name, said, place_of(places, root))


def _is_go(function: str, path: str, root: str) -> bool:
    """Whether a function is of Go's own library: its file lies in ``src`` and then the package's own path."""
    first = re.split(r"[./(]", function, maxsplit=1)[0]
    inside = root and path.startswith(f"{root.rstrip('/')}/")
    return not inside and (f"/src/{first}/" in path or path == "_testmain.go")
