"""`micro-agent acp`: an agent for editors that speak the Agent Client Protocol, such as Zed."""

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import typer

from micro_agent.cli.agent_options import AgentOptions, taking
from micro_agent.cli.code_options import CodeOptions
from micro_agent.cli.image import WITH_IMAGES
from micro_agent.cli.options import settings
from micro_agent.cli.repository import Named, repository_of
from micro_agent.cli.spans import seen
from micro_agent.extras import need

if TYPE_CHECKING:
    from collections.abc import Sequence

    from micro_agent import MicroAgent
    from micro_agent.doors.acp.choices import Mode
    from micro_agent.doors.acp.places import Place
    from micro_agent.mcp import Server
    from micro_agent.mcp.tools import McpTools
    from micro_agent.models.settings import Settings
    from micro_agent.running.session import Confirmation
    from micro_agent.tools import Tool

ENVIRONMENT = (
    "Environment: as for ask and code. Relative paths are taken from your home folder, and so is .env: nothing is read "
    "from the folder that is open in the editor but by the tools of code mode."
)


@dataclass(frozen=True, kw_only=True)
class AcpOptions(CodeOptions):
    """What is said on the command line about the agents of an editor."""

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset({"toolset", "repo", "require_green", "state_summary"})

    def check(self) -> None:
        """Tell what is wrong with the limits now, and not with the first question."""
        self._limits()


@taking
def acp(context: typer.Context, *, options: AcpOptions) -> None:
    """Serve an editor (Agent Client Protocol) on standard input and output."""
    need("acp", "acp")
    os.chdir(Path.home())  # what the editor has open decides nothing
    from micro_agent.doors.acp.choices import approvals_named
    from micro_agent.doors.acp.keeping import Keeping
    from micro_agent.doors.acp.serving import serve

    approvals = approvals_named(options.approve.value if options.approve else "ask")
    options.check()
    context.with_resource(seen(options.phoenix))
    found = settings()
    got = serve(FromOptions(options, found), Keeping(found.micro_agent_state_dir / "acp"), approvals=approvals)
    raise typer.Exit(128 + got if got else 0)


@dataclass(frozen=True)
class FromOptions:
    """Makes the agents of sessions from what is said on the command line."""

    options: AcpOptions
    found: "Settings"

    def place(self, cwd: Path) -> "Place":
        """What belongs to a folder: the runs of a repository are beside its state, others in the folder of state."""
        from micro_agent.coding.workplace import root_of
        from micro_agent.doors.acp.places import Place
        from micro_agent.traces import TraceStore

        root = root_of(cwd)
        if (root / ".git").exists():
            repository = repository_of(Named.coding, root, self.options.sandbox)
            assert repository is not None, "the toolset names one"
            return Place(cwd, repository.root, repository.store(self.found, self.options.traces_dir))
        named = self.found.traces_dir if "traces_dir" in self.found.model_fields_set else None
        state = self.found.micro_agent_state_dir
        return Place(cwd, None, TraceStore(self.options.traces_dir or named or state / "traces", state_dir=state))

    def servers(self, place: "Place", sent: "Sequence[Server]") -> "McpTools":
        """The tools of the servers that an editor has sent, and of those that ``--mcp`` names."""
        from micro_agent.cli.mcp_servers import connected_with

        return connected_with(sent, settings(mcp=self.options.mcp), place.root)

    def agent(
        self, place: "Place", mode: "Mode", *, images: bool, confirm: "Confirmation",
        connected: "Sequence[Tool] | None",
    ) -> "MicroAgent":  # fmt: skip
        """The agent of `code` in a repository, or that of `chat`."""
        signature = WITH_IMAGES if images else None
        if mode == "code":
            there = replace(self.options, repo=place.root)
            return there.coached(chats=True, signature=signature, confirm=confirm, connected=connected).agent
        said = {one.name: getattr(self.options, one.name) for one in fields(AgentOptions)}
        made = AgentOptions(**said).made(
            signature=signature, confirm=confirm, store=place.store, connected=connected
        )  # fmt: skip
        return made.agent

    def takes_images(self) -> bool:
        """Whether the model may be sent images, as its server says."""
        from micro_agent import configure_lm
        from micro_agent.errors import MicroAgentError
        from micro_agent.models.context_length import told_by

        try:
            options = self.options
            lm = configure_lm(
                options.provider, options.model, options.base_url, settings=self.found, fallback=options.fallback
            )  # fmt: skip
            told = told_by(lm)
        except MicroAgentError:  # the first turn says what is wrong
            return False
        return told.vision or (told.vision is None and told.silent is None)
