"""The failures that cargo reports: a list of names for each program of tests, panics, and errors of the compiler."""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from micro_agent.coding.failures.failing import Failing, told
from micro_agent.coding.failures.places import Place, place_of

_BLOCK = re.compile(r"---- (.+) stdout ----")
_NAME = re.compile(r"    (\S.*)")
_PANIC = re.compile(r"thread '([^']+)' (?:\(\d+\) )?panicked at (.+)")
_ERROR = re.compile(r"error(?:\[E\d+\])?: (.+)")
_AT = re.compile(r" *--> (.+?):(\d+):\d+")
_NOT_BUILT = re.compile(r"error: could not compile `(.+?)`.*")
_NOTE = re.compile(r"note: run with `RUST_BACKTRACE=|stack backtrace:|thread '|---- |failures:|test result: |test ")
_OF_DOC = re.compile(r"(\S+\.\w+) - .*\(line (\d+)\)")
_LINES = 6


def cargos(lines: Sequence[str], root: str) -> list[Failing]:
    """One for each name in a list; before them one for each crate that could not be compiled."""
    panics, blocks = _panics(lines, root), _blocks(lines)
    found = list(_not_built(lines, root))
    for name in _names(lines):
        block = blocks[name].popleft() if blocks[name] else []
        if panics[name]:
            said, place = panics[name].popleft()
        else:
            inside = [one for queue in _panics(block, root).values() for one in queue]
            said, place = inside[0] if inside else (told(_before_note(block)), None)
        doc = _OF_DOC.fullmatch(name)
        found.append(Failing(name, said, f"{doc[1]}:{doc[2]}" if doc and place is None else place))
    return found


def _names(lines: Sequence[str]) -> Iterator[str]:
    """Those in the lists at the end of each program: ``failures:`` and one name a line, before the result."""
    listed: list[str] = []
    begun = False
    for line in lines:
        name = _NAME.fullmatch(line)
        if line == "failures:":
            begun, listed = True, []
        elif line.startswith("test result: "):
            yield from listed if begun else ()
            begun = False
        elif line and not name:
            listed = []  # what stood so far was printed by a test
        elif name and begun:
            listed.append(name[1])


def _blocks(lines: Sequence[str]) -> "defaultdict[str, deque[list[str]]]":
    found: defaultdict[str, deque[list[str]]] = defaultdict(deque)
    block: list[str] | None = None
    for line in lines:
        heading = _BLOCK.fullmatch(line)
        if heading:
            found[heading[1]].append(block := [])
        elif line == "failures:":
            block = None
        elif block is not None:
            block.append(line)
    return found


def _panics(lines: Sequence[str], root: str) -> "defaultdict[str, deque[tuple[str | None, str | None]]]":
    """What each thread said when it panicked, and where; tests run in threads of their names."""
    found: defaultdict[str, deque[tuple[str | None, str | None]]] = defaultdict(deque)
    for at, line in enumerate(lines):
        panic = _PANIC.fullmatch(line)
        if panic and panic[2].startswith("'"):  # before Rust 1.73 the message stood in quotes, before the place
            rest = [panic[2][1:], *lines[at + 1 : at + 1 + _LINES]]
            ends = next((n for n, more in enumerate(rest) if "', " in more and _place(more.rpartition("', ")[2])), None)
            if ends is not None:
                said, _, place = rest[ends].rpartition("', ")
                found[panic[1]].append((told([*rest[:ends], said]), place_of(_place(place), root)))
        elif panic and (place := _place(panic[2])):
            said = _before_note(lines[at + 1 : at + 1 + _LINES])
            found[panic[1]].append((told(said), place_of(place, root)))
    return found


def _place(text: str) -> list[Place]:
    """The place that ``src/lib.rs:7:9:`` is; nothing where it is something else."""
    path, line, column = text.removesuffix(":").rsplit(":", 2) if text.count(":") > 1 else ("", "", "")
    return [(path, line)] if path and line.isdecimal() and column.isdecimal() else []


def _before_note(lines: Sequence[str]) -> list[str]:
    end = next((at for at, line in enumerate(lines) if _NOTE.match(line)), len(lines))
    return list(lines[:end])


def _not_built(lines: Sequence[str], root: str) -> Iterator[Failing]:
    """The first error of each crate. The library is often compiled twice, once with its tests."""
    first: Failing | None = None
    said: str | None = None
    done: set[str] = set()
    for line in lines:
        not_built, error, at = _NOT_BUILT.fullmatch(line), _ERROR.fullmatch(line), _AT.fullmatch(line)
        if not_built:
            if first is not None and not_built[1] not in done:
                done.add(not_built[1])
                yield Failing(not_built[1], first.assertion, first.place)
            first, said = None, None
        elif error:
            said = error[1]
        elif at and said is not None:
            first = first or Failing("", said, place_of([(at[1], at[2])], root))
            said = None
