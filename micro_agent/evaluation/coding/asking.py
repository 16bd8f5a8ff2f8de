"""Asking tasks that have a repository: each trial in a fresh copy of it, with its outcome in the run."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from micro_agent.cancel import Cancel
from micro_agent.coding.workplace import Wanted
from micro_agent.evaluation.coding.outcome import Hidden, with_outcome
from micro_agent.evaluation.coding.places import Place, Places
from micro_agent.evaluation.trials import Trial
from micro_agent.run import Run

if TYPE_CHECKING:
    from micro_agent.agent import MicroAgent


def ask_in_place(
    trial: Trial, cancel: Cancel, *, places: Places, agent_for: "Callable[[Place], MicroAgent]",
    sandbox: Wanted = "auto", known: dict[str, Hidden] | None = None,
) -> Run:  # fmt: skip
    """Ask a trial whose task has a repository, in a copy of its own.

    Args:
        trial: What is asked.
        cancel: Ends the run when it is set.
        places: Where the copy lies.
        agent_for: Makes the agent, with the tools for ``place.repo`` and its state in ``place.state``. Give it
            ``confirm="all"``: the copy is thrown away, and nobody waits.
        sandbox: What the hidden tests run in.
        known: What hidden tests said before, see `with_outcome`.

    Returns:
        The run, with its `Outcome` in the field ``outcome``.
    """
    assert trial.task.repository is not None
    with places.of(trial.task.repository) as place:
        run = agent_for(place).ask(trial.task.question, cancel=cancel)
        return with_outcome(run, trial.task, place, sandbox, known=known)
