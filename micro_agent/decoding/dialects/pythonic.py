"""Calls in Python's syntax between markers: Llama 4, LFM2, OLMo, and whoever writes them into Hermes' tags.

<|tool_call_start|>[get_weather(city="Rome"), now()]<|tool_call_end|>
<function_calls>get_weather(city="Rome")</function_calls>
<|python_tag|>get_weather.call(city="Rome")
"""

import re

from micro_agent.decoding.decision import Decision, Repair
from micro_agent.decoding.markup.shared import decided, different, marks
from micro_agent.decoding.prose.told import LABEL, begins, stands_alone
from micro_agent.decoding.pythonic.calls import START
from micro_agent.decoding.pythonic.positional import extent_of, python_shapes_at, tool_of
from micro_agent.decoding.repair.mending import Unreadable
from micro_agent.decoding.scan.ends import holds_json_calls
from micro_agent.decoding.settle import MAX_CALLS
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source

_SIGNS = ("tool", "function", "python_", "TOOL", "action", "ACTION", "unused11", "<call")
_TOLD = re.compile(r"\[[CcIiEeRrUuTtFfAa]\w{2,8}(?: \w{3,8}){0,2} ?[:-]? ?[A-Za-z_][\w.-]{0,127}\(")
_MARKED = re.compile(
    r"(?=[<\[f])(?:<\|?(?:[a-z]{1,20}_)?(?:tool|function)_?(?:calls?|use|request)(?:_start)?\|?>|<(?:\|tool_call|TOOLCALLS?)>"
    r"|<start_function_call>|<<function>>|(?P<word><(?:tools?|functions?|call)>)"
    r"|<\|(?:python_(?:tag|start)|START_ACTION|tools_prefix|action_start\|>\s{0,9}<\|(?:plugin|interpreter))\|>"
    r"|<[|｜]tool▁calls?▁begin[|｜]>(?:function(?:<[|｜]tool▁sep[|｜]>)?)?"
    r"|<tool_code>|functools(?<!\wfunctools)"
    rf"|\[(?:(?:TOOL_CALLS?|TOOL_REQUEST|unused11)\]|(?P<told>){LABEL}[ ]?[:-]?))"
    rf"\s{{0,20}}+(?:call:\s{{0,9}}+)?(?={START})"
)
_CLOSER = re.compile(
    r"\s*+(?:<(?:\|(?:tool_call_end|python_end|END_ACTION|action_end|tools_suffix)\|"
    r"|/(?:[a-z]{1,20}_)?(?:tool|function)(?:_?(?:calls?|use|request))?|/tools|/TOOLCALLS?|/tool_code|/call|end_function_call"
    r"|[|/]{1,2}tool_calls?\||tool_call\||[|｜]tool▁calls?▁end[|｜])>"
    r"|\[(?:/TOOL_CALLS?|END_TOOL_REQUEST|unused12)\]|\])?"
)
_CALL = re.compile(START)
_LIST_END = re.compile(r"\s*+(?:\Z|\]|<[|/]|,\s*+[A-Za-z_][\w.-]{0,127}\()")
_GAP = re.compile(r"[\s,;]*+")


def read(source: Source) -> Decision | None:
    """The calls in markup, one or several to a marker."""
    text, begin, end = source.text, -1, 0
    if "(" not in text:
        return None
    if not any(sign in text for sign in _SIGNS) and not _TOLD.search(text):
        return None
    torn = False
    parts: list[list[Shape]] = []
    repairs: list[Repair] = []
    for mark in marks(source, _MARKED):
        if mark.start() < end:
            continue
        if len(parts) > MAX_CALLS:
            break
        told, unsure = mark["told"] is not None, mark["told"] is not None or mark["word"] is not None
        if unsure and not _names_tool(text, mark.end(), source):
            continue
        if unsure and not (stands_alone if told else begins)(text, mark.start()):
            continue
        begin, end = mark.start() if begin < 0 else begin, mark.end()
        while len(parts) <= MAX_CALLS and (call := _CALL.match(text, _skip(_GAP, text, end))):
            start, stop = _extent(source, call, torn=torn)
            torn = torn or start > call.start()
            if stop is None:
                return decided([], source, dialect="pythonic", span=(begin, len(text)), unfinished=True)
            if mark[0].startswith("<|python_tag") and not _is_call(call["name"], source):
                return None  # code for an interpreter
            try:
                found, mended = python_shapes_at(source, start, stop)
            except Unreadable as why:
                if unsure:
                    return None  # it may show how to call
                return decided([], source, dialect="pythonic", span=(begin, stop), fault=str(why))
            parts.append(found)
            repairs += mended
            end = stop
        end = _skip(_CLOSER, text, end)
    shapes, repeated = different(parts, source)
    if not shapes or holds_json_calls(text):
        return None
    return decided(shapes, source, dialect="pythonic", span=(begin, end), repairs=[*repeated, *repairs])


def _extent(source: Source, call: re.Match[str], *, torn: bool) -> tuple[int, int | None]:
    """Where a call or a list begins and ends; of a list without its last bracket the first call, if others follow it.

    After one such list (``torn``) all are read like that: looking for each end would be quadratic.
    """
    stop = None if torn and "[" in call[0] else extent_of(source.text, call.start())
    if stop is None and "[" in call[0] and not source.cut_off:
        alone = extent_of(source.text, call.start("name"))
        if alone is not None and _LIST_END.match(source.text, alone):
            return call.start("name"), alone
    return call.start(), stop


def _names_tool(text: str, at: int, source: Source) -> bool:
    """Whether the call at ``at`` is one of a tool: ``[Calling tool: name(…)]`` has no word that only a call has."""
    call = _CALL.match(text, at)
    return call is not None and source.offer.tools is not None and tool_of(call["name"], source) is not None


def _is_call(name: str, source: Source) -> bool:
    return name.endswith(".call") or (source.offer.tools is not None and tool_of(name, source) is not None)


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
