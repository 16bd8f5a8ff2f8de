"""InternLM 2 and its relatives: ``<|action_start|><|plugin|>{…}<|action_end|>``."""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_BEGIN = re.compile(r"<\|action_start\|>\s*+(?:<\|(?:plugin|interpreter)\|>)?")
_END = re.compile(r"<\|action_end\|>")
_MARKUP = Markup("internlm", ("<|action_start|>",), _BEGIN, _END)


def read(source: Source) -> Decision | None:
    """The call between the markers."""
    return read_json(source, _MARKUP)
