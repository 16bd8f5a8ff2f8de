"""Hermes, Qwen and everybody who took their tags: ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``.

Also ``<tools>``, ``<function_call>``, ``<tool_calls>[…]``, ``<TOOLCALL>[…]`` (Nemotron), ``<longcat_tool_call>``,
``<|tool_call_start|>``, ``<|function_call|>`` (GigaChat 3.1) and what models make of these.
"""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_WORDS = (
    r"(?:\w{1,20}[:_-])?(?:tool|function|action)s?"
    r"(?:[ _-]?(?:call|use|request|code|invocation)s?)?(?:_(?:start|begin))?"
)
_OPENING = rf"<(?=[|\w])(?:\|{_WORDS}\|?|{_WORDS})>"  # it begins with one sign, to which `re` skips fast
_BEGIN = re.compile(rf"{_OPENING}(?:\s{{0,9}}{_OPENING})?", re.IGNORECASE)
_CLOSED = r"(?:\w{1,20}[:_-])?(?:tool|function|action|call)\w{0,20}"
_END = re.compile(  # an opening tag closes as well, where nothing follows that it may open
    rf"<(?=[|/\w])\|?(?:/{_CLOSED}(?:\|?>|(?=\s*\Z))|{_CLOSED}\|?>(?!\s*+(?:```\w*\s*+)?[{{\[\"])|(?<=\|)im_end\|>)",
    re.IGNORECASE,
)
_MARKUP = Markup("hermes", ("tool", "Tool", "TOOL", "function", "FUNCTION", "action", "ACTION"), _BEGIN, _END)


def read(source: Source) -> Decision | None:
    """The calls in tags, one or several to a tag."""
    return read_json(source, _MARKUP)
