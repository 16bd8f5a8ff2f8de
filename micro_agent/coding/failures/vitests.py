"""The failures that vitest reports: ``FAIL`` and a name, one below the other where several failed for one reason."""

import re
from collections.abc import Sequence

from micro_agent.coding.failures.failing import Failing, told
from micro_agent.coding.failures.places import Place, place_of

_NAME = re.compile(r" FAIL  (?:\|[^|]+\| )?(\S.* (?:>|\[) .+)")
_NOT_LOADED = re.compile(r"(\S+) \[ .+ \]")
_RULE = re.compile(r"⎯+(?: .+ ⎯+|\[\d+/\d+\]⎯+)?")
_FRAME = re.compile(r" ❯ (?:.+ )?(\S+?):(\d+):\d+")
_IN_FILE = re.compile(r" +File: (.+?):(\d+)(?::\d+)?")
_UNHANDLED = re.compile(r"⎯+ (Unhandled \w+) ⎯+")


def vitests(lines: Sequence[str], root: str) -> list[Failing]:
    """One for each name, and one for each error outside of the tests."""
    found: list[Failing] = []
    names: list[str] = []
    block: list[str] = []
    for line in lines:
        named, unhandled = _NAME.fullmatch(line), _UNHANDLED.fullmatch(line)
        if names and (_RULE.fullmatch(line) or (named and block)):
            found += _of_block(names, block, root)
            names, block = [], []
        if named:
            loaded = _NOT_LOADED.fullmatch(named[1])
            names.append(loaded[1] if loaded else named[1])
        elif unhandled and unhandled[1] != "Unhandled Errors":
            names = [unhandled[1]]
        elif names:
            block.append(line)
    return found + _of_block(names, block, root)


def _of_block(names: Sequence[str], block: Sequence[str], root: str) -> list[Failing]:
    places: list[Place] = []
    said: list[str] = []
    for line in block:
        frame, file = _FRAME.fullmatch(line), _IN_FILE.fullmatch(line)
        if frame or file:
            found = frame or file
            assert found is not None
            places.insert(0, (found[1], found[2]))
        elif not places:
            said.append(line)
    return [Failing(name, told(said), place_of(places, root)) for name in names]
