"""Who coaches a run, and what a run that begins is told by its coach."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from micro_agent.rules.coach import Coach
from micro_agent.run import Run


@dataclass(frozen=True, slots=True)
class Coaching:
    """The coach of an agent, and what makes one again from the record of a run."""

    coach: Coach
    again: Callable[[Mapping[str, Any]], Coach]

    def of(self, run: Run) -> Coach:
        """Who coaches a run that has begun: made again where this agent's coach is another, or none."""
        if run.coach is None:
            return Coach()
        return self.coach if run.coach == self.coach.record else self.again(run.coach)

    def begin(self, run: Run, system: str | None) -> None:
        """Note the coach in a run that begins, and what it says, behind the agent's own ``system``.

        A fork and a later turn of a conversation keep what was said at first: what it was drawn from may have changed,
        and a prompt that stays is one that a server need not read again.
        """
        before = run if run.forked_at is not None else next(reversed(run.earlier), None)
        if self.coach.record and before is not None and before.coach == self.coach.record:
            run.system = before.system
        else:
            run.system = "\n\n".join(filter(None, (system, self.coach.system(run)))) or None
        run.coach = dict(self.coach.record) or None
