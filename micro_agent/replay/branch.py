"""Going on live from the middle of a recorded run, as a new run that names its parent."""

from typing import Any

from micro_agent.agent import MicroAgent
from micro_agent.errors import ConfigurationError
from micro_agent.replay.beginning import with_beginning
from micro_agent.replay.parts import session_of
from micro_agent.rules import BeforePlan, Stop
from micro_agent.rules.limits import Limits, limits_of
from micro_agent.run import POLICY_VIOLATION, REPETITION, WARNING, Run, Step
from micro_agent.run.chain import require_earlier
from micro_agent.running.session import drive

_SAID_AFTER = frozenset({WARNING, REPETITION, POLICY_VIOLATION})
"""Words of the loop that belong to the tool step before them; no reply asked for them."""
_STUCK = frozenset({"policy", "malformed"})


def fork(run: Run, at: int, agent: MicroAgent, *, limits: Limits | None = None, **options: Any) -> Run:
    """Begin a new run with the first ``at`` steps of a recorded one, and go on live with the agent's model.

    The copy has the replies behind these steps. Calls of the last reply that come after step ``at`` are made anew. What
    the loop said about step ``at`` (a warning) is kept with it. Limits count what was copied.

    Args:
        run: As it is on record.
        at: So many steps, as `describe` numbers them; 0 asks the same question from the beginning.
        agent: Its tools, rules, model and traces are used.
        limits: By default those of the recorded run.
        **options: ``on_step``, ``emit`` (events) and ``cancel``, as `MicroAgent.ask` has them.

    Returns:
        The new run, ended or paused, with ``parent`` the recorded one's id.

    Raises:
        ConfigurationError: There is no going on from this step; the message says why. Nothing was run.
        StorageError: The run cannot be written down.
    """
    begun = begin(run, at)
    held = limits or limits_of(run)
    if isinstance(stop := held.check(begun, BeforePlan()), Stop):
        raise ConfigurationError(f"the limits leave nothing to do after step {at}: {stop.text}")
    return drive(session_of(agent, begun, limits=held, parent=run.id, **options))


def begin(run: Run, at: int) -> Run:
    """The new run as it stands before it goes on. Raises `ConfigurationError` as `fork` does."""
    steps = _first(run, at)
    require_earlier(run)
    new = Run(question=run.question, inputs=run.inputs, images=run.images, parent=run.id, forked_at=steps)
    new.follows, new.earlier, new.history = run.follows, run.earlier, run.history
    new.system, new.coach = run.system, run.coach
    return with_beginning(new, run, steps)


def _first(run: Run, at: int) -> int:
    """How many steps are copied."""
    count = len(run.steps)
    if not 0 <= at <= count:
        raise ConfigurationError(f"run {run.id} has {count} steps: it can be forked at 0 to {count}")
    while 0 < at < count and _said_after(run.steps[at]):
        at += 1
    steps = run.steps[:at]
    made = next((n for n, step in enumerate(steps, 1) if step.error == "NOT_RUN" and step.latency_s is None), None)
    if made is not None:
        raise ConfigurationError(f"step {made} of run {run.id} was never run: fork it at {made - 1} or before")
    stopped = steps and _said_after(steps[-1]) and steps[-1].tool != WARNING
    if stopped or (steps and at == count and run.termination_reason in _STUCK):
        raise ConfigurationError(f"run {run.id} was stopped at step {at} ({run.termination_reason}): fork it before")
    return at


def _said_after(step: Step) -> bool:
    return step.call is None and step.tool in _SAID_AFTER
