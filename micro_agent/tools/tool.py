"""What a tool is: a name, a description, a JSON Schema and the function behind them."""

import inspect
import logging
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from micro_agent.errors import ToolDefinitionError
from micro_agent.tools.callbacks import described
from micro_agent.tools.jobs import TimedOut, done
from micro_agent.tools.schema import Schema, compile_schema

Handler = Callable[..., Any]
Confirmation = bool | Callable[[dict[str, Any]], bool]
Preview = Callable[[dict[str, Any]], dict[str, Any]]
Rejected = Callable[[dict[str, Any], str | None], Any]

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # no marker of the loop's own steps can match it
_MIN_CHARS = 200
_log = logging.getLogger("micro_agent")


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """Something that the model can call.

    Attributes:
        name: What the model calls it: letters, digits, ``_``, ``.`` and ``-``, at most 64 characters.
        description: What it does, for the model.
        parameters: JSON Schema (draft 2020-12) of the arguments: that of an object, with or without a ``type``.
        handler: The function, sync or async. It gets the arguments as keywords and returns JSON-able data.
        read_only: It changes nothing, so it may be run again after a crash, and beside others in threads of their own.
        destructive: What it does cannot be undone: a call that was read out of markup or other text is put to a person.
        requires_confirmation: A person must agree before it runs: always, or when this function of the arguments says.
        preview: What a person is shown of a call beside its arguments, as JSON-able data. It is made before anybody is
            asked, and once more right before the call is made: it must come out the same. A `ToolError` of it is the
            observation, and nobody is asked. ``kind`` (``patch``, ``command``), ``id`` and ``text`` are shown as such.
        rejected: The observation of a call that a person rejected, from its arguments and the feedback. Without it, the
            error ``APPROVAL_REJECTED``.
        behind: Tools that the model is not told of, and calls through this one, whose arguments name one of them
            (``tool``) and have its own (``arguments``). What runs, is asked about and is recorded is the tool behind.
        repository: The folder that it lets a model work in: an agent takes no demos from there and writes no traces.
        timeout_s: Seconds that the handler may take. ``None`` calls it in the caller's thread: for pure quick ones.
        max_chars: The most characters of JSON that the model sees of a result; the middle of a longer one is cut.

    Raises:
        ToolDefinitionError: One of them is not as described; the message says which.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    handler: Handler
    preview: Preview | None = field(default=None, kw_only=True)
    rejected: Rejected | None = field(default=None, kw_only=True)
    read_only: bool = field(default=False, kw_only=True)
    destructive: bool = field(default=False, kw_only=True)
    requires_confirmation: Confirmation = field(default=False, kw_only=True)
    timeout_s: float | None = field(default=30.0, kw_only=True)
    max_chars: int = field(default=8000, kw_only=True)
    repository: Path | None = field(default=None, kw_only=True)
    behind: "Mapping[str, Tool]" = field(default_factory=dict[str, "Tool"], kw_only=True, repr=False)
    function: Handler | None = field(default=None, kw_only=True, repr=False)
    """The function as it was written, where the handler is made from it; calling the tool calls this one."""
    schema: Schema = field(init=False, repr=False)
    """``parameters``, compiled."""
    is_async: bool = field(init=False, repr=False)
    """Whether the handler is a coroutine function."""

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_options(self)
        object.__setattr__(self, "schema", compile_schema(self.name, self.parameters))
        object.__setattr__(self, "parameters", self.schema.root)
        object.__setattr__(self, "is_async", _is_async(self.handler))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function behind the tool, as if it were not a tool: no validation, no timeout, no confirmation."""
        return (self.function or self.handler)(*args, **kwargs)

    def __copy__(self) -> "Tool":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tool":
        """The same tool: it cannot change, and what its handler holds (locks, connections) must not be doubled."""
        return self

    def needs_confirmation(self, args: dict[str, Any]) -> bool:
        """Whether a person must agree to this call.

        A function is asked in a thread. One that fails to say within ``timeout_s`` counts as yes, with a warning.
        """
        asked = self.requires_confirmation
        if isinstance(asked, bool):
            return asked
        try:
            answer = done(lambda job: _said(asked, args), self.timeout_s)
        except TimedOut:
            answer = f"it took more than {self.timeout_s:g} s"
        if isinstance(answer, str):
            _log.warning("tool %r: requires_confirmation failed (%s); asking for confirmation", self.name, answer)
        return bool(answer)


def _said(asked: Callable[[dict[str, Any]], bool], args: dict[str, Any]) -> bool | str:
    """What the function says, or in words why it says nothing."""
    try:
        return bool(asked(args))
    except BaseException as error:  # noqa: BLE001 any fault of a user's function must end in asking
        return described(error)


def _is_async(handler: Handler) -> bool:
    call = getattr(handler, "__call__", None)  # noqa: B004 the method itself is asked for
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(call)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        legal = "use 1 to 64 of the characters A-Z a-z 0-9 _ . -"
        raise ToolDefinitionError(f"{name!r} cannot be the name of a tool: {legal}")


def _check_options(tool: Any) -> None:
    faults = (
        (not isinstance(tool.description, str), "description must be text"),
        (not callable(tool.handler), "handler must be a function"),
        (tool.destructive and tool.read_only, "read_only and destructive exclude each other; leave one of them out"),
        (not _is_confirmation(tool.requires_confirmation), "requires_confirmation must be a bool or a plain function"),
        (not (tool.preview is None or _is_plain(tool.preview)), "preview must be a plain function of the arguments"),
        (not (tool.rejected is None or _is_plain(tool.rejected)), "rejected must be a plain function"),
        (not _is_timeout(tool.timeout_s), "timeout_s must be a number of seconds above 0, or None to run it inline"),
        (not _is_size(tool.max_chars), f"max_chars must be a whole number of at least {_MIN_CHARS}"),
    )
    for wrong, text in faults:
        if wrong:
            raise ToolDefinitionError(f"tool {tool.name!r}: {text}")


def _is_confirmation(value: object) -> bool:
    return isinstance(value, bool) or _is_plain(value)


def _is_plain(value: object) -> bool:
    return callable(value) and not inspect.iscoroutinefunction(value)


def _is_timeout(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and math.isfinite(value) and value > 0)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and value >= _MIN_CHARS
