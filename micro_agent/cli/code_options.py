"""The options of `micro-agent code`: those of `ask` that mean something in a repository, and what helps the model."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from micro_agent.cli.agent_options import AgentOptions, Made
from micro_agent.cli.options import check_think, mode_for, option, settings, store_of, tools_of
from micro_agent.cli.repository import Named, repository_of
from micro_agent.coding import EditFormat, GateMode, PromptSize, StateSummary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from micro_agent.running.session import Confirmation
    from micro_agent.tools import Tool


@dataclass(frozen=True, kw_only=True)
class CodeOptions(AgentOptions):
    """What is said on the command line about a coding agent."""

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset(
        {"utc", "toolset", "no_builtin_tools", "no_required_tools", "fallback"}
    )

    STEPS: ClassVar[int] = 25

    repo: Annotated[Any, option("--repo", metavar="DIR", env="MICRO_AGENT_REPO", help="The repository [.].")] = None
    gates: Annotated[
        GateMode | None,
        option("--gates", metavar="HOW", env="MICRO_AGENT_GATES", help="block [task], warn or off [chat]."),
    ] = None
    require_green: Annotated[
        bool, option("--require-green", env="MICRO_AGENT_REQUIRE_GREEN", help="Count tests only if they passed.")
    ] = False
    corrections: Annotated[
        int | None,
        option(metavar="N", env="MICRO_AGENT_CORRECTIONS", help="Rounds of fixing failing tests [3].", min=0),
    ] = None
    exemplars: Annotated[
        int | None,
        option(metavar="N", env="MICRO_AGENT_EXEMPLARS", help="Similar successes shown [3].", min=0),
    ] = None
    hints: Annotated[
        bool | None,
        option("--hints/--no-hints", env="MICRO_AGENT_HINTS", help="Whether errors name the next call."),
    ] = None
    state_summary: Annotated[
        StateSummary | None,
        option(metavar="HOW", env="MICRO_AGENT_STATE_SUMMARY", help="compact, detailed or off."),
    ] = None
    prompt: Annotated[
        PromptSize | None, option(metavar="SIZE", env="MICRO_AGENT_PROMPT", help="minimal or detailed [by model].")
    ] = None
    edit_format: Annotated[
        EditFormat | None,
        option(metavar="F", env="MICRO_AGENT_EDIT_FORMAT", help="edit, patch, udiff or tagged [by model]."),
    ] = None
    max_steps: Annotated[int | None, option(metavar="N", env="MICRO_AGENT_MAX_STEPS", help="Step limit [25].")] = None
    model: Annotated[
        str | None,
        option("--model", "--model-id", metavar="M", env="MICRO_AGENT_MODEL", help="[ollama_chat/qwen2.5-coder:14b]"),
    ] = None
    base_url: Annotated[
        str | None,
        option("--base-url", "--api-base", metavar="U", env="MICRO_AGENT_BASE_URL", help="URL of the server."),
    ] = None

    def coached(
        self, *, chats: bool = False, signature: str | None = None, confirm: "Confirmation | None" = None,
        connected: "Sequence[Tool] | None" = None,
    ) -> Made:  # fmt: skip
        """The agent; in a chat, gates are off unless they are named. Raises what its parts raise.

        ``confirm`` goes before what ``--approve`` says, ``connected`` before ``--mcp``.
        """
        from micro_agent.models.announcing import once

        limits = self._limits()  # a wrong one is told before anything is asked for
        repository = repository_of(Named.coding, self.repo, self.sandbox)
        assert repository is not None, "the toolset names one"
        if not (top := repository.root / ".git").exists():
            once(f"{top.parent} is in no git repository, so git can take nothing back there: make one with git init")
        found = settings(
            tools=self.tools, max_tokens=self.max_tokens, think=self.think, finish=self.finish, provider=self.provider,
            samples=self.samples, repository=repository, mcp=self.mcp,
        )  # fmt: skip
        store = store_of(found, self.traces_dir, repository)
        from micro_agent.cli.prompt import confirmer
        from micro_agent.coder import coding_agent, coding_lm, settings_for

        confirm = confirm or confirmer(self.approve.value if self.approve else None)
        lm = coding_lm(self.provider, self.model, self.base_url, environment=found)
        check_think(self.think, lm)
        helps = replace(settings_for(lm, found, gates="off" if chats else "block"), **self._said())
        tools = tools_of(found, repository, store, helps.record(), connected)
        agent = coding_agent(
            repository.root, lm=lm, mode=mode_for(found, self.mode, self.use_tool_calls), settings=helps,
            confirm=confirm, limits=limits, traces=store, tools=tools, demos=self.demos or (),
            system=self.system, environment=found, signature=signature,
        )  # fmt: skip
        return Made(agent, store, list(tools.values()), lm, self._again(repository))

    def _said(self) -> dict[str, Any]:
        """The settings of the coach that are named."""
        said = {
            "gates": self.gates, "require_green": self.require_green or None, "corrections": self.corrections,
            "exemplars": self.exemplars, "hints": self.hints, "state": self.state_summary, "prompt": self.prompt,
            "edits": self.edit_format,
        }  # fmt: skip
        return {name: value for name, value in said.items() if value is not None}
