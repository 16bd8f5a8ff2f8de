"""What a run did in its repository, read from its steps: changed files, patches, commands."""

from dataclasses import dataclass, field
from typing import Any, cast

from micro_agent.coding import category_of
from micro_agent.run import Run, Step
from micro_agent.run.questions import about


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did.

    Attributes:
        changed: The files that were edited or patched, in the order of their first change.
        patches: What became of each patch: ``waiting``, ``rejected``, ``approved`` or ``applied``.
        commands: The commands and tests, with their exit status; an error code where one did not end by itself or
            never ran.
    """

    changed: list[str] = field(default_factory=list[str])
    patches: dict[str, str] = field(default_factory=dict[str, str])
    commands: list[tuple[str, int | str | None]] = field(default_factory=list[tuple[str, int | str | None]])


def summary_of(run: Run) -> Summary:
    """What a run did until now."""
    found = Summary()
    for step in filter(_is_ours, run.steps):
        _add(found, step)
    kind, waiting = about(run.confirmation or {})
    if kind == "patch" and waiting is not None:
        found.patches[waiting] = "waiting"
    return found


def _is_ours(step: Step) -> bool:
    return step.is_tool and category_of(step.tool) is not None


def _add(found: Summary, step: Step) -> None:
    whole, kind = step.observation if step.result is None else step.result, category_of(step.tool)
    result = cast("dict[str, Any]", whole) if isinstance(whole, dict) else {}
    if kind == "verify":
        said = result.get("cmd") or step.args.get("cmd") or step.args.get("test_cmd") or ""
        found.commands.append((str(said), step.error or result.get("exit")))
    files = _files(result) if step.ok else []
    found.changed.extend(path for path in files if path not in found.changed)
    if isinstance(patch := result.get("patch_id"), str) and (files or kind == "change"):
        found.patches[patch] = "applied" if files else "approved" if result.get("approved") else "rejected"


def _files(result: dict[str, Any]) -> list[str]:
    """The files that a step wrote: those of a proposal are not yet."""
    listed: Any = result.get("files_changed")
    one = [result["path"]] if result.get("ok") and "path" in result else []
    return list(map(str, cast("list[Any]", listed if isinstance(listed, list) else one)))
