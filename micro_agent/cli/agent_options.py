"""The options that make an agent, for the commands that ask one."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

from micro_agent.cli.coached import as_coached
from micro_agent.cli.options import (
    TINY_TOOLS,
    Again,
    AskedMode,
    BaseUrl,
    Confirmations,
    Demos,
    Fallback,
    FinishBy,
    MaxBytes,
    MaxCost,
    MaxTime,
    MaxTokens,
    Mcp,
    Mode,
    Model,
    NoBuiltinTools,
    NoRequiredTools,
    Provider,
    Samples,
    System,
    Think,
    Tools,
    TracesDir,
    UseToolCalls,
    again_with,
    check_think,
    mode_for,
    option,
    rules_of,
    settings,
    store_of,
    tools_of,
)
from micro_agent.cli.repository import Repo, Repository, SandboxKind, Toolset, repository_of
from micro_agent.cli.spans import Phoenix

if TYPE_CHECKING:
    from micro_agent.agent import MicroAgent
    from micro_agent.rules.limits import Limits
    from micro_agent.run import Run
    from micro_agent.running.session import Confirmation
    from micro_agent.tools import Tool
    from micro_agent.traces import TraceStore


@dataclass(frozen=True, slots=True)
class Made:
    """An agent and what it was made of. ``again`` is what to type behind a command about a run of its."""

    agent: "MicroAgent"
    store: "TraceStore"
    tools: "list[Tool]"
    lm: Any
    again: Again
    after: "Run | None" = None
    """The run that is gone on from."""


@dataclass(frozen=True, kw_only=True)
class AgentOptions:
    """What is said on the command line about an agent. `taking` makes options of the fields."""

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset()
    """The fields that no option sets."""
    STEPS: ClassVar[int] = 6
    """The limit of steps where none is named."""

    utc: Annotated[bool, option("--utc", env="MICRO_AGENT_UTC", help="Make the clock tool answer in UTC.")] = False
    toolset: Toolset = None
    repo: Repo = None
    sandbox: SandboxKind = None
    system: System = None
    tools: Tools = None
    mcp: Mcp = None
    no_builtin_tools: NoBuiltinTools = False
    no_required_tools: NoRequiredTools = False
    max_tokens: MaxTokens = None
    think: Think = None
    finish: FinishBy = None
    samples: Samples = None
    max_steps: Annotated[int | None, option(metavar="N", env="MICRO_AGENT_MAX_STEPS", help="Step limit [6].")] = None
    max_time: MaxTime = None
    max_cost: MaxCost = None
    max_bytes: MaxBytes = 32 * 1024 * 1024
    provider: Provider = None
    model: Model = None
    base_url: BaseUrl = None
    mode: AskedMode = field(default=Mode.auto)
    use_tool_calls: UseToolCalls = None
    demos: Demos = None
    fallback: Fallback = None
    approve: Confirmations = None
    phoenix: Phoenix = None
    traces_dir: TracesDir = None

    def made(
        self, *, signature: str | None = None, after: "Callable[[TraceStore], Run] | None" = None,
        confirm: "Confirmation | None" = None, store: "TraceStore | None" = None,
        connected: "Sequence[Tool] | None" = None,
    ) -> Made:  # fmt: skip
        """The agent. Raises what `MicroAgent`, its model and its tools raise when they cannot be made.

        ``confirm`` goes before ``--approve``, ``store`` before ``--traces-dir``, ``connected`` before ``--mcp``.

        ``after`` finds the run that is gone on from: where it was coached, so is what follows it, yet without gates:
        what is said in a conversation is mostly no task.
        """
        self._limits()  # a wrong one is told before anything is asked for
        repository = repository_of(self.toolset, self.repo, self.sandbox)
        found = settings(
            tools=self.tools, no_builtin_tools=self.no_builtin_tools, no_required_tools=self.no_required_tools,
            max_tokens=self.max_tokens, think=self.think, finish=self.finish, provider=self.provider,
            samples=self.samples, repository=repository, mcp=self.mcp,
        )  # fmt: skip
        store = store or store_of(found, self.traces_dir, repository)
        before = after and after(store)
        coach = before and before.coach
        offered = _with_clock(tools_of(found, repository, store, coach, connected), utc=self.utc)
        from micro_agent import MicroAgent, configure_lm
        from micro_agent.cli.prompt import confirmer

        confirm = confirm or confirmer(self.approve.value if self.approve else None)
        lm = configure_lm(self.provider, self.model, self.base_url, settings=found, fallback=self.fallback)
        check_think(self.think, lm)
        agent = MicroAgent(
            tools=offered, lm=lm, mode=mode_for(found, self.mode, self.use_tool_calls), rules=rules_of(found),
            limits=self._limits(before), traces=store, settings=found, confirm=confirm, signature=signature,
            system=self.system or (before.system if before and coach else repository and repository.system(offered)),
            **as_coached(coach, self.demos, gates="off"),
        )  # fmt: skip
        own = [TINY_TOOLS] if found.tools_modules == (TINY_TOOLS,) else None
        return Made(agent, store, offered, lm, self._again(repository, own), before)

    def _limits(self, before: "Run | None" = None) -> "Limits":
        """The limits that are named. A run that follows a coached one has as many steps as that, unless it is said."""
        from micro_agent.rules.limits import Limits, limits_of

        steps = self.max_steps
        if steps is None:
            steps = limits_of(before).max_steps if before is not None and before.coach else self.STEPS
        return Limits(max_steps=steps, max_time=self.max_time, max_cost=self.max_cost, max_bytes=self.max_bytes)

    def _again(self, repository: Repository | None, own: list[str] | None = None) -> Again:
        return again_with(
            repository,
            self.tools or own,
            no_builtin_tools=self.no_builtin_tools,
            no_required_tools=self.no_required_tools,
            mcp=self.mcp,
        )


def taking(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of an agent in the place of its parameter ``options``, which gets what they say.

    Which options these are says the type of the parameter: `AgentOptions`, or a kind of it, whose own come first.
    """
    kind: type[AgentOptions] = get_type_hints(command)["options"]
    hints, own_fields = get_type_hints(kind, include_extras=True), vars(kind)["__annotations__"]
    told = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in sorted(fields(kind), key=lambda one: one.name not in own_fields)
        if one.name not in kind.LEFT_OUT
    ]
    own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in inspect.signature(command).parameters.values()]
    at = next(number for number, one in enumerate(own) if one.name == "options")

    @wraps(command)
    def taken(**given: Any) -> None:
        said = {one.name: given.pop(one.name) for one in told}
        command(**given, options=kind(**said))

    parameters = [*own[:at], *told, *own[at + 1 :]]
    taken.__annotations__ = {one.name: one.annotation for one in parameters}
    vars(taken)["__signature__"] = inspect.Signature(parameters)
    return taken


def _with_clock(tools: "dict[str, Tool]", *, utc: bool) -> "list[Tool]":
    from dataclasses import replace

    if utc and (clock := tools.get("now")):
        tools["now"] = replace(clock, handler=lambda timezone="utc": clock.handler(timezone="utc"))
    return list(tools.values())
