"""A call that the model decided on, made ready to run or refused. Pure: the same call gives the same result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from micro_agent.tools.arguments import Faults, check, refusal, without_extras
from micro_agent.tools.form import call_form
from micro_agent.tools.names import closest, resolve
from micro_agent.tools.tool import Tool

if TYPE_CHECKING:
    from micro_agent.decoding.decision import Standing, ToolCall

_MAX_NAME = 60
_MAX_LIST = 200
_ANY_TOOL = "Call one of the tools, or answer the question."
_NO_TOOL = "Answer the question."

Named = Callable[[str, str, Any], bool]
"""Whether a model that gave this value was told before that a tool (the first) does not have an argument."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that can run: the tool, valid arguments, and what was mended (the name too, kind ``tool_name``).

    ``standing`` is where it stood in its reply, as `ToolCall.standing` has it.
    """

    tool: Tool
    args: dict[str, Any]
    call_id: str | None = None
    coercions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    standing: "Standing" = "native"


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that cannot run: ``observation`` is what the model sees, ``error`` its code."""

    name: str
    args: dict[str, Any]
    call_id: str | None
    observation: dict[str, Any]
    error: str


def never(tool: str, argument: str, value: Any) -> bool:
    """It was told nothing."""
    return False


def prepare(
    tools: Mapping[str, Tool], call: "ToolCall", *, native: bool = True, named: Named = never
) -> Ready | Refused:
    """Find the tool that ``call`` names and check its arguments.

    Args:
        tools: The tools there are, by name.
        call: The call as decoding read it.
        native: Whether a right call is one on the wire, or else an object in the text.
        named: Arguments that the tool does not have, said again after they were named, are dropped if it only reads.

    Returns:
        `Ready`, or `Refused` with ``UNKNOWN_TOOL`` (and the closest names) or ``VALIDATION_FAILED`` (and every fault).
        Both show under ``expected`` what a right call looks like.
    """
    if (behind := _named_behind(tools, call.name)) is not None:
        return prepare(behind, call, native=native, named=named)
    name = resolve(tools, call.name)
    if name is None:
        return Refused(call.name, call.args, call.call_id, _unknown(tools, call.name, native), "UNKNOWN_TOOL")
    tool = tools[name]
    args = _nested(call.args) if tool.behind else call.args
    checked = check(tool, args)
    if isinstance(checked, Faults) and tool.read_only:
        checked = without_extras(tool, args, checked, partial(named, name)) or checked
    if isinstance(checked, Faults):
        return Refused(name, call.args, call.call_id, refusal(tool, checked, native=native), "VALIDATION_FAILED")
    if tool.behind:
        return _through(tool, checked.args, call, native=native, named=named)
    renamed = _renamed(call.name, name) if name != call.name else []
    return Ready(tool, checked.args, call.call_id, renamed + checked.coercions, call.standing)


def _named_behind(tools: Mapping[str, Tool], name: str) -> Mapping[str, Tool] | None:
    """The tools behind another, if one of them has this name and none before it: those that were found are called so.

    What a name only resembles is a tool before it, if one fits.
    """
    behind = [tool.behind for tool in tools.values() if tool.behind]
    if name in tools or not behind:
        return None
    exact = next((some for some in behind if name in some), None)
    if exact is not None or resolve(tools, name) is not None:
        return exact
    return next((some for some in behind if resolve(some, name) is not None), None)


def _nested(args: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call through another tool, where those of the tool behind stand beside its name."""
    if "arguments" in args or "tool" not in args:
        return args
    return {"tool": args["tool"], "arguments": {key: value for key, value in args.items() if key != "tool"}}


def _through(tool: Tool, args: dict[str, Any], call: "ToolCall", *, native: bool, named: Named) -> Ready | Refused:
    """The call of a tool behind another."""
    wanted = args["tool"]
    name = resolve(tool.behind, wanted)
    if name is None:
        near = {one: tool.behind[one] for one in closest(tool.behind, wanted)}
        return Refused(wanted, args["arguments"], call.call_id, _unknown(near, wanted, native), "UNKNOWN_TOOL")
    meant = replace(call, name=name, args=args["arguments"])
    found = prepare({name: tool.behind[name]}, meant, native=native, named=named)
    if isinstance(found, Ready):
        found.coercions[:0] = _renamed(call.name, name)
    return found


def _renamed(called: str, name: str) -> list[dict[str, Any]]:
    return [{"path": "", "from": called, "to": name, "kind": "tool_name"}]


def _unknown(tools: Mapping[str, Tool], name: str, native: bool) -> dict[str, Any]:
    names = sorted(tools)
    shown = name if len(name) <= _MAX_NAME else name[:_MAX_NAME] + "…"
    near = closest(names, name)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    listed = ", ".join(names)
    listed = listed if len(listed) <= _MAX_LIST else listed[:_MAX_LIST] + "…"
    message = f"there is no tool {shown!r}; {hint}tools: {listed or 'none'}"
    expected = _ANY_TOOL if names else _NO_TOOL
    if near:
        expected = call_form(near[0], tools[near[0]].parameters, native=native)
    told = {"error": "UNKNOWN_TOOL", "message": message, "expected": expected}
    return {**told, "closest": near, "tools": names}
