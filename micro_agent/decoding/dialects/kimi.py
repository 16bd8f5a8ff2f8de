"""Moonshot Kimi K2: ``<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>``."""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_OPENING = re.compile(r"<\|tool_call(?:s?_section)?_begin\|>")
_BEGIN = re.compile(
    r"(?=<\||(?<![\w/-])[A-Za-z_])(?:<\|tool_calls?_section_begin\|>\s*+)?(?:<\|tool_call_begin\|>\s*+)?"
    r"(?:functions\.)?(?<![\w/-])(?P<name>[A-Za-z_][\w./-]{0,127}+)(?::\d{1,6})?\s{0,9}<\|tool_call_argument_begin\|>"
)
_END = re.compile(r"<\|tool_call_end\|>(?:\s*+<\|tool_calls?_section_end\|>)?")
_SECTION_END = re.compile(r"<\|tool_calls?_section_end\|>")
_MARKUP = Markup("kimi", ("<|tool_call_argument_begin|>",), _BEGIN, _END, opening=_OPENING, section_end=_SECTION_END)


def read(source: Source) -> Decision | None:
    """The calls of one section."""
    return read_json(source, _MARKUP)
