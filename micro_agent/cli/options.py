"""What several commands share: options with their environment variables, the settings, the runs on record."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from micro_agent.cli.messages import log_from

if TYPE_CHECKING:
    from micro_agent.models.settings import Settings
    from micro_agent.tools import Tool
    from micro_agent.traces import TraceStore


class Approve(StrEnum):
    """What happens when a tool asks for confirmation."""

    ask = "ask"
    pause = "pause"
    never = "never"
    all = "all"


def option(*names: str, env: str, help: str, metavar: str | None = None, min: int | None = None) -> Any:
    """An option with its environment variable, which `ask --help` names once for all at its foot, not line by line."""
    return typer.Option(*names, envvar=env, help=help, metavar=metavar, min=min, show_envvar=False)


TracesDir = Annotated[Path | None, option(metavar="DIR", env="TRACES_DIR", help="Where runs are written [traces].")]
Json = Annotated[bool, option("--json", env="MICRO_AGENT_JSON", help="Print JSON, for programs.")]
Confirmations = Annotated[
    Approve | None,
    option(metavar="HOW", env="MICRO_AGENT_APPROVE", help="ask, pause, never or all [on a terminal ask, else pause]."),
]
BaseUrl = Annotated[str | None, option(metavar="U", env="MICRO_AGENT_BASE_URL", help="The server, if not the usual.")]


def settings() -> "Settings":
    """The settings of the environment and of ``.env`` in the working directory; their log level counts from now on.

    Raises:
        ConfigurationError: One of them holds what it must not.
    """
    from micro_agent.models.settings import load_settings

    found = load_settings(env_file=".env")
    log_from(found.micro_agent_log)
    return found


def store_of(found: "Settings", traces_dir: Path | None) -> "TraceStore":
    """The runs on record, in the folder that an option names or in that of the settings."""
    from micro_agent.traces import TraceStore

    return TraceStore(traces_dir or found.traces_dir, state_dir=found.micro_agent_state_dir)


def tools_of(found: "Settings") -> "dict[str, Tool]":
    """The tools by name, with those of the modules that the settings name."""
    from micro_agent.tools import load_tools

    return load_tools(modules=",".join(found.tools_modules))
