"""Cohere Command R: ``Action: ```json [{"tool_name": …, "parameters": {…}}]````; R7B: ``<|START_ACTION|>[…]``."""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_BEGIN = re.compile(r"<\|START_ACTION\|>|(?:^|(?<=>))Action:\s*+(?:```\w*\s*+)?(?=\[\s*\{)", re.MULTILINE)
_END = re.compile(r"```|<\|END_ACTION\|>")
_MARKUP = Markup("command_r", ("Action:", "<|START_ACTION|>"), _BEGIN, _END)


def read(source: Source) -> Decision | None:
    """The list of calls behind the marker."""
    return read_json(source, _MARKUP)
