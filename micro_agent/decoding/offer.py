"""The tools that a decode may call, and whether a name and arguments are one of theirs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

from micro_agent.decoding.decision import ToolSpec
from micro_agent.decoding.repair import Allowance
from micro_agent.errors import ToolDefinitionError
from micro_agent.tools import Tool, check, resolve
from micro_agent.tools.arguments import Faults

_MAX_NAME = 128


@dataclass(slots=True)
class Offer:
    """The tools of one decode (``None``: not known, any name counts), and what it may still spend on reading."""

    tools: Sequence[ToolSpec] | None
    allowance: Allowance = field(default_factory=Allowance)
    values: int = 300
    """How many more values of arguments are checked against a schema; the loop checks all of them anyway."""

    @property
    def names(self) -> list[str] | None:
        """The names of the tools."""
        return None if self.tools is None else [tool.name for tool in self.tools]

    def resolve(self, name: str) -> str | None:
        """The tool that ``name`` means; when the tools are not known, the name itself."""
        if self.names is None:
            return name.strip() if name.strip() and len(name) <= _MAX_NAME else None
        return resolve(self.names, name)

    def tool(self, name: str | None) -> ToolSpec | None:
        """The tool of exactly this name, if it is known."""
        return next((tool for tool in self.tools or () if tool.name == name), None)

    def faults(self, name: str, args: dict[str, Any]) -> str | None:
        """What is wrong with ``args`` for the tool of this name, in one line; ``None`` when they fit.

        Arguments count as fitting where nothing can be said: an unknown tool, a schema that is none, too many values.
        """
        spec = self.tool(name)
        self.values -= _count(args, self.values)
        checked = _as_tool(spec) if spec is not None and self.values > 0 else None
        found = check(checked, args) if checked is not None else None
        return found.message if isinstance(found, Faults) else None


def _as_tool(spec: ToolSpec) -> Tool | None:
    if isinstance(spec, Tool):
        return spec
    try:
        return Tool("described", "", {"type": "object", **spec.parameters}, _never_called)
    except ToolDefinitionError:
        return None


def _never_called(**_: Any) -> NoReturn:  # pragma: no cover - a stand-in that carries a schema
    raise NotImplementedError


def _count(value: Any, limit: int) -> int:
    """How many values ``value`` is made of, counted up to ``limit``."""
    waiting, count = [value], 0
    while waiting and count < limit:
        part = waiting.pop()
        count += 1
        if isinstance(part, dict):
            waiting += cast("dict[str, Any]", part).values()
        elif isinstance(part, list):
            waiting += cast("list[Any]", part)
    return count
