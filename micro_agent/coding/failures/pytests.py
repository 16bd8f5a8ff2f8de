"""The failures that pytest reports: a block for each under FAILURES and ERRORS, a line for each in the short summary.

A block has what was found and where, the summary has the whole name: they belong together by the part of the name that
stands in the heading of the block. Either may be missing (``--tb=no``, ``-rN``).
"""

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from micro_agent.coding.failures.failing import Failing, told
from micro_agent.coding.failures.places import Place, place_of, relative
from micro_agent.coding.failures.tracebacks import IN_FILE, traceback_in

_SECTION = re.compile(r"={2,} (.+) ={2,}")
_ENDED = re.compile(r"(?:\d+ [a-z]+|no tests ran).* in \d+\.\d+ ?s.*")
_BLOCK = re.compile(r"(_+) (.+) (_+)")
_PHASE = re.compile(r"ERROR (?:at (?:setup|teardown) of|collecting) |\[doctest\] ")
_CAPTURED = re.compile(r"-+ ?Captured .+ -+")
_SUMMED_UP = re.compile(r"(FAILED|ERROR|SUBFAIL(?:ED)?) ?(\S.*)")
_CHAINED = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_PLACE = re.compile(r"([^\s>].*?):(\d+)(?::(?: (.*))?)?")
_VARIABLE = re.compile(r"\w+ *= ")
_CONFTEST = re.compile(r"ImportError while loading conftest '(.+)'\.")
_MOST_SPLITS, _MOST_SKIPPED = 20, 100


@dataclass(slots=True)
class _Block:
    """What stands under one heading, up to what the test had printed."""

    heading: str
    lines: list[str] = field(default_factory=list[str])

    @property
    def key(self) -> tuple[bool, str]:
        return self.heading.startswith("ERROR "), _PHASE.sub("", self.heading, count=1)


@dataclass(slots=True)
class _Summed:
    """One line of the short summary."""

    is_error: bool
    subtest: str
    rest: str


@dataclass(slots=True)
class _Report:
    """What the sections of one output hold."""

    blocks: list[_Block] = field(default_factory=list[_Block])
    summary: list[_Summed] = field(default_factory=list[_Summed])
    short: list[str] = field(default_factory=list[str])
    """What stands in no block: with ``--tb=line`` a line for each failure, between what the tests printed."""


def pytests(lines: Sequence[str], root: str) -> list[Failing]:
    """One for each block, then one for each line of the summary that no block belongs to."""
    report = _read(lines)
    keys = {block.key for block in report.blocks}
    named = [_split(summed, keys) for summed in report.summary]
    by_key: defaultdict[tuple[bool, str], deque[int]] = defaultdict(deque)
    for at, (summed, (node, _)) in enumerate(zip(report.summary, named, strict=True)):
        by_key[summed.is_error, _key(node)].append(at)
    found: list[Failing] = []
    left = dict.fromkeys(range(len(named)))
    for block in report.blocks:
        at = by_key[block.key].popleft() if by_key[block.key] else None
        node, message = (None, None) if at is None else named[at]
        left.pop(at, None) if at is not None else None
        found.append(_of_block(block, node, message, root))
    shorts = deque(report.short)
    return found + [_of_line(*named[at], _short(named[at][1], shorts), root) for at in left]


def _short(message: str | None, lines: deque[str]) -> "re.Match[str] | None":
    """The line of ``--tb=line`` that says what the summary says, which may cut it."""
    begins = (message or "").removesuffix("...")
    for skipped, line in enumerate(islice(lines, _MOST_SKIPPED)):
        place = _PLACE.fullmatch(line)
        if begins and place and (place[3] or "").startswith(begins):
            for _ in range(skipped + 1):
                lines.popleft()
            return place
    return None


def _read(lines: Sequence[str]) -> _Report:
    """Goes through the sections. A test of a plugin runs pytest: the session that it printed is passed over."""
    report, block = _Report(), None
    section, width, nested = "", 0, 0
    for line in lines:
        heading = _SECTION.fullmatch(line)
        within = section in ("FAILURES", "ERRORS")
        if heading and heading[1] == "test session starts":
            nested += within
        elif nested:
            nested -= bool(heading and _ENDED.fullmatch(heading[1]))
        elif heading:
            section, width, block = heading[1], len(line), None
        elif within and (titled := _title(line, width)):
            report.blocks.append(block := _Block(titled))
        elif within and block is None:
            report.short += [line] if line else []
        elif within and block is not None:
            if _CAPTURED.fullmatch(line):
                block = _Block("")  # what a test printed, which nobody reads
            block.lines.append(line)
        elif section == "short test summary info" and (summed := _SUMMED_UP.fullmatch(line)):
            subtest, rest = _subtest(summed[2])
            report.summary.append(_Summed(summed[1] == "ERROR", subtest, rest))
        elif conftest := _CONFTEST.fullmatch(line):
            report.blocks.append(block := _Block(f"ERROR collecting {conftest[1]}"))
            section, width = "ERRORS", 0
    return report


