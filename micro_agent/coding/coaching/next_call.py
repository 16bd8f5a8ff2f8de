"""The tool that comes next, with arguments where the run knows them, in the form of the run's mode."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from micro_agent.coding import CATEGORIES, Category
from micro_agent.coding.coaching.work import Work
from micro_agent.run import Run
from micro_agent.text.attached import own_words
from micro_agent.text.encoding import as_json
from micro_agent.text.printable import printable

_LONGEST_TASK, _LONGEST_WORD = 4_000, 60
_TOKEN = re.compile(r"\w[\w./:\\-]*\w|\w")
_PART = re.compile(r"\w+")
_CAMEL = re.compile(r"[a-z\d][A-Z]|[A-Z]{2,}[a-z]")
_AROUND = 10
"""Lines before and after a place."""
_LEAST = 3
"""Letters of a word that is worth a search."""


@dataclass(frozen=True, slots=True)
class NextCall:
    """A tool, its arguments if they are known, and else the file that it is for."""

    tool: str
    args: Mapping[str, Any] | None = None
    path: str | None = None

    def told(self, mode: str | None) -> str:
        """The call in words, or the reply that makes it in JSON mode."""
        if self.args is None or (not self.args and mode != "json"):
            return f"Call {self.tool} next{f', for {printable(self.path)}' if self.path else ''}."
        args = as_json(self.args)
        if mode == "json":
            return f'Reply with {{"tool": {{"name": "{self.tool}", "args": {args}}}}}'
        return f"Call {self.tool} next with {args}."


def next_call(run: Run, work: Work, category: Category, tools: Collection[str] | None = None) -> NextCall | None:
    """The next call of this kind of work, by the first of its tools; ``None`` where none is among ``tools``."""
    names = [name for name in CATEGORIES[category] if tools is None or name in tools]
    if not names:
        return None
    if category == "change":
        return NextCall(names[0], path=next(reversed(work.read), None))
    return NextCall(names[0], _arguments(run, work, category))


def reading(place: str) -> NextCall:
    """The call that reads around a place, ``file:line``."""
    path, _, line = place.rpartition(":")
    if not path or not line.isdecimal():
        return NextCall(CATEGORIES["read"][0], {"path": place})
    first = max(1, int(line) - _AROUND)
    return NextCall(CATEGORIES["read"][0], {"path": path, "start_line": first, "end_line": int(line) + _AROUND})


def _arguments(run: Run, work: Work, category: Category) -> dict[str, Any] | None:
    if category == "search":
        word = word_to_search(run.question)
        return {"pattern": word} if word else None
    if category == "read":
        path = next((path for path in _found(work) if path not in work.read), None)
        return {"path": path} if path else None
    if category == "apply":
        return {"patch_id": next(iter(work.waiting))}
    command = work.tests.step.args.get("test_cmd") if work.tests else None
    return {"test_cmd": command} if command else {}


def _found(work: Work) -> Iterator[str]:
    """The files that the last search or list named."""
    if work.found is None:
        return
    result = work.found.result
    named = result.get("matches") or result.get("files")
    for match in cast("list[Any]", named) if isinstance(named, list) else ():
        path = cast("dict[str, Any]", match).get("path") if isinstance(match, dict) else match
        if isinstance(path, str):
            yield path


def word_to_search(task: str) -> str | None:
    """The word of a task that most looks like the name of something in code; without such, its longest.

    What tells a name from a word is its form alone, in any language: an underscore or a capital inside it, code marks
    around it, a call, a path, digits. Longer words are rarer, so they find less that is something else.
    """
    task = own_words(task)[:_LONGEST_TASK]
    best: tuple[int, int] = (0, 0)
    word = None
    for found in _TOKEN.finditer(task):
        part = max(_PART.findall(found[0]), key=len)
        if not _LEAST <= len(part) <= _LONGEST_WORD or part.isdigit():
            continue
        rank = (_looks_like_code(task, found, part), len(part))
        if rank > best:
            best, word = rank, part
    return word


def _looks_like_code(task: str, found: re.Match[str], part: str) -> int:
    """How many signs of a name in code a word has."""
    before, behind = task[max(found.start() - 1, 0) : found.start()], task[found.end() : found.end() + 1]
    signs = (
        2 * ("_" in part.strip("_")), 2 * bool(_CAMEL.search(part)), 2 * (behind == "("), 2 * (before == behind == "`"),
        before == behind and before in ('"', "'") and bool(before), "." in found[0] or "/" in found[0],
        any(sign.isdigit() for sign in part),
    )  # fmt: skip
    return sum(map(int, signs))
