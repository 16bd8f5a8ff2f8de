"""What the arguments of a tool look like, in words for a small model: names and types in place of values."""

import json
from collections.abc import Mapping
from typing import Any, cast

UNKNOWN_FORM = "{<arguments>}"
_MAX_NAME = 64
_MAX_FORM = 200
_MAX_OPTIONS = 40


def call_form(name: str, parameters: Mapping[str, Any], *, native: bool = True) -> str:
    """A sentence such as ``Call add with {"a": <integer>}.``, or the same as an object to reply with."""
    if native:
        return f"Call {_cut(name)} with {arguments_form(parameters, _MAX_FORM)}."
    return f"Reply with {json_call(name, parameters, _MAX_FORM)}"


def json_call(name: str, parameters: Mapping[str, Any], most: int) -> str:
    """``{"tool": {"name": "add", "args": {"a": <integer>}}}``, in ``most`` characters if that can be."""
    room = most - len('{"tool": {"name": "", "args": }}') - len(_cut(name))
    return f'{{"tool": {{"name": "{_cut(name)}", "args": {arguments_form(parameters, room)}}}}}'


def arguments_form(parameters: Mapping[str, Any], most: int) -> str:
    """``{"path": "<text>", "lines": <integer>}``: all arguments, or the required ones, or neither.

    Args:
        parameters: JSON Schema of the arguments.
        most: Characters there is room for; `UNKNOWN_FORM` is given where even less would do.
    """
    properties = _mapping(parameters.get("properties"))
    wanted = parameters.get("required")
    required = [key for key in properties if isinstance(wanted, list) and key in wanted]
    for keys in (list(properties), required):
        form = ", ".join(f"{json.dumps(key)}: {_placeholder(properties[key])}" for key in keys)
        if len(form) + 2 <= most:
            return f"{{{form}}}"
    return UNKNOWN_FORM


def _placeholder(schema: object) -> str:
    known = _mapping(schema)
    kind, options = known.get("type"), known.get("enum")
    if isinstance(options, list) and len(shown := " or ".join(map(_json, cast("list[Any]", options)))) <= _MAX_OPTIONS:
        return f"<{shown}>"
    if kind == "string":
        return '"<text>"'
    return f"<{kind}>" if isinstance(kind, str) else "<value>"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _cut(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
