"""What the arguments of a tool look like, in words for a small model: names and types in place of values."""

import json
from collections.abc import Mapping
from typing import Any, cast

from micro_agent.tools.inlined import inlined, target_of

UNKNOWN_FORM = "{<arguments>}"
_MAX_NAME = 64
_MAX_FORM = 200
_MAX_OPTIONS = 40
_FINAL = '{"final": }'
_EITHER = ("type", "anyOf", "oneOf")


def call_form(name: str, parameters: Mapping[str, Any], *, native: bool = True) -> str:
    """A sentence such as ``Call add with {"a": <integer>}.``, or the same as an object to reply with."""
    if native:
        return f"Call {_cut(name)} with {arguments_form(parameters, _MAX_FORM)}."
    return f"Reply with {json_call(name, parameters, _MAX_FORM)}"


def json_call(name: str, parameters: Mapping[str, Any], most: int) -> str:
    """``{"tool": {"name": "add", "args": {"a": <integer>}}}``, in ``most`` characters if that can be."""
    room = most - len('{"tool": {"name": "", "args": }}') - len(_cut(name))
    return f'{{"tool": {{"name": "{_cut(name)}", "args": {arguments_form(parameters, room)}}}}}'


def final_form(parameters: Mapping[str, Any], most: int) -> str:
    """``{"final": {"year": <integer>}}``: an answer with these outputs in JSON mode, in ``most`` characters."""
    return f'{{"final": {arguments_form(parameters, most - len(_FINAL))}}}'


def arguments_form(parameters: Mapping[str, Any], most: int) -> str:
    """``{"path": "<text>", "lines": <integer>}``: all arguments, or the required ones, or neither.

    Args:
        parameters: JSON Schema of the arguments.
        most: Characters there is room for; `UNKNOWN_FORM` is given where even less would do.
    """
    parameters = inlined(dict(parameters))
    properties = _mapping(parameters.get("properties"))
    wanted = parameters.get("required")
    required = [key for key in properties if isinstance(wanted, list) and key in wanted]
    shown = {key: _followed(part, parameters) for key, part in properties.items()}
    for keys in (list(properties), required):
        form = ", ".join(f"{json.dumps(key)}: {_placeholder(shown[key])}" for key in keys)
        if len(form) + 2 <= most:
            return f"{{{form}}}"
    return UNKNOWN_FORM


def _followed(part: object, parameters: Mapping[str, Any]) -> object:
    """``part``, or the definition that stayed under its reference because it contains itself."""
    ref = _mapping(part).get("$ref")
    return target_of(parameters, ref) if isinstance(ref, str) else part


def _placeholder(schema: object) -> str:
    known = _mapping(schema)
    options = [known["const"]] if "const" in known else known.get("enum")
    if isinstance(options, list) and len(shown := " or ".join(map(_json, cast("list[Any]", options)))) <= _MAX_OPTIONS:
        return f"<{shown}>"
    kind = known.get("type")
    if isinstance(kind, str):
        return '"<text>"' if kind == "string" else f"<{kind}>"
    either = next((cast("list[Any]", known[key]) for key in _EITHER if isinstance(known.get(key), list)), None)
    return "<value>" if either is None else _either(either)


def _either(branches: list[Any]) -> str:
    """What one of several schemas, or of several types, looks like; ``null`` is not worth a word."""
    schemas = [_mapping(branch) or {"type": branch} for branch in branches if branch != "null"]
    shown = dict.fromkeys(_placeholder(schema) for schema in schemas if schema.get("type") != "null")
    text = " or ".join(shown)
    return text if shown and "<value>" not in shown and len(text) <= _MAX_OPTIONS else "<value>"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _cut(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
