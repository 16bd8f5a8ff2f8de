"""Mistral: ``[TOOL_CALLS][{…}]``, ``[TOOL_CALLS]name{…}``, ``[TOOL_CALLS]name[CALL_ID]…[ARGS]{…}``.

Other markers in square brackets go the same way: ``[TOOL_REQUEST]{…}[END_TOOL_REQUEST]`` (LM Studio) and
``[unused11][…][unused12]`` (Pangu).
"""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_MARKER = r"\[(?:TOOL_CALLS?|TOOL_REQUEST|unused11)\]"
_BEGIN = re.compile(
    rf"{_MARKER}(?:\s*+(?P<name>[A-Za-z_][\w.-]{{0,127}}+)\s*+(?:\[CALL_ID\]\s*+\w{{1,64}}+\s*+)?(?:\[ARGS\]|(?={{)))?",
    re.IGNORECASE,
)
_OPENING = re.compile(_MARKER, re.IGNORECASE)
_END = re.compile(r"\[/TOOL_CALLS?\]|\[END_TOOL_REQUEST\]|\[unused12\]|</s>", re.IGNORECASE)
_MARKUP = Markup("mistral", ("[TOOL_", "[tool_", "[unused11]"), _BEGIN, _END, opening=_OPENING)


def read(source: Source) -> Decision | None:
    """The calls behind the marker, the name in it or not."""
    return read_json(source, _MARKUP)
