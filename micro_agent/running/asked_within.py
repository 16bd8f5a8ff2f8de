"""What the agents use that a tool asks: it counts in the run whose step the tool is.

A collector travels in a context variable while a tool runs, into worker threads and tasks as well. An agent that a tool
asks in a thread of its own making, without a copy of its context, is not seen.
"""

from contextvars import ContextVar
from dataclasses import replace
from typing import Self

from micro_agent.run import Run, Usage
from micro_agent.run.usage import since, together
from micro_agent.tools import Outcome


class Within:
    """The runs under way inside of one tool, in a ``with`` block around its beginning."""

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def __enter__(self) -> Self:
        self._token = _of_the_tool.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _of_the_tool.reset(self._token)

    def add(self, part: "Part") -> None:
        """Count one more session of a run."""
        self._parts.append(part)

    def counted(self, outcome: Outcome) -> Outcome:
        """What came of the tool, with what the runs inside of it have used; as it is where there were none."""
        parts = [part.usage() for part in list(self._parts)]
        return replace(outcome, usage=together(parts)) if parts else outcome


class Part:
    """One session of a run: what it uses from here on, for the tool that it runs in, if any."""

    def __init__(self, run: Run) -> None:
        self.over, self._run, self._before = False, run, run.usage.model_copy()
        if (within := _of_the_tool.get()) is not None:
            within.add(self)

    def usage(self) -> Usage:
        """So far. Tokens and cost are unknown while it is under way: nobody knows what the next reply will say."""
        used = since(self._run.usage, self._before)
        if not self.over:
            used.input_tokens = used.output_tokens = used.cost_usd = None
        return used


_of_the_tool: ContextVar[Within | None] = ContextVar("micro_agent_asked_within", default=None)
