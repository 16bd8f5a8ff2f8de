"""What JSON values say: the shapes in which models write a call, and those of a final answer."""

import json
from dataclasses import dataclass
from typing import Any, Literal, cast

NAME_KEYS = ("tool", "tool_name", "function_name", "name", "function", "action")
ARGUMENT_KEYS = (
    "args", "arguments", "parameters", "params", "kwargs", "input", "inputs",
    "action_input", "tool_input", "tool_args", "tool_arguments",
)  # fmt: skip
WRAPPERS = ("tool", "function", "tool_call", "function_call", "action", "decision", "output", "response")
LISTS = ("tool_calls", "function_calls", "calls")
FINAL_KEYS = ("final", "final_answer", "answer")
FINAL_NAMES = frozenset({"final", "final_answer", "final answer", "finalanswer", "answer"})
_BESIDE = frozenset({"id", "type", "call_id", "tool_call_id"})
_THOUGHT = frozenset({"thought", "thoughts", "thinking", "reasoning", "reason", "explanation"})
_MAX_NESTING = 4

Strength = Literal["explicit", "bare", "named", "loose"]
"""How much an object looks like a call: it has a key for the arguments; it has a name and nothing else; it has a key
that only a call has, and arguments beside it; it may as well be data that has a name."""


@dataclass(frozen=True, slots=True)
class Shape:
    """An object that looks like a call: the name it gives, and its arguments as they stand there, of any type."""

    name: str
    args: Any
    strength: Strength


def call_shapes(value: Any) -> list[Shape] | None:
    """The calls that a JSON value is: one for an object, several for a list of them; ``None`` when it is no call."""
    return _shapes(value, _MAX_NESTING)


def _shapes(value: Any, nesting: int) -> list[Shape] | None:
    if isinstance(value, list):
        return _all_shapes(cast("list[Any]", value), nesting)
    if not isinstance(value, dict) or nesting == 0:
        return None
    known = cast("dict[str, Any]", value)
    for key in LISTS:
        if isinstance(known.get(key), list):
            return _all_shapes(known[key], nesting)
    found = _shape(known)
    return [found] if found else _wrapped(known, nesting)


def _all_shapes(values: list[Any], nesting: int) -> list[Shape] | None:
    """The calls of a list when it holds nothing else than calls (and a final answer, which they outrank)."""
    values = [value for value in values if final_answer(value) is None]
    found = [_shapes(value, nesting - 1) if isinstance(value, dict) else None for value in values]
    if not found or None in found:
        return None
    return [shape for shapes in found if shapes for shape in shapes]


def _wrapped(value: dict[str, Any], nesting: int) -> list[Shape] | None:
    """``{"tool": {…}}`` and its like; the arguments may stand inside or beside."""
    for key in WRAPPERS:
        if not isinstance(value.get(key), dict | list):
            continue
        inner = _shapes(value[key], nesting - 1)
        beside = next((k for k in ARGUMENT_KEYS if k in value), None)
        if inner and len(inner) == 1 and inner[0].strength == "bare" and beside:
            return [Shape(inner[0].name, value[beside], "explicit")]
        if inner and key in ("tool", "tool_call", "function_call"):
            return [_promoted(shape) for shape in inner]
        if inner:
            return inner
    return None


def _promoted(shape: Shape) -> Shape:
    """Data does not stand under a key that only a call has."""
    return Shape(shape.name, shape.args, "named") if shape.strength in ("bare", "loose") else shape


def _shape(value: dict[str, Any]) -> Shape | None:
    key = next((k for k in NAME_KEYS if isinstance(value.get(k), str) and value[k]), None)
    if key is None:
        return None
    arguments = next((k for k in ARGUMENT_KEYS if k in value and k != key), None)
    if arguments is not None:
        return None if _is_schema(value[arguments]) else Shape(value[key], value[arguments], "explicit")
    rest = {k: v for k, v in value.items() if k != key and k not in _BESIDE | _THOUGHT and k not in FINAL_KEYS}
    if key in ("tool", "tool_name", "function_name"):
        return Shape(value[key], rest, "named")
    return Shape(value[key], rest, "loose" if rest else "bare")


def _is_schema(args: Any) -> bool:
    """Whether a tool is described here, as the system prompt does, and not called."""
    known = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
    return known.get("type") == "object" and isinstance(known.get("properties"), dict)


def final_answer(value: Any) -> str | None:
    """The answer in an object that says it is the final one, ``None`` when it does not.

    ``{"answer": …}`` alone may be an answer in JSON to the user, so nothing but a thought may stand beside it.
    """
    if not isinstance(value, dict):
        return None
    known = cast("dict[str, Any]", value)
    if known.get("final") is not None and not isinstance(known["final"], bool):
        return _answer_text(known["final"])
    said = {key for key, inner in known.items() if inner not in (None, "", [], {})} - _THOUGHT - _BESIDE - {"final"}
    for key in ("final_answer", "answer"):
        if known.get(key) is not None and said <= {key}:
            return _answer_text(known[key])
    return None


def final_call(shape: Shape) -> str | None:
    """The answer in a call of a tool named ``final_answer`` or the like, which models make up."""
    if shape.name.strip().casefold() not in FINAL_NAMES or shape.strength != "explicit":
        return None
    return _answer_text(shape.args)


def _answer_text(value: Any) -> str:
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        for key in ("answer", "final_answer", "text", "content", "response"):
            if key in known:
                return _answer_text(known[key])
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
