"""Microsoft Phi-4 mini: ``<|tool_call|>{…}<|/tool_call|>``; it and FireFunction: ``functools[{"name": …}]``."""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_BEGIN = re.compile(r"(?=[<f])(?:<\|tool_calls?\|>|\bfunctools(?=\s*\[))")
_END = re.compile(r"<\|/tool_calls?\|>|<\|end\|>")
_MARKUP = Markup("phi", ("<|tool_call", "functools"), _BEGIN, _END)


def read(source: Source) -> Decision | None:
    """The calls behind the marker."""
    return read_json(source, _MARKUP)
