# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""DSPy's callbacks around what an agent does: each question one call of a module, each tool run one call of a tool."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any, TypeVar
from uuid import uuid4

import dspy
from dspy.utils import with_callbacks

from micro_agent.callbacks import told
from micro_agent.dspy_internals import ACTIVE_CALL_ID as _ACTIVE
from micro_agent.tools import Outcome, Tool, ToolError
from micro_agent.tools.adopt import FromDspy

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


class Told:
    """One run of a tool, for callbacks: ``outcome`` is what came of it."""

    outcome: Outcome | None = None


@contextmanager
def tool_call(callbacks: Sequence[Any], tool: Tool, args: dict[str, Any]) -> Generator[Told]:
    """Tell ``on_tool_start`` before a tool runs in this block, and ``on_tool_end`` after it.

    ``outputs`` is the observation. Of a tool that failed it is ``None``, and ``exception`` is a `ToolError` with the
    code and the message that the model sees. What a callback raises is a warning.
    """
    call, ident = Told(), uuid4().hex
    _tell(callbacks, "on_tool_start", call_id=ident, instance=_as_dspy(tool), inputs={"kwargs": dict(args)})
    token = ACTIVE_CALL_ID.set(ident)
    raised: BaseException | None = None
    try:
        yield call
    except BaseException as error:
        raised = error
        raise
    finally:
        ACTIVE_CALL_ID.reset(token)
        outputs, exception = (None, raised) if call.outcome is None else _end(call.outcome)
        _tell(callbacks, "on_tool_end", call_id=ident, outputs=outputs, exception=exception)


def _tell(callbacks: Sequence[Any], name: str, **event: Any) -> None:
    for callback in callbacks:
        told(name, partial(_call, callback, name))(event)


def _call(callback: Any, name: str, event: dict[str, Any]) -> None:
    getattr(callback, name)(**event)


def _end(outcome: Outcome) -> tuple[Any, ToolError | None]:
    if outcome.error is None:
        return outcome.observation, None
    return None, ToolError(outcome.error, str(outcome.observation.get("message", "")))


@lru_cache(maxsize=256)
def _as_dspy(tool: Tool) -> dspy.Tool:
    """What stands for a tool where DSPy expects one of its own: its name, its description and its arguments."""
    if isinstance(tool.handler, FromDspy):
        return tool.handler.tool

    def called(**kwargs: Any) -> Any:
        return tool(**kwargs)

    properties = dict(tool.parameters.get("properties", {}))
    return dspy.Tool(called, name=tool.name, desc=tool.description, args=properties, arg_types={})
