"""What is accepted wherever a Tool is: a Tool, a plain typed function, a ``dspy.Tool``."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from micro_agent.errors import ToolDefinitionError
from micro_agent.tools.derive import tool
from micro_agent.tools.tool import Tool

_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, eq=False)
class FromDspy:
    """A ``dspy.Tool`` as a handler. DSPy's callbacks are told nothing here: they are for all tools, where they run."""

    tool: Any

    def __call__(self, **kwargs: Any) -> Any:
        """Call it."""
        return _untold(type(self.tool).__call__)(self.tool, **kwargs)


class AsyncFromDspy(FromDspy):
    """The same of one whose function is asynchronous."""

    async def __call__(self, **kwargs: Any) -> Any:
        """Await it."""
        kind = cast("Any", type(self.tool))
        return await _untold(kind.acall)(self.tool, **kwargs)


def as_tool(obj: object) -> Tool:
    """``obj`` as a Tool.

    Args:
        obj: A Tool, a typed function or method (see `micro_agent.tools.tool`), or a ``dspy.Tool``.

    Raises:
        ToolDefinitionError: It is none of these, or cannot be one as it is.
    """
    if isinstance(obj, Tool):
        return obj
    if _is_dspy(obj):
        return _from_dspy(obj)
    if inspect.isfunction(obj) or inspect.ismethod(obj):
        return tool(obj)
    shown = obj.__name__ if isinstance(obj, type) else f"a value of type {type(obj).__name__}"
    raise ToolDefinitionError(f"{shown} is not a tool: pass a Tool, a function with typed arguments, or a dspy.Tool")


def _is_dspy(obj: object) -> bool:
    """Told by its class, so that DSPy is not imported to ask."""
    return any(c.__name__ == "Tool" and c.__module__.partition(".")[0] == "dspy" for c in type(obj).__mro__)


def _untold(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a ``dspy.Tool`` without the callbacks that DSPy has put around it."""
    return getattr(method, "__wrapped__", method)


def _from_dspy(obj: Any) -> Tool:
    named = inspect.signature(obj.func).parameters
    args: dict[str, Any] = dict(obj.args or {})
    open_ended = [key for key in args if key in named and named[key].kind in _STARRED]
    for key in open_ended:  # DSPy lists *args and **kwargs as if they were arguments
        del args[key]
    required = [key for key in args if _needed(key, args[key], named)]
    parameters = {"type": "object", "properties": args, "required": required, "additionalProperties": bool(open_ended)}

    handler = (AsyncFromDspy if inspect.iscoroutinefunction(obj.func) else FromDspy)(obj)
    return Tool(obj.name, obj.desc or "", parameters, handler)


def _needed(key: str, part: dict[str, Any], named: Mapping[str, inspect.Parameter]) -> bool:
    """Whether the function has no default for the argument; DSPy's own rule where its signature does not name it."""
    if key in named:
        return named[key].default is inspect.Parameter.empty
    return "default" not in part
