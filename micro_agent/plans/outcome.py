"""What the run of a task came to: whether tests fail now."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from micro_agent.coding.bounds import tail
from micro_agent.coding.coaching.work import Done, work_of
from micro_agent.run import Run

_MOST = 20
"""Failing tests that are kept."""
_TAIL = 1_500
"""Characters of the output that are kept where no test could be told from it."""


@dataclass(frozen=True, slots=True)
class Failing:
    """Tests that fail. ``tests`` are ``{"test", "assertion", "place"}`` each; ``ran``: whether they were run at all."""

    cmd: str | None
    tests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    more: int = 0
    output: str | None = None
    ran: bool = True


def failing(run: Run, *, verify: str | None = None, demanded: bool = False) -> Failing | None:
    """What fails at the end of a run, by the last tests that it ran behind its last change; ``None`` where all is well.

    Args:
        run: One that has ended.
        verify: The test command that counts, and has to have passed.
        demanded: Whether tests have to have passed, whichever they are. Else failing tests count behind a change alone.
    """
    work = work_of(run)
    # A call that was interrupted may have changed something all the same.
    changes = [done.number for done in work.tools if done.step.error == "INTERRUPTED"]
    changes += [work.last_change.number] if work.last_change else []
    tested = [done for done in work.tools if done.number > max(changes, default=0) and _counts(done, verify)]
    if verify or demanded:
        if not tested:
            return Failing(verify, ran=False)
        return None if tested[-1].is_green else _failing(tested[-1].result)
    return _failing(tested[-1].result) if changes and tested and tested[-1].fails else None


def _counts(done: Done, verify: str | None) -> bool:
    """Whether it says that tests passed, or that they did not."""
    if done.category != "verify" or "ok" not in done.result:
        return False
    return verify is None or str(done.result.get("cmd")).strip() == verify.strip()


def _failing(result: Mapping[str, Any]) -> Failing:
    listed = result.get("failures")
    tests = cast("list[dict[str, Any]]", listed) if isinstance(listed, list) else []
    return Failing(result.get("cmd"), tests[:_MOST], max(0, len(tests) - _MOST), None if tests else _output(result))


def _output(result: Mapping[str, Any]) -> str:
    printed = [str(result.get(name) or "").strip() for name in ("stdout_tail", "stderr_tail")]
    return tail("\n".join(filter(None, printed)), _TAIL)[0]
