"""The coding toolset: the tools of all its modules for one repository, in the order in which they are declared."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

from micro_agent.coding import CATEGORIES, CHANGING, EditFormat, editing, files, git, github, running, search
from micro_agent.coding.mending import mending
from micro_agent.coding.patches import tools as patches
from micro_agent.coding.workplace import Wanted, Workplace, open_workplace, store_of
from micro_agent.tools import Tool
from micro_agent.tools.error import ToolError

__all__ = ["coding_toolset", "store_of"]

_MODULES: tuple[Callable[[Workplace], list[Tool]], ...] = (
    files.tools, search.tools, editing.tools, patches.tools, git.tools, github.tools, running.tools,
)  # fmt: skip
"""What makes the tools of each module."""


def coding_toolset(
    repo: str | Path, *, sandbox: Wanted = "auto", state_dir: Path | None = None, masked: Sequence[Path] = (),
    edits: EditFormat = "edit", hints: bool = True,
) -> dict[str, Tool]:  # fmt: skip
    """The tools that let a model work in a repository, by name: for ``MicroAgent(tools=…)``.

    An agent with them takes no demos from the repository, and writes no traces there: `store_of` has a place for them,
    where the command line finds them with ``--repo``.

    Args:
        repo: A folder in the repository.
        sandbox: What commands run in: ``bwrap``, ``container``, ``landlock``, ``clone`` (which holds nothing), or
            ``auto``: the strongest that holds what it promises on this machine.
        state_dir: The folder of all state; default ``MICRO_AGENT_STATE_DIR``.
        masked: Files and folders that are closed to commands, beside the state and credentials.
        edits: How the model changes files: ``edit`` offers ``edit_file`` and ``propose_patch``, ``patch`` the latter
            alone, ``udiff`` ``propose_patch_unified``; with ``tagged``, ``edit_file`` names lines by the tags with
            which ``read_file`` shows them.
        hints: Whether errors say which call comes next (``recovery_suggestion``).

    Raises:
        ConfigurationError: There is no such repository, its state would be inside it, or the sandbox that was named
            does not hold what it promises here.
    """
    place = open_workplace(repo, state_dir=state_dir, sandbox=sandbox, masked=masked)
    return _tools_of(replace(place, edits=edits), hints=hints)


def _tools_of(place: Workplace, *, hints: bool) -> dict[str, Tool]:
    made = {tool.name: replace(tool, repository=place.root) for module in _MODULES for tool in module(place)}
    left_out = set(CATEGORIES["change"]) - set(CHANGING[place.edits])
    offered = [name for names in CATEGORIES.values() for name in names if name not in left_out]
    return {name: mending(place, made[name]) if hints else _without_hints(made[name]) for name in offered}


def _without_hints(tool: Tool) -> Tool:
    preview = tool.preview and _silent(tool.preview)
    return replace(tool, handler=_silent(tool.handler), preview=preview)


def _silent(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose errors do not say which call comes next."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ToolError as error:
            error.recovery = None
            raise

    return called
