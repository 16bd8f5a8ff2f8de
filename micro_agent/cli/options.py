"""What several commands share: options with their environment variables, the settings, the runs on record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from micro_agent.cli.messages import log_from

if TYPE_CHECKING:
    from micro_agent.cli.repository import Repository
    from micro_agent.models.identity import Wanted
    from micro_agent.models.settings import Settings
    from micro_agent.rules import Rule
    from micro_agent.tools import Tool
    from micro_agent.traces import TraceStore


@dataclass(frozen=True, slots=True)
class Again:
    """What to type behind a command about the same run: ``where`` it is found, and with which ``tools`` it goes on."""

    where: str = ""
    tools: str = ""

    def __str__(self) -> str:
        return self.where + self.tools


class Mode(StrEnum):
    """How the model is asked for decisions."""

    auto = "auto"
    native = "native"
    json = "json"


class Finish(StrEnum):
    """What becomes of a reply in prose."""

    auto = "auto"
    call = "call"
    ask = "ask"
    text = "text"


class Approve(StrEnum):
    """What happens when a tool asks for confirmation."""

    ask = "ask"
    pause = "pause"
    never = "never"
    all = "all"


def option(
    *names: str, env: str, help: str, metavar: str | None = None, min: int | None = None, max: int | None = None,
    callback: Any = None,
) -> Any:  # fmt: skip
    """An option with its environment variable, which `ask --help` names once for all at its foot, not line by line."""
    return typer.Option(
        *names, envvar=env, help=help, metavar=metavar, min=min, max=max, show_envvar=False, callback=callback
    )  # fmt: skip


def is_typed(context: typer.Context, name: str) -> bool:
    """Whether an option was typed, and is not of the environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _typed(context: typer.Context, parameter: typer.CallbackParam, value: Any) -> Any:
    """What was typed, else ``None``: the variable is read with the other settings, as it may stand in ``.env`` too."""
    return value if is_typed(context, parameter.name or "") else None


TracesDir = Annotated[
    Path | None, option(metavar="DIR", env="TRACES_DIR", help="Folder of traces [traces; --repo: state].")
]
Json = Annotated[bool, option("--json", env="MICRO_AGENT_JSON", help="Print JSON.")]
Confirmations = Annotated[
    Approve | None,
    option(metavar="HOW", env="MICRO_AGENT_APPROVE", help="ask [terminal], pause [else], never or all."),
]
Provider = Annotated[str | None, option(metavar="P", env="LLM_PROVIDER", help="ollama, openai, litellm, tiny or mock.")]
Model = Annotated[str | None, option(metavar="M", env="MICRO_AGENT_MODEL", help="Model name.")]
BaseUrl = Annotated[str | None, option(metavar="U", env="MICRO_AGENT_BASE_URL", help="URL of the server.")]
BaseUrls = Annotated[
    list[str] | None,
    option("--base-url", metavar="U", env="MICRO_AGENT_BASE_URL", help="URL of a server; repeatable."),
]  # fmt: skip

Tools = Annotated[
    list[str] | None,
    option("--tools", metavar="FILE.py|MODULE", env="TOOLS_MODULES", help="Load tools from it; repeatable.",
           callback=_typed),
]  # fmt: skip
Mcp = Annotated[
    list[str] | None,
    option("--mcp", metavar="FILE", env="MICRO_AGENT_MCP", help="Tools of the MCP servers in it; repeatable.",
           callback=_typed),
]  # fmt: skip
NoBuiltinTools = Annotated[
    bool, option("--no-builtin-tools", env="MICRO_AGENT_NO_BUILTIN_TOOLS", help="Leave out calculator and now.")
]
NoRequiredTools = Annotated[
    bool, option("--no-required-tools", env="MICRO_AGENT_NO_REQUIRED_TOOLS", help="Accept answers that skip these two.")
]

