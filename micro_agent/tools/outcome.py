"""What came of a tool call, as the model sees it: a result or an exception made JSON and cut to size.

This runs code of the tool (``__repr__``, ``model_dump``, ``__str__`` of an exception), which may raise anything and
take its time: it is called where a tool may, unless the value consists of JSON's own types.
"""

import asyncio
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from micro_agent.tools.callbacks import described
from micro_agent.tools.error import ToolError
from micro_agent.tools.jsonable import jsonable
from micro_agent.tools.tool import Tool
from micro_agent.tools.truncate import kept_of, truncate

if TYPE_CHECKING:
    from micro_agent.run import Usage

_FEW = 1000
_SCALARS = frozenset({int, float, bool, NoneType})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a tool: what the model sees, whether it worked, the error code if not, and how long it took.

    ``latency_s`` is ``None`` where no tool ran, or where its end is not known; ``result`` where the observation is all;
    ``usage`` where the tool asked no agent. Who ran it may note when it began (``at``), which ``programs`` it ran in a
    sandbox, and the word of a person on it (``approval``).
    """

    observation: Any
    ok: bool
    error: str | None
    latency_s: float | None
    result: Any = None
    usage: "Usage | None" = None
    at: str | None = None
    programs: list[dict[str, Any]] | None = None
    approval: dict[str, Any] | None = None


class Seen(NamedTuple):
    """What the model sees of a result, and the result where that is not all of it."""

    observation: Any
    result: Any = None


def outcome_of(seen: Seen, latency_s: float) -> Outcome:
    """The outcome of a result: one whose ``error`` is text is a failure of that code."""
    whole = seen.observation if seen.result is None else seen.result
    named = cast("dict[str, Any]", whole).get("error") if isinstance(whole, dict) else None
    code = named if isinstance(named, str) else None
    return Outcome(seen.observation, code is None, code, latency_s, seen.result)


def is_plain(value: object) -> bool:
    """Whether a value is small and of JSON's own types alone, so that no code of a tool runs when it is shown."""
    waiting, seen = [value], 0
    while waiting and seen + len(waiting) <= _FEW:
        part = waiting.pop()
        seen += 1
        kind = type(part)
        if kind is str:
            seen += len(cast("str", part)) // 100
        elif kind is dict and len(cast("dict[Any, Any]", part)) <= _FEW:
            waiting += [*cast("dict[Any, Any]", part), *cast("dict[Any, Any]", part).values()]
        elif (kind is list or kind is tuple) and len(cast("list[Any]", part)) <= _FEW:
            waiting += cast("list[Any]", part)
        elif kind not in _SCALARS:
            return False
    return not waiting and seen <= _FEW


def observed(tool: Tool, result: object) -> Seen:
    """What is seen of what a handler returned. Nothing raises."""
    try:
        return _seen(tool, jsonable(result))
    except BaseException as error:  # noqa: BLE001 it is the tool's failure, whatever it is
        return _error(tool, f"{tool.name} has run, but its result cannot be shown: {described(error)}")


def failed(tool: Tool, error: BaseException) -> Seen:
    """What is seen of what a handler raised. Nothing raises."""
    if isinstance(error, asyncio.CancelledError):
        return _error(tool, "RuntimeError: the tool cancelled itself")
    if not isinstance(error, ToolError):
        return _error(tool, described(error))
    try:
        return _seen(tool, jsonable(error.observation()))
    except BaseException as fault:  # noqa: BLE001 it is the tool's failure, whatever it is
        return _error(tool, described(fault))


def timed_out(tool: Tool) -> Seen:
    """What is seen of a tool that took too long."""
    message = f"{tool.name} did not finish within {tool.timeout_s:g} s and was stopped; ask for less at once"
    return Seen({"error": "TOOL_TIMEOUT", "message": message})


def dropped() -> Outcome:
    """What stands for a call that had begun early and is not wanted any more."""
    observation = {"error": "NOT_RUN", "message": "The run went another way before this call was waited for."}
    return Outcome(observation, ok=False, error="NOT_RUN", latency_s=None)


def _error(tool: Tool, message: str) -> Seen:
    return _seen(tool, {"error": "TOOL_EXCEPTION", "message": jsonable(message)})


def _seen(tool: Tool, result: Any) -> Seen:
    observation = truncate(result, tool.max_chars)
    return Seen(observation, kept_of(result, observation))
