"""A call made ready, by what the run knows of it, and as rules and people are asked about it."""

from collections.abc import Mapping
from typing import Any, cast

from micro_agent.decoding import ToolCall
from micro_agent.effects import Confirm, question_of
from micro_agent.rules import BeforeTool
from micro_agent.rules.same import same
from micro_agent.run import VALIDATION_ERROR, Run, Step
from micro_agent.run.editing import given_args
from micro_agent.sampling.grounding import ungrounded
from micro_agent.tools import Ready, Refused, Tool, prepare, resolve


def prepared(run: Run, tools: Mapping[str, Tool], call: ToolCall) -> Ready | Refused:
    """As `prepare`: an argument that a refusal has named and that is said again unchanged may be dropped."""

    def named(tool: str, argument: str, value: Any) -> bool:
        return any(_names(step, argument, value) and resolve(tools, step.args["tool"]) == tool for step in read)

    read = [step for step in run.steps if step.tool == VALIDATION_ERROR and step.call != len(run.calls) - 1]
    return prepare(tools, call, native=run.mode != "json", named=named)


def before(ready: Ready) -> BeforeTool:
    """What rules are asked about a call that is ready."""
    return BeforeTool(ready.tool.name, ready.args, ready.tool.read_only)


def confirmation(run: Run, ready: Ready) -> Confirm | None:
    """The question whether a call may run, where it may want a person's word."""
    why = _must_be_asked(run, ready)
    if why is None and ready.tool.requires_confirmation is False:
        return None
    question = question_of(run, ready, why or "This tool asks for confirmation.", _marked(run, ready))
    if why:
        return Confirm(question, ready)
    return Confirm(question, ready, lambda: ready.tool.needs_confirmation(ready.args))


def only_reads(tools: Mapping[str, Tool]) -> frozenset[str]:
    """The names of the tools that change nothing."""
    return frozenset(name for name, tool in tools.items() if tool.read_only)


def _marked(run: Run, ready: Ready) -> list[str]:
    """The paths of arguments that stand nowhere. What a person wrote needs to stand nowhere else."""
    marked, given = ungrounded(ready.args, run, ready.tool), given_args(run, ready.call_id)
    if given is not None:
        before = [(argument.path, argument.value) for argument in ungrounded(given, run, ready.tool)]
        marked = [argument for argument in marked if (argument.path, argument.value) in before]
    return [argument.path for argument in marked]


def _must_be_asked(run: Run, ready: Ready) -> str | None:
    """Why a person is asked about a call, whatever its tool says of confirmation."""
    name, args = ready.tool.name, ready.args
    if given_args(run, ready.call_id) is not None:
        return "The arguments were changed by a person: this is what would be run now."
    if any(step.error == "INTERRUPTED" and step.tool == name and step.args == args for step in run.steps):
        return "The same call was interrupted before; it may have happened already."
    if ready.tool.destructive and ready.standing in ("markup", "embedded"):
        return "The tool is destructive, and its call was read out of a text."
    return None


def _names(step: Step, argument: str, value: Any) -> bool:
    """Whether a step refused a call with this argument, and for it."""
    seen: Any = step.observation
    told = cast("dict[str, Any]", seen) if isinstance(seen, dict) else {}
    named = any(fault["path"] == argument for fault in told.get("faults", ()))
    return named and same(step.args["args"].get(argument), value)
