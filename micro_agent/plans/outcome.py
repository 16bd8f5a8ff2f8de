"""What the run of a task came to: which files it changed, and whether the tests fail now."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from micro_agent.coding import category_of
from micro_agent.coding.bounds import tail
from micro_agent.run import Run, Step

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


def changed_files(run: Run) -> list[str]:
    """The files that a run has changed, each once."""
    return list(dict.fromkeys(path for step in run.steps for path in _changed(step)))


def failing(run: Run, *, verify: str | None = None, demanded: bool = False) -> Failing | None:
    """What fails at the end of a run, by the last tests that it ran behind its last change; ``None`` where all is well.

    Args:
        run: One that has ended.
        verify: The test command that counts, and has to have passed.
        demanded: Whether tests have to have passed, whichever they are. Else failing tests count behind a change alone.
    """
    changes = [number for number, step in enumerate(run.steps) if _may_have_changed(step)]
    begin = changes[-1] + 1 if changes else 0
    found = [result for step in run.steps[begin:] if (result := _tested(step, verify)) is not None]
    if not found:
        return Failing(verify, ran=False) if verify or demanded else None
    last = found[-1]
    if last["ok"] or not (changes or verify or demanded):
        return None
    listed = last.get("failures")
    tests = cast("list[dict[str, Any]]", listed) if isinstance(listed, list) else []
    output = None if tests else _output(last)
    return Failing(last.get("cmd"), tests[:_MOST], max(0, len(tests) - _MOST), output)


def _tested(step: Step, verify: str | None) -> Mapping[str, Any] | None:
    """The result of a run of tests that counts."""
    result = _result(step)
    if category_of(step.tool) != "verify" or not isinstance(result.get("ok"), bool):
        return None
    return result if verify is None or str(result.get("cmd")).strip() == verify.strip() else None


def _may_have_changed(step: Step) -> bool:
    return bool(list(_changed(step))) or step.error == "INTERRUPTED"


def _changed(step: Step) -> Iterator[str]:
    """The files that a step wrote: those of an applied patch, or that of an edit."""
    result = _result(step)
    if result.get("ok") is not True:
        return
    if category_of(step.tool) == "change" and isinstance(result.get("path"), str):
        yield result["path"]
    yield from (path for path in cast("list[Any]", result.get("files_changed") or []) if isinstance(path, str))


def _result(step: Step) -> Mapping[str, Any]:
    """The whole result of a tool."""
    whole = step.observation if step.result is None else step.result
    return cast("dict[str, Any]", whole) if step.is_tool and isinstance(whole, dict) else {}


def _output(result: Mapping[str, Any]) -> str:
    printed = [str(result.get(name) or "").strip() for name in ("stdout_tail", "stderr_tail")]
    return tail("\n".join(filter(None, printed)), _TAIL)[0]
