"""What a decode error says: what was seen, and what to write instead, for a model of a billion parameters."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from micro_agent.decoding.decision import Reason, ToolSpec

_HINTS = {"cut_off": "Be shorter. ", "ambiguous": "Make one decision only. "}
_MAX_EXPECTED = 299
_MAX_FORM = 130
_FINAL = '{"final": {"answer": "<text>"}}'


def shorten(text: str, limit: int) -> str:
    """``text``, or its beginning and its end with ``…`` between, ``limit`` characters in all."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 3
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def expected(reason: Reason, names: Iterable[str] | None, tool: ToolSpec | None = None) -> str:
    """The form of a decision, with ``tool`` as the example if given, and the names of the tools; under 300 characters.

    Args:
        reason: What was wrong; some reasons want a hint.
        names: The tools that may be called; ``None`` when they are not known.
        tool: The one that the model seems to mean.
    """
    listed = None if names is None else list(names)
    if listed is not None and not listed:
        return f"{_HINTS.get(reason, '')}There are no tools. Answer the question in plain text."
    form = _call_form(tool) if tool else '{"tool": {"name": "<tool name>", "args": {<arguments>}}}'
    text = f"{_HINTS.get(reason, '')}Reply with one JSON object and nothing else: {form} or {_FINAL}."
    if listed is None:
        return text
    return shorten(f"{text} Tools: {_names(listed, _MAX_EXPECTED - len(text) - 9)}", _MAX_EXPECTED)


def _call_form(tool: ToolSpec) -> str:
    """``{"tool": {"name": "add", "args": {"a": <integer>}}}`` with all arguments, or the required ones, or neither."""
    properties = _mapping(tool.parameters.get("properties"))
    wanted = tool.parameters.get("required")
    required = [key for key in properties if isinstance(wanted, list) and key in wanted]
    for keys in (list(properties), required):
        args = ", ".join(f"{json.dumps(key)}: {_placeholder(properties[key])}" for key in keys)
        form = f'{{"tool": {{"name": "{tool.name}", "args": {{{args}}}}}}}'
        if len(form) <= _MAX_FORM:
            return form
    return f'{{"tool": {{"name": "{shorten(tool.name, 64)}", "args": {{<arguments>}}}}}}'


def _placeholder(schema: object) -> str:
    kind = _mapping(schema).get("type")
    if kind == "string":
        return '"<text>"'
    return f"<{kind}>" if isinstance(kind, str) else "<value>"


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _names(names: list[str], room: int) -> str:
    """As many names as fit into ``room`` characters, and how many more there are."""
    shown = list(names)
    while len(shown) > 1 and len(_listed(shown, len(names))) > room:
        shown.pop()
    return _listed(shown, len(names))


def _listed(shown: list[str], total: int) -> str:
    more = f" and {total - len(shown)} more" if len(shown) < total else ""
    return f"{', '.join(shown)}{more}."
