"""Where a session is: its folder, the repository around it, its runs on record; and who makes its agents."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from micro_agent.agent import MicroAgent
from micro_agent.doors.acp.choices import Mode
from micro_agent.mcp import Server
from micro_agent.running.session import Confirmation
from micro_agent.tools import Tool
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from micro_agent.mcp.tools import McpTools


@dataclass(frozen=True, slots=True)
class Place:
    """What belongs to the folder of a session; ``root`` is the top of the git repository that it is in, if it is."""

    cwd: Path
    root: Path | None
    store: TraceStore


class Making(Protocol):
    """Makes what a session needs. All of it may take its time, and is called in threads."""

    def place(self, cwd: Path) -> Place:
        """What belongs to a folder. Raises `ConfigurationError`."""
        ...

    def servers(self, place: Place, sent: Sequence[Server]) -> "McpTools":
        """The tools of MCP servers there, and of the user's own ones; connects to them. Raises `ConfigurationError`."""
        ...

    def agent(
        self, place: Place, mode: Mode, *, images: bool, confirm: Confirmation, connected: Sequence[Tool] | None
    ) -> MicroAgent:
        """An agent there, which is asked about ``images`` or not. Raises what its parts raise.

        ``connected`` are the tools of all MCP servers; ``None``: the user's own servers alone.
        """
        ...

    def takes_images(self) -> bool:
        """Whether the model may be sent images: nobody has said that it takes none."""
        ...
