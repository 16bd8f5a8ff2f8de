"""A code fence that says what it holds: ``tool_call``, ``tool_code``, ``function_call`` and their like, with JSON."""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_BEGIN = re.compile(r"```(?:tool|function|action)s?(?:[_ -]?(?:call|use|code|request)s?)?[ \t]*+\n", re.IGNORECASE)
_END = re.compile(r"```")
_MARKUP = Markup("fenced", ("```",), _BEGIN, _END)


def read(source: Source) -> Decision | None:
    """The calls in the fence."""
    return read_json(source, _MARKUP)
