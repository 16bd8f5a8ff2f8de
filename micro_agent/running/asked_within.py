"""What happens inside of a tool: what the agents use that it asks counts in the run whose step the tool is.

What it runs in a sandbox is noted with the step. A collector travels in a context variable while a tool runs, into
worker threads and tasks as well. What a tool does in a thread of its own making, without a copy of its context, is not
seen.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from micro_agent.run import Run, Usage, utc_now
from micro_agent.run.span_ids import traceparent
from micro_agent.run.usage import since, together
from micro_agent.running.observers import called_by, observers
from micro_agent.tools import Outcome

MOST_PROGRAMS = 50
"""So many programs of one tool call are noted, the first ones."""
_LONGEST_ARG, _LONGEST_ARGV = 200, 30


@dataclass(frozen=True, slots=True)
class Program:
    """One run of a pipeline in a sandbox, as it stands in ``Step.programs``.

    Attributes:
        at: When it began, see `utc_now`.
        kind: The kind of sandbox.
        profile: What it might touch.
        argv: Of each stage of the pipeline. Long arguments and lists of them are cut, and end with ``…`` then.
        exit: Its exit status; ``None`` where it was killed for its time, or its end is not known.
        timed_out: Whether it was killed for its time.
        seconds: How long it took.
    """

    at: str
    kind: str
    profile: str
    argv: list[list[str]]
    exit: int | None
    timed_out: bool
    seconds: float


def note_program(program: Program) -> None:
    """Note a program with the tool that runs it, if one does."""
    if (within := _of_the_tool.get()) is not None:
        within.programs.append(program)


def cut_argv(argv: Sequence[str]) -> list[str]:
    """The arguments as a record keeps them."""
    cut = [one if len(one) <= _LONGEST_ARG else f"{one[: _LONGEST_ARG - 1]}…" for one in argv[:_LONGEST_ARGV]]
    return cut if len(argv) <= _LONGEST_ARGV else [*cut[:-1], "…"]


class Within:
    """The runs under way inside of one tool, and its programs, in a ``with`` block around its beginning.

    Args:
        run: The run whose step the tool is.
        call: The reply and the call in it that asked for the tool: what names its span.
    """

    def __init__(self, run: Run, *call: object) -> None:
        self._parts: list[Part] = []
        self.programs: list[Program] = []
        self._run, self._call, self._at = run, call, utc_now()

    def __enter__(self) -> Self:
        self._token, self._stack = _of_the_tool.set(self), ExitStack()
        if observers():
            self._stack.enter_context(called_by(traceparent(self._run, "tool", *self._call)))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()
        _of_the_tool.reset(self._token)

    def add(self, part: "Part") -> None:
        """Count one more session of a run."""
        self._parts.append(part)

    def counted(self, outcome: Outcome, approval: dict[str, Any] | None = None) -> Outcome:
        """What came of the tool: with when it began, what it ran, and what the runs inside of it have used."""
        usage = together([part.usage() for part in parts]) if (parts := list(self._parts)) else outcome.usage
        ran = [asdict(program) for program in self.programs[:MOST_PROGRAMS]] or None
        return replace(outcome, usage=usage, at=self._at, programs=ran, approval=approval)


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
