"""The tools that a decode may call, and whether a name and arguments are one of theirs."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Any, NoReturn, TypeVar, cast

from micro_agent.decoding.decision import ToolSpec
from micro_agent.decoding.repair.strict import Allowance
from micro_agent.decoding.schema_types import types
from micro_agent.errors import ToolDefinitionError
from micro_agent.tools import Tool, check, resolve
from micro_agent.tools.arguments import Accepted, Faults
from micro_agent.tools.faults import UNCHECKED, find_faults
from micro_agent.tools.names import closest

_MAX_NAME = 128
_MAX_KEPT = 16_000
"""Characters of a schema that is kept compiled."""
_Schema = TypeVar("_Schema")
_Found = TypeVar("_Found")


@dataclass(slots=True)
class Offer:
    """The tools of one decode (``None``: not known, any name counts), and what it may still spend on reading."""

    tools: Sequence[ToolSpec] | None
    allowance: Allowance = field(default_factory=Allowance)
    values: int = 300
    """How many more values of arguments are checked against a schema; the loop checks all of them anyway."""
    seconds: float = 1.0
    """How much more time that may take. The clock is one that is read without a system call."""
    native: bool = False
    """Whether the tools stand on the wire: an error then asks for a call there and not for an object in the text."""
    submit: ToolSpec | None = None
    """The tool that takes the outputs of an answer, where that has a schema; it is one of ``tools``."""
    lookups: int = 2
    """How many more names are compared with all tools' names, letter by letter, to show the closest."""

    _resolved: dict[str, str | None] = field(default_factory=dict[str, str | None], repr=False)
    # What checking said of each arguments object, by its id: `coerced` needs it again, and checking costs the most of a
    # clean step. The object is kept with it, so that its id is not given to another one.
    _found: dict[int, tuple[str, dict[str, Any], Accepted | Faults]] = field(
        default_factory=dict[int, tuple[str, dict[str, Any], Accepted | Faults]], repr=False
    )
    _schemas: dict[str, Tool | None] = field(default_factory=dict[str, Tool | None], repr=False)

    names: list[str] | None = field(init=False)
    """The names of the tools."""

    def __post_init__(self) -> None:
        self.names = None if self.tools is None else [tool.name for tool in self.tools]

    def resolve(self, name: str) -> str | None:
        """The tool that ``name`` means; when the tools are not known, the name itself."""
        if self.tools is None:
            bare, _, number = name.strip().removeprefix("functions.").rpartition(":")  # Kimi's functions.name:0
            bare = bare if bare and number.isdigit() else name.strip().removeprefix("functions.")
            return bare if bare and len(name) <= _MAX_NAME else None
        if name not in self._resolved:
            self._resolved[name] = resolve(self.names or (), name)
        return self._resolved[name]

    def meant(self, name: str) -> str | None:
        """The tool whose name is closest to one that is not a tool's, if one is close: the example in an error."""
        self.lookups -= 1
        return next(iter(closest(self.names or (), name)), None) if self.lookups >= 0 else None

    def tool(self, name: str | None) -> ToolSpec | None:
        """The tool of exactly this name, if it is known."""
        return next((tool for tool in self.tools or () if tool.name == name), None)

    def properties(self, name: str) -> frozenset[str]:
        """The arguments that the tool of this name has; none where its schema is none or does not say."""
        tool = self._known(name)
        return tool.schema.properties if tool is not None else frozenset()

    @property
    def unchecked(self) -> bool:
        """Whether there were too many values already, so that arguments count as fitting unseen."""
        return self.values <= 0 or self.seconds <= 0

    def types(self, name: str, key: str) -> frozenset[str]:
        """The JSON types that the tool of this name allows for one argument; none where it does not say."""
        tool = self._known(name)
        part = tool.schema.root.get("properties", {}).get(key) if tool is not None else None
        return types(tool.schema, part) if tool is not None else frozenset()

    def faults(self, name: str, args: dict[str, Any], *, extras: bool = False) -> str | None:
        """What is wrong with ``args`` for the tool of this name, in one line; ``None`` when they fit.

        Arguments count as fitting where nothing can be said: an unknown tool, a schema that is none, too many values.
        ``extras`` allows arguments that the schema does not have beside those that fit: the loop refuses them by name.
        """
        if self.fits(name, args):
            return None
        found = self._looked(name, args)
        if found is not None:
            self._found[id(args)] = name, args, found
        if not isinstance(found, Faults) or found.faults == [UNCHECKED]:
            return None
        if extras and (extra := _extra(found, args)):
            known = {key: value for key, value in args.items() if key not in extra}
            return None if not isinstance(self._looked(name, known), Faults) else found.message
        return found.message

    def fits(self, name: str, args: dict[str, Any]) -> bool:
        """Whether ``args`` are seen to fit the tool of this name at a glance, which costs next to nothing."""
        tool = self._known(name)
        return tool is not None and tool.schema.plainly_fits(args)

    def coerced(self, name: str, args: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """``args`` as the tool of this name takes them and what was done for it: as they are, nothing, if unknown."""
        if self.fits(name, args):
            return args, []
        known, seen, found = self._found.get(id(args), (None, None, None))
        if known != name or seen is not args:
            found = self._looked(name, args)
        if isinstance(found, Faults) and (extra := _extra(found, args)):
            # They are not for us to judge: a schema that does not mention further properties allows them.
            found = self._looked(name, {key: value for key, value in args.items() if key not in extra})
            if isinstance(found, Accepted):
                return {**found.args, **{key: args[key] for key in extra}}, found.coercions
        return (found.args, found.coercions) if isinstance(found, Accepted) else (args, [])

    def refused(self, name: str, args: dict[str, Any]) -> str | None:
        """What `faults` found wrong with the very same ``args`` before, also where it let it pass."""
        known, seen, found = self._found.get(id(args), (None, None, None))
        if known != name or seen is not args or not isinstance(found, Faults) or found.faults == [UNCHECKED]:
            return None
        return found.message

    def misfits(self, name: str, args: dict[str, Any]) -> bool:
        """Whether ``args`` are known not to fit as they are, without any coercion."""
        checked = self._checked(name, args)
        return checked is not None and self._timed(find_faults, checked.schema, args) not in ([], [UNCHECKED])

    def _checked(self, name: str, args: dict[str, Any]) -> Tool | None:
        """The tool that ``args`` can be checked against, if there is one and it costs little."""
        self.values -= _count(args, self.values)
        return None if self.unchecked else self._known(name)

    def _looked(self, name: str, args: dict[str, Any]) -> Accepted | Faults | None:
        """What checking says of ``args``; ``None`` where they are not checked."""
        checked = self._checked(name, args)
        return None if checked is None else self._timed(check, checked, args)

    def _timed(
        self, look: Callable[[_Schema, dict[str, Any]], _Found], schema: _Schema, args: dict[str, Any]
    ) -> _Found:
        started = perf_counter()
        found = look(schema, args)
        self.seconds -= perf_counter() - started
        return found

    def _known(self, name: str) -> Tool | None:
        """The tool of exactly this name, its schema compiled once; ``None`` where either is none."""
        if name not in self._schemas:
            spec = self.tool(name)
            self._schemas[name] = None if spec is None else _as_tool(spec)
        return self._schemas[name]


def _as_tool(spec: ToolSpec) -> Tool | None:
    if isinstance(spec, Tool):
        return spec
    try:
        schema = json.dumps(spec.parameters)
    except (TypeError, ValueError, RecursionError):
        schema = ""
    return _described(schema) if 0 < len(schema) <= _MAX_KEPT else _tool(spec.parameters)


@lru_cache(maxsize=256)
def _described(schema: str) -> Tool | None:
    """A schema is compiled once for all replies: that takes longer than to read most of them."""
    return _tool(json.loads(schema))


def _tool(parameters: Mapping[str, Any]) -> Tool | None:
    try:
        return Tool("described", "", {"type": "object", **parameters}, _never_called)
    except ToolDefinitionError:
        return None


def _extra(found: Faults, args: dict[str, Any]) -> list[str]:
    """The arguments that the tool does not have."""
    return [fault.path for fault in found.faults if fault.extra and fault.path in args]


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
