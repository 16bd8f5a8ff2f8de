"""The fields of DSPy's ReAct, which a model trained on its traces writes by itself.

[[ ## next_tool_name ## ]]
get_weather
[[ ## next_tool_args ## ]]
{"city": "Rome"}
"""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_BEGIN = re.compile(
    r"\[\[ ## (?:next_)?tool_name(?:_\d{1,3})? ## \]\]\s*+[\"'`]?([A-Za-z_][\w.:/-]{0,127}+)[\"'`]?\s*+"
    r"\[\[ ## (?:next_)?tool_args(?:_\d{1,3})? ## \]\]"
)
_OBSERVED = re.compile(r"\[\[ ## observation")
_END = re.compile(r"\[\[ ## \w{1,40} ## \]\]")
_MARKUP = Markup("dspy_fields", ("tool_name",), _BEGIN, _END)
_FINISH = "finish"


def read(source: Source) -> Decision | None:
    """The tool that is named, with its arguments; the tool ``finish`` is DSPy's own and ends the loop."""
    first = _BEGIN.search(source.text) if "tool_name" in source.text else None
    if first is None or (first[1] == _FINISH and source.offer.resolve(_FINISH) is None):
        return None
    return read_json(source, _MARKUP)
