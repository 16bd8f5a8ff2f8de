"""The repository that a command is about: which it is, and that nothing in it decides anything."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from micro_agent.cli.options import Again, option, settings, store_of

if TYPE_CHECKING:
    from micro_agent.coding.workplace import Wanted
    from micro_agent.models.settings import Settings
    from micro_agent.tools import Tool
    from micro_agent.traces import TraceStore


class Named(StrEnum):
    """The toolsets that have a name."""

    coding = "coding"


class Held(StrEnum):
    """What holds the commands that a model runs."""

    auto = "auto"
    bwrap = "bwrap"
    container = "container"
    landlock = "landlock"
    clone = "clone"


Toolset = Annotated[
    Named | None, option("--toolset", metavar="NAME", env="MICRO_AGENT_TOOLSET", help="coding: tools for a repository.")
]
Repo = Annotated[
    Path | None, option("--repo", metavar="DIR", env="MICRO_AGENT_REPO", help="The repository [.] of that toolset.")
]
SandboxKind = Annotated[
    Held | None,
    option("--sandbox", metavar="KIND", env="MICRO_AGENT_SANDBOX",
           help="auto, bwrap, container, landlock or clone."),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Repository:
    """One that a model works in."""

    root: Path
    sandbox: "Wanted" = "auto"

    @property
    def again(self) -> Again:
        """What to type so that a command is about this one."""
        import shlex

        return Again(f" --repo {shlex.quote(str(self.root))}", f" --sandbox {self.sandbox}" * (self.sandbox != "auto"))

    def system(self, tools: "Sequence[Tool]") -> str:
        """What a model with these tools is told of its work in it."""
        from micro_agent.coding.prompts import prompt_for

        return prompt_for("minimal", tools, "edit")

    def env_file(self) -> str | None:
        """The file of settings in the working directory, unless it is of the repository."""
        from micro_agent.files.outside import is_inside

        return None if is_inside(self.root, Path(".env")) else ".env"

    def store(self, found: "Settings", traces_dir: Path | None) -> "TraceStore":
        """Its runs on record."""
        from micro_agent.coding import workplace

        named = found.traces_dir if "traces_dir" in found.model_fields_set else None
        return workplace.store_of(self.root, state_dir=found.micro_agent_state_dir, traces_dir=traces_dir or named)

    def tools(
        self, found: "Settings", store: "TraceStore", coach: Mapping[str, Any] | None = None
    ) -> "dict[str, Tool]":
        """The coding toolset for it, and what the user names or has installed. Raises what these raise.

        ``coach`` as it stands in ``Run.coach``: the tools are those of a run that was coached so.
        """
        from micro_agent.coding.coach import CoachSettings, settings_of
        from micro_agent.coding.toolset import coding_toolset
        from micro_agent.files.jsonl import private_folder
        from micro_agent.files.outside import is_inside, refuse_inside
        from micro_agent.tools import load_tools
        from micro_agent.tools.loading import importable, is_path

        for name in filter(is_path, found.tools_modules):
            refuse_inside(self.root, Path(name).expanduser(), "a file of tools (--tools, TOOLS_MODULES)")
        if found.tools_modules and not is_inside(self.root, Path()):
            importable(Path.cwd())
        private_folder(store.directory)  # what is not there cannot be closed to what runs
        helps = settings_of(coach) if coach else CoachSettings()
        tools = coding_toolset(
            self.root, sandbox=self.sandbox, state_dir=found.micro_agent_state_dir, masked=[store.directory],
            edits=helps.edits, hints=helps.hints,
        )  # fmt: skip
        return load_tools(modules=found.tools_modules, builtin=tools)


def runs_of(repo: Path | None, traces_dir: Path | None) -> "TraceStore":
    """The runs on record, those of a repository where one is named."""
    repository = repository_of(None, repo)
    return store_of(settings(repository=repository), traces_dir, repository)


def repository_of(toolset: Named | None, repo: Path | None, sandbox: Held | None = None) -> Repository | None:
    """The repository that is named; with a toolset alone, that of the working directory. Its code is shut out from now.

    Raises:
        ConfigurationError: There is no such folder, or a sandbox was typed for no repository.
    """
    from micro_agent.coding.workplace import root_of
    from micro_agent.errors import ConfigurationError
    from micro_agent.models.announcing import once
    from micro_agent.tools.loading import shut_out

    if toolset is None and repo is None:
        if sandbox is not None and sandbox != os.environ.get("MICRO_AGENT_SANDBOX"):
            raise ConfigurationError("--sandbox goes with --repo DIR, whose commands it holds")
        return None
    found = Repository(root_of(repo or Path()), sandbox.value if sandbox else "auto")
    if Path(".env").exists() and found.env_file() is None:
        once(".env is not read: it is inside the repository, where the model can write")
    if left := shut_out(found.root):
        told = "the program imports from the repository, where the model can write"
        once(f"{told}: {', '.join(left)}; install micro-agent elsewhere, for example with pipx")
    return found
