"""Names without dots, for servers that refuse a tool whose name has one.

Source: OpenAI's API takes names of the pattern ``^[a-zA-Z0-9_-]+$``, up to 64 characters; the name of a `Tool` may
have dots as well.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from micro_agent.decoding import Decision, ToolCalls
from micro_agent.decoding.repair.strict import repair
from micro_agent.tools import Tool

_MAX_CHARS = 64


def undotted(names: Iterable[str]) -> dict[str, str]:
    """For each name with a dot, one without; two names never get the same.

    ``files.read`` becomes ``files_read``, or ``files_read_2`` where that is another tool's name.
    """
    known = list(names)
    taken = {name for name in known if "." not in name}
    given: dict[str, str] = {}
    for name in known:
        if "." in name:
            given[name] = _free(name.replace(".", "_"), taken)
            taken.add(given[name])
    return given


def renamed(tools: Iterable[Tool], names: Mapping[str, str]) -> list[Tool]:
    """The tools as they are offered where some have another name on the wire."""
    return [replace(tool, name=names[tool.name]) if tool.name in names else tool for tool in tools]


def named_back(decision: Decision, names: Mapping[str, str]) -> Decision:
    """A decision over renamed tools with their own names, and a repair for each name that was put back."""
    own = {wired: name for name, wired in names.items()}
    if not isinstance(decision, ToolCalls) or not any(call.name in own for call in decision.calls):
        return decision
    repairs = [repair("tool_name", call.name, own[call.name]) for call in decision.calls if call.name in own]
    calls = [replace(call, name=own.get(call.name, call.name)) for call in decision.calls]
    return ToolCalls(calls, [*decision.repairs, *repairs])


def _free(wanted: str, taken: set[str]) -> str:
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted[: _MAX_CHARS - len(str(number)) - 1]}_{number}"
    return name