FinishBy = Annotated[
    Finish | None,
    option("--finish", metavar="HOW", env="MICRO_AGENT_FINISH", callback=_typed,
           help="auto, call, ask (if prose is final) or text."),
]  # fmt: skip
System = Annotated[
    str | None, option(metavar="TEXT", env="MICRO_AGENT_SYSTEM", help="Task or persona for the system prompt.")
]
MaxTokens = Annotated[
    int | None, option(metavar="N", env="MAX_TOKENS", help="Token limit of each reply [1024].", min=1, callback=_typed)
]
Samples = Annotated[
    int | None,
    option("--samples", metavar="K", env="SAMPLES", help="Take the best of K replies [1].", min=1,
           max=20, callback=_typed),
]  # fmt: skip
Think = Annotated[
    bool | None,
    option("--think/--no-think", env="OLLAMA_THINK", help="Turn thinking on or off (Ollama).", callback=_typed),
]

AskedMode = Annotated[Mode, option(metavar="MODE", env="MICRO_AGENT_MODE", help="auto, native or json.")]
UseToolCalls = Annotated[
    bool | None,
    option("--use-tool-calls/--no-use-tool-calls", env="USE_TOOL_CALLS", help="The same as --mode native or json."),
]
Demos = Annotated[
    Path | None, option(metavar="FILE", env="MICRO_AGENT_DEMOS", help="Demos to show, of whatever model and mode.")
]
Fallback = Annotated[
    bool | None, option("--fallback/--no-fallback", env="LLM_FALLBACK", help="Whether another provider may stand in.")
]
MaxSteps = Annotated[int, option(metavar="N", env="MICRO_AGENT_MAX_STEPS", help="Step limit.")]
MaxTime = Annotated[float | None, option(metavar="S", env="MICRO_AGENT_MAX_TIME", help="Time limit, in seconds.")]
MaxCost = Annotated[float | None, option(metavar="USD", env="MICRO_AGENT_MAX_COST", help="Cost limit, in US dollars.")]
MaxBytes = Annotated[
    int, option(metavar="N", env="MICRO_AGENT_MAX_BYTES", help="Size limit of replies and results, in bytes.")
]


def mode_for(found: "Settings", mode: Mode, use_tool_calls: bool | None) -> "Wanted":
    """The mode that is asked for: ``--mode`` if it says one, else what the option or setting on tool calls says."""
    native = found.use_tool_calls if use_tool_calls is None else use_tool_calls
    if native is None or mode is not Mode.auto:
        return mode.value
    return "native" if native else "json"


TINY_TOOLS = "micro_agent.models.tiny.toolset"
"""The tools that the tiny model was taught, as ``--tools`` takes them."""


def settings(
    *, tools: list[str] | None = None, no_builtin_tools: bool = False, no_required_tools: bool = False,
    max_tokens: int | None = None, think: bool | None = None, finish: Finish | None = None, provider: str | None = None,
    samples: int | None = None, repository: "Repository | None" = None, mcp: list[str] | None = None,
) -> "Settings":  # fmt: skip
    """The settings of the environment and of ``.env`` in the working directory; their log level counts from now on.

    Options that are given go before them. Where the tiny model is asked and no tools are named, they are its own. In a
    repository that a model works in, no ``.env`` is read, and there are no built-in tools.

    Raises:
        ConfigurationError: One of them holds what it must not.
    """
    from micro_agent.models.settings import load_settings

    found = load_settings(env_file=repository.env_file() if repository else ".env")
    log_from(found.micro_agent_log)
    asked = (provider or found.llm_provider or "").strip().lower()
    own = (TINY_TOOLS,) if asked == "tiny" and not found.tools_modules and repository is None else None
    given = {
        "tools_modules": tuple(tools or ()) or own, "micro_agent_mcp": tuple(mcp or ()) or None,
        "max_tokens": max_tokens, "ollama_think": think,
        "micro_agent_no_builtin_tools": no_builtin_tools or repository is not None or None,
        "micro_agent_no_required_tools": no_required_tools or repository is not None or None,
        "micro_agent_finish": finish and finish.value, "samples": samples,
    }  # fmt: skip
    return found.having(**{name: value for name, value in given.items() if value is not None})


