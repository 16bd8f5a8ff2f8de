"""Calls told in square brackets: ``[Calling tool: get_weather(…)]``. What they begin with, and where they may stand."""

import re

from micro_agent.decoding.scan.scanner import piece_at

LABEL = (
    r"(?i:(?:call|invok|execut|runn|us)ing(?:[ ](?:the[ ])?(?:tool|function))?|run|execute|call"
    r"|(?:tool|function|action)(?:[ _](?:call|use|request))?)"
)
"""A pattern of the words for a call that is made now; ``Called`` and ``Used`` tell of one that was made."""

_REACH = 16
_SENTENCE = re.compile(r"(?:\n|[.!?:\]])[^\w\n]{0,12}\Z|\A[^\w\n]*\Z")
_LINE_END = re.compile(r"[^\w\n]*(?:\n|\Z)")


def stands_alone(text: str, start: int) -> bool:
    """Whether the brackets at ``start`` end a line, and begin one or a sentence; inside one they are spoken of."""
    return begins(text, start) and _LINE_END.match(text, start + len(piece_at(text, start).text)) is not None


def begins(text: str, start: int) -> bool:
    """Whether a line or a sentence begins at ``start``."""
    return _SENTENCE.search(text[max(0, start - _REACH) : start]) is not None
