"""What a decode error says: what was seen, and what to write instead, for a model of a billion parameters."""

from collections.abc import Iterable
from functools import lru_cache

from micro_agent.decoding.decision import Reason, ToolSpec
from micro_agent.rules.asking_again import ASKING
from micro_agent.tools.form import arguments_form, json_call

_MAX_EXPECTED = 299
_MAX_FORM = 130
_MAX_NAME = 64
_FINAL = '{"final": {"answer": "<text>"}}'


def shorten(text: str, limit: int) -> str:
    """``text``, or its beginning and its end with ``…`` between, ``limit`` characters in all."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 3
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def expected(reason: Reason, names: Iterable[str] | None, tool: ToolSpec | None = None, *, native: bool = False) -> str:
    """What to do instead: `ASKING` says it, with the form of a decision in it; under 300 characters.

    Args:
        reason: What was wrong.
        names: The tools that may be called; ``None`` when they are not known.
        tool: The one that the model seems to mean; it is the example.
        native: Whether tools stand on the wire, so that a call is wanted and not an object in the text.
    """
    asked = ASKING[reason].asked
    listed = None if names is None else list(names)
    if listed is not None and not listed:
        return asked.format(form="There are no tools. Answer the question in plain text.")
    text = asked.format(form=_native_form(tool) if native else _json_form(tool))
    if listed is None:
        return text
    return shorten(f"{text} Tools: {_names(tuple(listed), _MAX_EXPECTED - len(text) - 9)}", _MAX_EXPECTED)


def _native_form(tool: ToolSpec | None) -> str:
    if tool is None:
        return "Call one of the tools, or answer the question in plain text."
    name = shorten(tool.name, _MAX_NAME)
    return f"Call the tool {name} with {arguments_form(tool.parameters, _MAX_FORM)}, or answer in plain text."


def _json_form(tool: ToolSpec | None) -> str:
    call = '{"tool": {"name": "<tool name>", "args": {<arguments>}}}'
    if tool is not None:
        call = json_call(tool.name, tool.parameters, _MAX_FORM)
    return f"Reply with one JSON object and nothing else: {call} or {_FINAL}."


@lru_cache(maxsize=64)
def _names(names: tuple[str, ...], room: int) -> str:
    """As many names as fit into ``room`` characters, and how many more there are."""
    shown = list(names[: max(1, room)])
    while len(shown) > 1 and len(_listed(shown, len(names))) > room:
        shown.pop()
    return _listed(shown, len(names))


def _listed(shown: list[str], total: int) -> str:
    more = f" and {total - len(shown)} more" if len(shown) < total else ""
    return f"{', '.join(shown)}{more}."