def store_of(found: "Settings", traces_dir: Path | None, repository: "Repository | None" = None) -> "TraceStore":
    """The runs on record, in the folder that an option names or in that of the settings; those of a repository alone.

    Raises:
        ConfigurationError: The folder is inside the repository.
    """
    from micro_agent.traces import TraceStore

    if repository is not None:
        return repository.store(found, traces_dir)
    return TraceStore(traces_dir or found.traces_dir, state_dir=found.micro_agent_state_dir)


def measured_model(found: "Settings", provider: str | None, model: str | None, base_url: Sequence[str] | None) -> Any:
    """The model that figures are to be of: the named one, whatever ``LLM_FALLBACK`` says; else that of `ask`, now.

    Raises:
        ConfigurationError: It cannot be used.
    """
    from micro_agent.models import configure_lm

    strict = found.model_copy(update={"llm_fallback": False if found.llm_fallback is False else None})
    return configure_lm(provider, model, base_url, settings=strict)


def check_think(think: bool | None, lm: Any) -> None:
    """Refuse ``--think`` where it would have no effect.

    Raises:
        ConfigurationError: It was typed, and another than Ollama is asked.
    """
    from micro_agent.errors import ConfigurationError
    from micro_agent.models.identity import provider_of

    if think is not None and (provider := provider_of(lm)) != "ollama":
        raise ConfigurationError(f"--think and --no-think go with Ollama; the provider is {provider}")


def tools_of(
    found: "Settings", repository: "Repository | None" = None, store: "TraceStore | None" = None,
    coach: "Mapping[str, Any] | None" = None, connected: "Sequence[Tool] | None" = None,
) -> "dict[str, Tool]":  # fmt: skip
    """The tools by name: built in, of the files, modules and MCP servers that the settings name, of plugins.

    Those for a repository stand in the place of the built-in ones; its runs are in the ``store``. ``coach`` is that of
    a run (``Run.coach``), which says how the model changes files there; ``connected`` stand for those of MCP servers.

    Raises:
        ToolDefinitionError: One that is named cannot be loaded.
    """
    from micro_agent.cli.mcp_servers import with_servers
    from micro_agent.models.announcing import once
    from micro_agent.tools import load_tools
    from micro_agent.tools.loading import importable

    if file := found.file_of("tools_modules"):
        once(f"TOOLS_MODULES in {file} names code that is loaded: {', '.join(found.tools_modules)}")
    if repository is not None:
        own = repository.tools(found, store or repository.store(found, None), coach)
        return with_servers(own, found, repository.root, connected)
    if found.tools_modules:
        importable(Path.cwd())
    own = load_tools(modules=found.tools_modules, builtin=not found.micro_agent_no_builtin_tools)
    return with_servers(own, found, None, connected)


def again_with(
    repository: "Repository | None", tools: list[str] | None, *, no_builtin_tools: bool, no_required_tools: bool,
    mcp: list[str] | None = None,
) -> Again:  # fmt: skip
    """What to type behind a command so that it is about the same run, and has the same tools as this one."""
    import shlex

    named = [f" --tools {shlex.quote(name)}" for name in tools or ()]
    named += [f" --mcp {shlex.quote(name)}" for name in mcp or ()]
    flags = [" --no-builtin-tools" * no_builtin_tools, " --no-required-tools" * no_required_tools]
    said = repository.again if repository else Again()
    return Again(said.where, said.tools + "".join(named + flags))


def rules_of(found: "Settings") -> "list[Rule] | None":
    """The rules of an agent: the default ones, unless the settings leave that on required tools out."""
    if not found.micro_agent_no_required_tools:
        return None
    from micro_agent.rules import default_rules, required_tools

    return [rule for rule in default_rules() if rule is not required_tools.check]
