"""IBM Granite: ``<|tool_call|>[{"name": …, "arguments": {…}}]``, in older models ``<tool_call>[…]``."""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_BEGIN = re.compile(r"<\|?tool_call\|?>(?=\s*\[)")
_END = re.compile(r"</tool_call>|<\|/?tool_call\|>(?!\s*[\[{])|<\|end_of_text\|>")
_MARKUP = Markup("granite", ("tool_call",), _BEGIN, _END)


def read(source: Source) -> Decision | None:
    """The list of calls behind the marker."""
    return read_json(source, _MARKUP)
