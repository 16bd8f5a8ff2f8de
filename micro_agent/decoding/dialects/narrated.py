"""A call as JSON in square brackets behind a word for what it is: ``[Tool call: get_weather {"city": "Rome"}]``.

    [Calling tool: get_weather with arguments {"city": "Rome"}]   [TOOL: {"name": "get_weather", "arguments": {…}}]

Models that see their calls told in a history write them like that. A call only of a tool that there is, and only where
the brackets end a line and begin one or a sentence: inside a sentence they are spoken of.
"""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.markup.shared import marks
from micro_agent.decoding.prose.told import LABEL, stands_alone
from micro_agent.decoding.source import Source

_BEGIN = re.compile(
    rf"\[{LABEL}[ ]?[:-]?[ ]?(?:[`'\"]?(?P<name>[A-Za-z_][\w.-]{{0,127}}+)[`'\"]?\s?(?:[,|:(-]|[ ]?with(?:[ ]the)?"
    r"(?:[ ](?:arguments|args|parameters|params|input))?:?)?)?\s{0,9}(?=\{)"
)
_END = re.compile(r"\)?\s{0,9}\]")
_MARKUP = Markup("narrated", ("[",), _BEGIN, _END)


def read(source: Source) -> Decision | None:
    """The calls in brackets, when all of them are told as calls that are made now."""
    if source.offer.tools is None or "[" not in source.text:
        return None
    found = marks(source, _BEGIN)
    told = [mark for mark in found if mark["name"] is None or source.offer.resolve(mark["name"])]
    if not told or len(told) < len(found) or not all(stands_alone(source.text, mark.start()) for mark in told):
        return None
    return read_json(source, _MARKUP)
