"""GigaChat 3: ``function call<|role_sep|>`` and one object; 3.1 writes ``<|function_call|>`` instead."""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_BEGIN = re.compile(r"(?:<\|message_sep\|>\s*+)?function call<\|role_sep\|>|<\|function_call\|>")
_END = re.compile(r"<\|message_sep\|>|</s>")
_MARKUP = Markup("gigachat", ("<|role_sep|>", "<|function_call|>"), _BEGIN, _END)


def read(source: Source) -> Decision | None:
    """The call behind the marker."""
    return read_json(source, _MARKUP)
