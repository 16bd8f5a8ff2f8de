"""Llama 3: ``<|python_tag|>{…}; {…}`` and ``<function=name>{…}</function>``.

The second in all the spellings that Groq's ``failed_generation`` shows: ``<function=name{…}</function>``,
``<function(name){…}``, ``<function/name>{…}``, ``<function name="…">{…}``.
"""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_TAG = re.compile(r"<\|python_tag\|>")
_TAG_END = re.compile(r"<\|eo[mt]_id\|>")
_WORDS = r"(?:function(?:_call)?|tool(?:_call)?)"
_FUNCTION = re.compile(
    rf"""</?{_WORDS}\s{{0,3}}[=(/:\s]\s{{0,3}}(?:name\s{{0,3}}=\s{{0,3}})?["']?(?P<name>(?!\w{{1,20}}\s?=)[A-Za-z_][\w.-]{{0,127}}+)["']?+"""
    rf"""[\s)>,=(]{{0,8}}(?=[{{\["]|</{_WORDS})"""
)
_FUNCTION_END = re.compile(rf"(?:\)>?\s*+|>\s*+)?<[/\\]?{_WORDS}>?|<\|eo[mt]_id\|>")
_BUILT_IN = Markup("llama", ("<|python_tag|>",), _TAG, _TAG_END)
_CUSTOM = Markup("llama", ("<function", "</function", "<tool"), _FUNCTION, _FUNCTION_END)


def read(source: Source) -> Decision | None:
    """The calls behind ``<|python_tag|>``, else those in ``<function=…>``."""
    return read_json(source, _BUILT_IN) or read_json(source, _CUSTOM)
