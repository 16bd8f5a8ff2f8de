r"""A decision written as a JSON object that is a string itself, or in one: ``"{\"tool\": …}"`` or ``{\"tool\": …}``."""

import re
from dataclasses import replace

from micro_agent.decoding import json_objects
from micro_agent.decoding.decision import Decision, DecodeError, Final, Repair, ToolCalls
from micro_agent.decoding.repair.mending import Unreadable, exact, repair, unescaped
from micro_agent.decoding.settle import error
from micro_agent.decoding.source import Source

_ESCAPED_OBJECT = re.compile(r"""\s*+(?:```\w*\s*+)?"?\s*+\{\s*+\\+\"""")
_LOST_BRACE = re.compile(r"""(?>(?:\s|```\w*\n)*)(?=["'](?:tool|name|function|action)(?:_?name)?["']\s{0,9}:)""")
_QUOTED_CALL = re.compile(
    r'(?<!["\']:)(?<!["\']: )"(?=\s{0,9}[\[{]\s{0,9}[{\\])[^"\\]*+(?>(?:\\.[^"\\]*+)*)(?P<end>")?'
)
# Were the last quote wanted, each of many that are escaped would be followed to the end.
_MAX_QUOTED = 100


def read(source: Source) -> Decision | None:
    """The decision among the objects of ``source`` (see `json_objects.read`), else among those in its strings."""
    if source.cut_off:
        return json_objects.read(source)
    text = source.text
    if (inner := unescaped(text)) is not None:
        whole = len(text) > 1 and text[0] == text[-1] == '"'
        found = None if whole else json_objects.read(source)
        return found or _decided(read(replace(source, text=inner)), repair("double_encoding", text, inner))
    found = json_objects.read(source)
    if not isinstance(found, ToolCalls):
        found = _in_quotes(source) or found
    if found is None and (opening := _LOST_BRACE.match(text)):
        return _without_brace(source, opening.end())
    if found is None and _ESCAPED_OBJECT.match(text):
        return _half_escaped(source)
    return found


def _decided(found: Decision | None, mended: Repair) -> Decision | None:
    """What was found after ``mended``."""
    return replace(found, repairs=[mended, *found.repairs]) if isinstance(found, ToolCalls | Final) else found


def _without_brace(source: Source, start: int) -> Decision | None:
    """The call in an object whose first brace is missing at ``start``."""
    whole = f"{source.text[:start]}{{{source.text[start:]}"
    found = json_objects.read(replace(source, text=whole))
    return _decided(found, repair("opening_bracket", source.text, whole)) if isinstance(found, ToolCalls) else None


def _half_escaped(source: Source) -> Decision | None:
    """The call in an object of whose quotes only some are escaped, if it is strict JSON without the backslashes."""
    bare = source.text.replace('\\"', '"')
    found = json_objects.read(replace(source, text=bare))
    if isinstance(found, ToolCalls) and not found.repairs:
        return _decided(found, repair("double_encoding", source.text, bare))
    if isinstance(found, ToolCalls | DecodeError):
        return error("malformed", "An object with escaped quotes that cannot be read.", source.offer)
    return None


def _in_quotes(source: Source) -> Decision | None:
    """The calls in JSON strings that stand in the text, as if they were not strings."""
    text = source.text
    if '"{' not in text and '"[' not in text:
        return None
    try:
        bare = _QUOTED_CALL.sub(_bare, text, _MAX_QUOTED)
    except Unreadable:
        return None
    found = json_objects.read(replace(source, text=bare)) if bare != text else None
    return _decided(found, repair("double_encoding", text, bare)) if isinstance(found, ToolCalls) else None


def _bare(quoted: re.Match[str]) -> str:
    """What is in the string; one that a quote ends in the middle of an object stays as it is."""
    inner = str(exact(quoted[0], strict=False)) if quoted["end"] else ""
    return inner if inner.rstrip().endswith(("}", "]")) else quoted[0]
