"""The coding toolset: the tools of all its modules for one repository, in the order in which they are declared."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

from micro_agent.coding import CATEGORIES, editing, files, git, github, running, search
from micro_agent.coding.patches import tools as patches
from micro_agent.coding.workplace import Wanted, Workplace, open_workplace, store_of
from micro_agent.tools import Tool

__all__ = ["coding_toolset", "store_of", "system_prompt", "tools_of"]

_MODULES: tuple[Callable[[Workplace], list[Tool]], ...] = (
    files.tools, search.tools, editing.tools, patches.tools, git.tools, github.tools, running.tools,
)  # fmt: skip
"""What makes the tools of each module."""


def coding_toolset(
    repo: str | Path, *, sandbox: Wanted = "auto", state_dir: Path | None = None, masked: Sequence[Path] = ()
) -> dict[str, Tool]:
    """The tools that let a model work in a repository, by name: for ``MicroAgent(tools=…)``.

    An agent with them takes no demos from the repository, and writes no traces there: `store_of` has a place for them,
    where the command line finds them with ``--repo``.

    Args:
        repo: A folder in the repository.
        sandbox: What commands run in: ``bwrap``, ``container``, ``landlock``, ``clone`` (which holds nothing), or
            ``auto``: the strongest that holds what it promises on this machine.
        state_dir: The folder of all state; default ``MICRO_AGENT_STATE_DIR``.
        masked: Files and folders that are closed to commands, beside the state and credentials.

    Raises:
        ConfigurationError: There is no such repository, its state would be inside it, or the sandbox that was named
            does not hold what it promises here.
    """
    return tools_of(open_workplace(repo, state_dir=state_dir, sandbox=sandbox, masked=masked))


def tools_of(place: Workplace) -> dict[str, Tool]:
    """The tools of a workplace, by name."""
    made = {tool.name: replace(tool, repository=place.root) for module in _MODULES for tool in module(place)}
    return {name: made[name] for names in CATEGORIES.values() for name in names if name in made}


def system_prompt() -> str:
    """What a model with these tools is told of its work, unless somebody says otherwise."""
    return resources.files("micro_agent.coding").joinpath("system.md").read_text(encoding="utf-8").strip()
