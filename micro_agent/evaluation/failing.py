"""The tasks of an eval that failed, for whoever has watched it: what failed in each, and how to see one."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from micro_agent.evaluation.result import Header, Result
from micro_agent.text.printable import printable

_NAMED = 10
_WIDTH = 100


@dataclass(slots=True)
class _Failing:
    """A task that failed in ``failed`` of its ``trials``: ``what`` failed first, and the trace of that run."""

    trials: int = 0
    failed: int = 0
    what: str = ""
    trace: str | None = None


def failing_lines(header: Header, results: Iterable[Result]) -> Iterator[str]:
    """How many tasks failed, the first of them, and the command that shows one; no line when none did."""
    tasks = {name: _Failing() for name in header.tasks}
    for result in results:
        task = tasks.setdefault(result.task.id, _Failing())
        task.trials += 1
        if not result.success:
            if not task.failed:
                task.what, task.trace = _what(result), result.trace
            task.failed += 1
    asked = sum(task.trials > 0 for task in tasks.values())
    failed = {name: task for name, task in tasks.items() if task.failed}
    if not failed:
        return
    yield f"failed: {len(failed)} of {asked} task{'' if asked == 1 else 's'}"
    named = dict(list(failed.items())[:_NAMED])
    width = max(map(len, named))
    for name, task in named.items():
        epochs = f"in {task.failed} of {task.trials} epochs, " if task.trials > 1 else ""
        yield _cut(f"  {name:<{width}}  {epochs}{' '.join(task.what.split())}")
    if len(failed) > len(named):
        yield f"  … and {len(failed) - len(named)} more"
    traces = [task.trace for task in named.values() if task.trace is not None]
    if traces:
        yield f"show the first: micro-agent replay --path {shlex.quote(traces[0])}"


def _what(result: Result) -> str:
    run = result.run
    if run.status != "completed":
        message = (run.error or {}).get("message")
        return f"{run.termination_reason or run.status}{f': {message}' if message else ''}"
    return "; ".join(f"{check.name}: {check.detail}" for check in result.checks if not check.passed)


def _cut(text: str) -> str:
    line = printable(text)
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
