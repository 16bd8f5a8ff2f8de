"""The line behind each observation: where the run stands, for a model that has lost track of it."""

from collections.abc import Callable, Sequence
from typing import Literal

from micro_agent.coding.coaching.work import Done, Work, work_of
from micro_agent.run import Run
from micro_agent.text.attached import own_words
from micro_agent.text.printable import printable

_LONGEST_TASK, _MOST_FILES = 160, 3


def state_line(kind: Literal["compact", "detailed"]) -> Callable[[Run], str]:
    """What makes the line of a run."""
    return _compact if kind == "compact" else _detailed


def _compact(run: Run) -> str:
    """Steps, and the last two tools: ``Steps: 7/25 | ✗ read_file | ✓ rg_search``."""
    work, most = work_of(run), run.limits.get("max_steps")
    steps = f"Steps: {work.taken}/{most:g}" if most else f"Steps: {work.taken}"
    return " | ".join([steps, *_marked(work.tools[-2:])])


def _detailed(run: Run) -> str:
    """Task, steps taken and left, files read, patches proposed and applied, the last three tools."""
    work, most = work_of(run), run.limits.get("max_steps")
    left = f", {max(most - work.taken, 0):g} left" if most else ""
    parts = [f"Task: {_task(run)}", f"Steps: {work.taken} taken{left}", f"Files read: {_files(work)}", _changes(work)]
    last = ", ".join(_marked(work.tools[-3:]))
    return " | ".join([*parts, f"Last: {last}"] if last else parts)


def _task(run: Run) -> str:
    text = " ".join(own_words(run.question).split())
    return text if len(text) <= _LONGEST_TASK else f"{text[: _LONGEST_TASK - 1]}…"


def _files(work: Work) -> str:
    paths = [" ".join(printable(path).split()) for path in work.read]
    more = [f"and {len(paths) - _MOST_FILES} more"] if len(paths) > _MOST_FILES else []
    return ", ".join([*paths[-_MOST_FILES:], *more]) or "none"


def _changes(work: Work) -> str:
    edits = f"; edits: {len(work.edits)}" if work.edits else ""
    return f"Patches: {len(work.proposed)} proposed, {len(work.applied)} applied{edits}"


def _marked(tools: Sequence[Done]) -> list[str]:
    return [f"{'✓' if done.went_well else '✗'} {done.step.tool}" for done in tools]
