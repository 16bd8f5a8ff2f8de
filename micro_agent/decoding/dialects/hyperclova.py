"""HyperCLOVA X: ``<|im_start|>assistant -> tool/function_call`` and a list of calls."""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_BEGIN = re.compile(r"(?:<\|im_start\|>assistant)?\s?-> tool/function_call")
_END = re.compile(r"<\|(?:im_end|stop)\|>")
_MARKUP = Markup("hyperclova", ("tool/function_call",), _BEGIN, _END)


def read(source: Source) -> Decision | None:
    """The list of calls behind the marker."""
    return read_json(source, _MARKUP)
