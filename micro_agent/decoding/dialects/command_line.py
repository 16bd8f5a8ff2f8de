"""A call written like a command: ``get_weather city="Rome" days=3`` or ``/get_weather --city Rome``, alone on its line.

A call only when the line is all there is, begins with a tool's name and names nothing but arguments of that tool.
"""

import re

from micro_agent.decoding.decision import Decision, ToolCalls
from micro_agent.decoding.markup.shared import decided
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source

_MAX_LINE = 4_000
_LINE = re.compile(
    r"(?:```\w*\n)?[`/$>\s]{0,4}(?P<name>[A-Za-z_][\w.-]{0,127}+)[ \t]+(?P<args>(?:--)?[A-Za-z_][^\n]*+)"
)
_PAIR = re.compile(
    r"(?:--(?P<option>\w[\w-]{0,63}+)[ =]|(?P<key>\w{1,64}+)=)"
    r"""(?:"(?P<double>[^"\\]*)"|'(?P<single>[^'\\]*)'|(?P<bare>[^\s"'`=,(){}\[\]]+))(?:,?[ \t]+|\Z)"""
)


def read(source: Source) -> Decision | None:
    """The call, if all of the line is one and its arguments fit."""
    text = source.text.strip().removesuffix("```").rstrip("` \n")
    may = len(text) <= _MAX_LINE and ("=" in text or "--" in text)
    line = _LINE.fullmatch(text) if may and source.offer.tools and not source.cut_off else None
    name = source.offer.resolve(line["name"]) if line else None
    if line is None or name is None:
        return None
    args: dict[str, object] = {}
    at, known = 0, source.offer.properties(name)
    while pair := _PAIR.match(line["args"], at):
        key = pair["key"] or pair["option"].replace("-", "_")
        said = next(pair[kind] for kind in ("double", "single", "bare") if pair[kind] is not None)
        if key not in known or key in args:
            return None
        args[key] = typed(said, source.offer.types(name, key), source.offer.allowance)
        at = pair.end()
    if at < len(line["args"]):
        return None
    span = 0, len(source.text)
    decision = decided([Shape(name, args, "explicit")], source, dialect="command_line", span=span)
    return decision if isinstance(decision, ToolCalls) else None
