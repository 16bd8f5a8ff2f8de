"""The agents of one server: one for each way in which its model can be asked, and those that take runs up again."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from micro_agent.models.identity import Wanted, provider_of, traits_of
from micro_agent.models.recorded import model_of
from micro_agent.models.settings import Settings
from micro_agent.rules import Rule
from micro_agent.rules.coach import NO_COACH, Coach
from micro_agent.run import Run
from micro_agent.tools import Tool
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from micro_agent import MicroAgent

_MODES: dict[bool, Wanted] = {True: "native", False: "json"}


class Agents:
    """Makes agents with the same tools and records, each once. A tool that asks for confirmation pauses its run.

    Args:
        lm: The model, as `configure_lm` makes it.
        tools: What it can call.
        mode: How it is asked when nobody says.
        store: Where runs are on record.
        settings: Prices, paths and bounds.
        demos: The file of those to show; ``None``: the one that the settings name.
        rules: By default those of an agent that names none.
        system: A task or persona for the system prompt.
        coach: That of runs which begin here.
    """

    def __init__(
        self, lm: Any, tools: Sequence[Tool], *, mode: Wanted, store: TraceStore, settings: Settings,
        demos: Path | None = None, rules: Sequence[Rule] | None = None, system: str | None = None,
        coach: Coach = NO_COACH,
    ) -> None:  # fmt: skip
        self._lm = lm
        self._tools = list(tools)
        self._mode: Wanted = mode
        self._store = store
        self._settings = settings
        self._demos, self._rules, self._system, self._coach = demos, rules, system, coach
        self._made: dict[bool | None, MicroAgent] = {}

    def __call__(self, use_tool_calls: bool | None = None) -> "MicroAgent":
        """The agent that uses native tool calls or JSON decisions; ``None``: as is usual here."""
        if use_tool_calls not in self._made:
            mode = self._mode if use_tool_calls is None else _MODES[use_tool_calls]
            self._made[use_tool_calls] = self._agent(self._lm, mode)
        return self._made[use_tool_calls]

    def of(self, run: Run) -> "MicroAgent":
        """The agent that goes on with a run, with the model that the run began with.

        Raises:
            ConfigurationError: That model is not to be had.
        """
        provider, address = provider_of(self._lm), getattr(traits_of(self._lm), "base_url", None)
        here = (run.provider, run.base_url) == (provider, address)
        if here and run.model == self._lm.model:
            return self()
        return self._agent(model_of(run, self._settings, base_url=address if here else None), self._mode)

    def _agent(self, lm: Any, mode: Wanted) -> "MicroAgent":
        from micro_agent import MicroAgent

        return MicroAgent(
            tools=self._tools, lm=lm, mode=mode, rules=self._rules, traces=self._store, settings=self._settings,
            demos=self._demos or ([] if self._coach.record else None), system=self._system, coach=self._coach,
        )  # fmt: skip
