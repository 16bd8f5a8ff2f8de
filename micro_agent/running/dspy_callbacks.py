# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""DSPy's callbacks around what an agent does: each question one call of a module, each tool run one call of a tool."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any, TypeVar
from uuid import uuid4

import dspy
from dspy.utils import with_callbacks

from micro_agent.dspy_internals import ACTIVE_CALL_ID as _ACTIVE
from micro_agent.tools import Outcome, Tool, ToolError
from micro_agent.tools.adopt import FromDspy
from micro_agent.tools.callbacks import told

ACTIVE_CALL_ID: ContextVar[str | None] = _ACTIVE  # pyright: ignore[reportAssignmentType]
F = TypeVar("F", bound=Callable[..., Any])


def module_call(method: F) -> F:
    """A method of a module that DSPy's callbacks see as a call of it, as they see ``module(…)``."""
    wrapped: Any = with_callbacks(method)
    return wrapped


def callbacks_of(tool: Tool) -> Sequence[Any]:
    """DSPy's callbacks that want to know of a tool, most often none."""
    everywhere: list[Any] = dspy.settings.callbacks
    if not isinstance(tool.handler, FromDspy):
        return everywhere
    return [*everywhere, *getattr(tool.handler.tool, "callbacks", ())]


class ToolCall:
    """One run of a tool, for callbacks: it has started when this is made. The tool begins in a ``with`` block.

    To ``on_tool_end`` goes the observation as ``outputs``. Of a tool that failed that is ``None``, and ``exception`` is
    a `ToolError` with the code and the message that the model sees. What a callback raises is a warning.
    """

    def __init__(self, callbacks: Sequence[Any], tool: Tool, args: dict[str, Any]) -> None:
        self._callbacks, self._ident = callbacks, uuid4().hex
        _tell(callbacks, "on_tool_start", call_id=self._ident, instance=_as_dspy(tool), inputs={"kwargs": dict(args)})

    def __enter__(self) -> None:
        self._token = ACTIVE_CALL_ID.set(self._ident)

    def __exit__(self, kind: object, error: BaseException | None, *at: object) -> None:
        ACTIVE_CALL_ID.reset(self._token)
        if error is not None:
            self._end(None, error)

    def ended(self, outcome: Outcome) -> Outcome:
        """Tell what came of it."""
        if outcome.error is None:
            self._end(outcome.observation, None)
        else:
            self._end(None, ToolError(outcome.error, str(outcome.observation.get("message", ""))))
        return outcome

    def _end(self, outputs: Any, exception: BaseException | None) -> None:
        _tell(self._callbacks, "on_tool_end", call_id=self._ident, outputs=outputs, exception=exception)


def _tell(callbacks: Sequence[Any], name: str, **event: Any) -> None:
    for callback in callbacks:
        told(name, partial(_call, callback, name))(event)


def _call(callback: Any, name: str, event: dict[str, Any]) -> None:
    getattr(callback, name)(**event)


@lru_cache(maxsize=256)
def _as_dspy(tool: Tool) -> dspy.Tool:
    """What stands for a tool where DSPy expects one of its own: its name, its description and its arguments."""
    if isinstance(tool.handler, FromDspy):
        return tool.handler.tool

    def called(**kwargs: Any) -> Any:
        return tool(**kwargs)

    properties = dict(tool.parameters.get("properties", {}))
    return dspy.Tool(called, name=tool.name, desc=tool.description, args=properties, arg_types={})
