"""The parts of an agent that a recorded run is driven with. The one place that looks inside an agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from micro_agent.agent import MicroAgent
from micro_agent.planning.given_demos import Given
from micro_agent.rules import Rule
from micro_agent.rules.coach import Coach
from micro_agent.run import Mode, Run
from micro_agent.running.session import Session
from micro_agent.running.setup import Setup
from micro_agent.tools import Tool
from micro_agent.tools.outputs import Outputs


@dataclass(frozen=True, slots=True)
class Parts:
    """What decides how a run goes, the model aside. ``plan`` has the instructions and demos."""

    plan: Any
    tools: Mapping[str, Tool]
    rules: Sequence[Rule]
    given: Given
    digests: Callable[[Any, Mode], Mapping[str, str]]
    """As they are recorded in a run of a model in a mode."""
    outputs: Outputs
    coach_of: Callable[[Run], Coach]
    """Who coaches a recorded run, as its record has it."""

    def outputs_of(self, run: Run) -> Outputs:
        """What an answer of a recorded run has to hold, with the agent's types if its signature is the same."""
        return self.outputs if self.outputs.record() == run.wanted else Outputs.recorded(run.wanted)


def parts_of(agent: MicroAgent) -> Parts:
    """The parts of an agent as it stands."""
    setup, plan = _setup(agent), agent.plan
    digests = partial(setup.digests.of_run, plan)
    return Parts(plan, setup.tools, setup.rules, setup.given, digests, setup.outputs, setup.coaching.of)


def session_of(agent: MicroAgent, run: Run, **options: Any) -> Session:
    """A session of the agent for a run that may have steps already; ``options`` as `Setup.session` takes them."""
    model = agent._model()  # pyright: ignore[reportPrivateUsage]
    return _setup(agent).session(agent.plan, model, run, **options)


def _setup(agent: MicroAgent) -> Setup:
    return agent._setup  # pyright: ignore[reportPrivateUsage]