def _subtest(text: str) -> tuple[str, str]:
    """The message and the parameters of a subtest, ``[…] (…)``, and the name behind them."""
    parts: list[str] = []
    for opens, closes in ("[", "] "), ("(", ") "):
        part, closed, rest = text.partition(closes)
        if text.startswith(opens) and closed:
            parts.append(part + closes.strip())
            text = rest.lstrip()
    return " ".join(parts), text


def _title(line: str, width: int) -> str | None:
    """The heading of a block: as wide as that of its section, unless the name is too long for that."""
    block = _BLOCK.fullmatch(line)
    if block is None or not width:
        return None
    fits = len(line) == width or (block[1] == "_" and len(line) > width)
    return block[2] if fits and len(block[3]) - len(block[1]) in (0, 1) else None


def _split(summed: _Summed, keys: set[tuple[bool, str]]) -> tuple[str, str | None]:
    """The name and the message. Both can hold what stands between them: the headings tell which is the name."""
    parts = summed.rest.split(" - ", _MOST_SPLITS)
    suffix = f" {summed.subtest}" if summed.subtest else ""
    ways = [(" - ".join(parts[:at]) + suffix, " - ".join(parts[at:]) or None) for at in range(1, len(parts) + 1)]
    whole = (way for way in ways if (summed.is_error, _key(way[0])) in keys)
    bare = ((way, way[0].removesuffix(suffix)) for way in ways)
    closed = (way for way, node in bare if "[" not in node or node.endswith("]"))
    return next(whole, None) or next(closed, ways[-1])


def _key(node: str) -> str:
    """The part of a name that stands in a heading: ``TestA.test_b[1]`` of ``test_a.py::TestA::test_b[1]``."""
    head, bracket, parameters = node.partition("[")
    path, colons, name = head.partition("::")
    return (name.replace("::", ".") if colons else path) + bracket + parameters


def _of_block(block: _Block, node: str | None, message: str | None, root: str) -> Failing:
    places: list[Place] = []
    said: list[str] = []
    for line in block.lines:
        place = _place(line)
        if line in _CHAINED:
            places, said = [], []
        elif line.startswith("E "):
            said.append(line[1:])
        elif place:
            places.append(place)
    if not said:
        native = traceback_in(block.lines)
        said, places = (native.message, native.places) if native.places else (_unmarked(block.lines), places)
    said, within = _message(said)
    places += within
    own = place_of(places[:1], root)
    test = node or _node(block.key[1], own.rpartition(":")[0] if own else "", root)
    return Failing(test, told(said) or message, place_of(places, root))


def _place(line: str) -> Place | None:
    place = None if _VARIABLE.match(line) else _PLACE.fullmatch(line)
    return (place[1], place[2]) if place else None


def _message(lines: list[str]) -> tuple[list[str], list[Place]]:
    """The error from its first line on. Of one in the syntax the place stands before it, further to the right."""
    indents = [len(line) - len(line.lstrip()) for line in lines]
    least = min(indents, default=0)
    files = [IN_FILE.fullmatch(line.strip()) for line in lines]
    begin = next((at for at, indent in enumerate(indents) if indent == least and not files[at]), 0)
    return lines[begin:], [(file[1], file[2]) for file in files[:begin] if file]


def _unmarked(lines: Sequence[str]) -> list[str]:
    """What stands in a block without a traceback: what a doctest expected and got, or a sentence."""
    begin = next((at for at, line in enumerate(lines) if line.startswith("Expected")), 0)
    end = next((at for at, line in enumerate(lines) if at > begin and not line), len(lines))
    return list(lines[begin:end])


def _node(key: str, path: str, root: str) -> str:
    """The name of a test that no summary names, as far as it can be told from where it failed."""
    head, bracket, parameters = key.partition("[")
    name = head.replace(".", "::") + bracket + parameters
    shown = relative(path, root)
    return f"{shown}::{name}" if shown and shown != relative(key, root) else relative(key, root) or key


def _of_line(node: str, message: str | None, place: "re.Match[str] | None", root: str) -> Failing:
    if place is None:
        return Failing(node, message)
    return Failing(node, place[3], place_of([(place[1], place[2])], root))
