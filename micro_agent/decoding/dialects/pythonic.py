"""Calls in Python's syntax between markers: Llama 4, LFM2, OLMo, and whoever writes them into Hermes' tags.

<|tool_call_start|>[get_weather(city="Rome"), now()]<|tool_call_end|>
<function_calls>get_weather(city="Rome")</function_calls>
<|python_tag|>get_weather.call(city="Rome")
"""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.ends import holds_json_calls
from micro_agent.decoding.markup import decided, marks
from micro_agent.decoding.positional import python_shapes, tool_of
from micro_agent.decoding.python_calls import START, extent
from micro_agent.decoding.repair import Unreadable
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source

_MARKED = re.compile(
    r"(?:<\|?tool_calls?(?:_start)?\|?>|<function_calls?>|<\|python_(?:tag|start)\|>|<tool_code>|\[TOOL_CALLS\])"
    rf"\s{{0,20}}(?={START})"
)
_CLOSER = re.compile(
    r"\s*+(?:<(?:\|tool_call_end\||\|python_end\||/function_calls?|/tool_calls?|/tool_code|[|/]{1,2}tool_calls?\|)>)?"
)
_CALL = re.compile(START)
_GAP = re.compile(r"[\s,;]*+")


def read(source: Source) -> Decision | None:
    """The calls in markup, one or several to a marker."""
    text, begin, end = source.text, -1, 0
    shapes: list[Shape] = []
    for mark in marks(source, _MARKED) if _MARKED.search(text) else ():
        if mark.start() < end:
            continue
        begin, end = mark.start() if begin < 0 else begin, mark.end()
        while call := _CALL.match(text, _skip(_GAP, text, end)):
            if (stop := extent(text, call.start())) is None:
                return decided(shapes, source, dialect="pythonic", span=(begin, len(text)), unfinished=True)
            if mark[0].startswith("<|python_tag") and not _is_call(call["name"], source):
                return None  # code for an interpreter
            try:
                shapes += python_shapes(text[call.start() : stop], source)
            except Unreadable as why:
                return decided(shapes, source, dialect="pythonic", span=(begin, stop), fault=str(why))
            end = stop
        end = _skip(_CLOSER, text, end)
    if not shapes or holds_json_calls(text):
        return None
    return decided(shapes, source, dialect="pythonic", span=(begin, end))


def _is_call(name: str, source: Source) -> bool:
    return name.endswith(".call") or (source.offer.tools is not None and tool_of(name, source) is not None)


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
