"""Calls in Python's syntax as shapes: arguments given by place get the names that the tool's schema has for them."""

from collections.abc import Mapping
from typing import Any, cast

from micro_agent.decoding.decision import ToolSpec
from micro_agent.decoding.keys import TELLING, plain
from micro_agent.decoding.page import Page
from micro_agent.decoding.pythonic.calls import arguments
from micro_agent.decoding.repair.mending import Unreadable
from micro_agent.decoding.shapes import Shape, call_shapes


def python_shape(name: str, text: str, page: Page, *, loose: bool = False) -> Shape:
    """The call of ``name`` with the arguments that ``text`` is, its brackets around them.

    Raises:
        Unreadable: It consists of something else, or an argument's name would be a guess.
    """
    positional, keywords = arguments(text, page.offer.allowance, loose=loose)
    tool = page.offer.resolve(name)
    if tool is None and is_told(name) and (told := _told(positional, keywords)) is not None:
        return told
    args = by_name(positional, keywords, page.offer.tool(tool)) if positional else keywords
    return Shape(tool or name, args, "explicit")


def _told(positional: list[Any], keywords: dict[str, Any]) -> Shape | None:
    """The call that ``call_tool("name", {…})`` or ``ToolCall(name="name", args={…})`` speaks of."""
    if not positional:
        shapes = call_shapes(keywords) or []
        return shapes[0] if len(shapes) == 1 else None
    name, *rest = positional
    args = rest[0] if rest else keywords
    alone = isinstance(name, str) and isinstance(args, dict) and len(rest) <= 1 and not (rest and keywords)
    return Shape(cast("str", name), args, "explicit") if alone else None


def is_told(name: str) -> bool:
    """Whether a function of this name calls the tool that its arguments name."""
    return plain(name.rpartition(".")[2]) in TELLING


def by_name(values: list[Any], keywords: Mapping[str, Any], tool: ToolSpec | None) -> dict[str, Any]:
    """The arguments of a call by name.

    A lone object is the arguments themselves where its keys are the tool's. Else values take the names in the order
    of the schema, as far as that order is beyond doubt: there is one property only, or those that are required come
    first.

    Raises:
        Unreadable: Which argument is meant would be a guess.
    """
    properties = _properties(tool)
    if len(values) == 1 and not keywords and isinstance(values[0], dict):
        given = cast("dict[str, Any]", values[0])
        if tool is None or given.keys() <= properties.keys() or len(properties) != 1:
            return given
    names = _order(properties, tool)[: len(values)]
    if len(names) < len(values) or not keywords.keys().isdisjoint(names):
        raise Unreadable("its arguments have no names")
    return {**dict(zip(names, values, strict=True)), **keywords}


def _properties(tool: ToolSpec | None) -> Mapping[str, Any]:
    found = tool.parameters.get("properties") if tool is not None else None
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _order(properties: Mapping[str, Any], tool: ToolSpec | None) -> list[str]:
    """The names whose place is beyond doubt."""
    wanted = tool.parameters.get("required") if tool is not None else None
    required = [name for name in properties if isinstance(wanted, list) and name in wanted]
    names = list(properties)
    if len(names) == 1 or names[: len(required)] == required != []:
        return names
    return required if len(required) == 1 else []
