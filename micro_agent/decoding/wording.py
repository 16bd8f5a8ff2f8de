"""What a decode error says: what was seen, and what to write instead, for a model of a billion parameters."""

from collections.abc import Iterable
from functools import lru_cache

from micro_agent.decoding.decision import Reason, ToolSpec
from micro_agent.rules.asking_again import ASKING
from micro_agent.tools.form import arguments_form, final_form, json_call

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


def expected(
    reason: Reason, names: Iterable[str] | None, tool: ToolSpec | None = None, *, native: bool = False,
    submit: ToolSpec | None = None,
) -> str:  # fmt: skip
    """What to do instead: `ASKING` says it, with the form of a decision in it; under 300 characters.

    Args:
        reason: What was wrong.
        names: The tools that may be called; ``None`` when they are not known.
        tool: The one that the model seems to mean; it is the example.
        native: Whether tools stand on the wire, so that a call is wanted and not an object in the text.
        submit: The tool that takes the outputs of an answer, where that has a schema.
    """
    asked, ends = ASKING[reason].asked, submit.name if submit is not None else None
    listed = None if names is None else [name for name in names if name != ends]
    other = tool if tool is None or tool.name != ends else None
    if listed is not None and not listed:
        return asked.format(form=_alone(submit, native=native))
    text = asked.format(form=_native_form(other, submit) if native else _json_form(other, submit))
    if listed is None:
        return text
    return shorten(f"{text} Tools: {_names(tuple(listed), _MAX_EXPECTED - len(text) - 9)}", _MAX_EXPECTED)


def _alone(submit: ToolSpec | None, *, native: bool) -> str:
    """How to answer where there are no tools."""
    if submit is None:
        return "There are no tools. Answer the question in plain text."
    if native:
        return f"Call {submit.name} with {arguments_form(submit.parameters, _MAX_FORM)}."
    return f"Reply with one JSON object and nothing else: {_final(submit)}."


def _native_form(tool: ToolSpec | None, submit: ToolSpec | None) -> str:
    call = "Call one of the tools"
    if tool is not None:
        call = f"Call the tool {shorten(tool.name, _MAX_NAME)} with {arguments_form(tool.parameters, _MAX_FORM)}"
    if submit is not None:
        return f"{call}, or {submit.name} with {arguments_form(submit.parameters, _MAX_FORM)}."
    return f"{call}, or answer{'' if tool else ' the question'} in plain text."


def _json_form(tool: ToolSpec | None, submit: ToolSpec | None) -> str:
    call = '{"tool": {"name": "<tool name>", "args": {<arguments>}}}'
    if tool is not None:
        call = json_call(tool.name, tool.parameters, _MAX_FORM)
    return f"Reply with one JSON object and nothing else: {call} or {_final(submit)}."


def _final(submit: ToolSpec | None) -> str:
    return _FINAL if submit is None else final_form(submit.parameters, _MAX_FORM)


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
