"""Apertus: ``<|tools_prefix|>[{"name": {<arguments>}}]<|tools_suffix|>``, the name being the key."""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_BEGIN = re.compile(r"<\|tools_prefix\|>")
_END = re.compile(r"<\|tools_suffix\|>")
_MARKUP = Markup("apertus", ("<|tools_prefix|>",), _BEGIN, _END, keyed=True)


def read(source: Source) -> Decision | None:
    """The list of calls between the markers."""
    return read_json(source, _MARKUP)
