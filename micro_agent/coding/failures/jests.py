"""The failures that jest reports: ``FAIL`` and a file, below it a block with a bullet for each test that failed."""

import re
from collections.abc import Iterator, Sequence

from micro_agent.coding.failures.failing import Failing, told
from micro_agent.coding.failures.places import Place, place_of

_FILE = re.compile(r" ?(FAIL|PASS) (?:.* )?(\S+\.[cm]?[jt]sx?)(?: \(.+\))?")
_TITLE = re.compile(r"  ● (.+)")
_ENDS = re.compile(r"Test Suites: .+|Summary of all failing tests|-+\|.*")
_FRAME = re.compile(r" +at (?:.+ \()?(?:file://)?([^()\s][^()]*?):(\d+)(?::\d+)?\)?")
_CODE = re.compile(r" *(?:> *)?(?:\d+ )?\|(?: .*)?")
_PARSED = re.compile(r" *(\w*Error: (.+)) \((\d+):\d+\)")
_NOT_LOADED = "Test suite failed to run"
_NO_TEST = re.compile(r" +console\.\w+")


def jests(lines: Sequence[str], root: str) -> list[Failing]:
    """One for each block. jest repeats them all at its end where there are many files."""
    found: dict[str, Failing] = {}
    for file, title, block in _blocks(lines):
        is_console = title == "Console" and any(_NO_TEST.fullmatch(line) for line in block)
        test = file if title == _NOT_LOADED else f"{file} › {title}"
        if not is_console:
            found.setdefault(test, _failing(test, block, root))
    return list(found.values())


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    """The file, the title and the lines of each block."""
    file, title, block = "", "", list[str]()
    for line in lines:
        heading, named = _FILE.fullmatch(line), _TITLE.fullmatch(line)
        ends = heading or named or _ENDS.fullmatch(line)
        if ends and title:
            yield file, title, block
            title = ""
        if heading:
            file = heading[2].removeprefix("./") if heading[1] == "FAIL" else ""
        elif ends and not named:
            file = "" if line.startswith("Test Suites") else file
        elif named and file:
            title, block = named[1], []
        elif title:
            block.append(line)
    if title:
        yield file, title, block


def _failing(test: str, block: Sequence[str], root: str) -> Failing:
    places: list[Place] = []
    said: list[str] = []
    for line in block:
        frame, parsed = _FRAME.fullmatch(line), _PARSED.fullmatch(line)
        if parsed:  # what Babel says; before it stands advice
            return Failing(test, parsed[1], place_of([(parsed[2].partition(": ")[0], parsed[3])], root))
        if frame:
            places.insert(0, (frame[1], frame[2]))
        elif not places and not _CODE.fullmatch(line):
            said.append(line)
    return Failing(test, told(said), place_of(places, root))
