"""A value of a call holds what the model wrote, and nothing is taken out of the middle of it."""

import re

from micro_agent.decoding.decision import ToolCalls
from micro_agent.decoding.repair.guessing import texts

_NO_MATTER = re.compile(r"\\+[nrt]|\\+u[0-9a-fA-F]{4}|[\s\\]|[^\x00-\x7f]")
"""Escapes and what may be written as one."""


def are_said(found: ToolCalls, written: str) -> bool:
    """Whether all texts of the arguments stand in what was ``written``."""
    plain = _NO_MATTER.sub("", written)
    return all(_NO_MATTER.sub("", text) in plain for call in found.calls for text in texts(call.args))
