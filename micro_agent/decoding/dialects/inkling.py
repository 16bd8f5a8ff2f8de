"""Inkling: ``<|message_model|>name<|content_invoke_tool_json|>{"name": …, "args": {…}}<|end_message|>``."""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_BEGIN = re.compile(r"(?:<\|message_model\|>[\w.-]{0,128}+)?<\|content_invoke_tool_json\|>")
_END = re.compile(r"<\|end_message\|>")
_MARKUP = Markup("inkling", ("<|content_invoke_tool_json|>",), _BEGIN, _END)


def read(source: Source) -> Decision | None:
    """The calls behind the marker; the name stands in the object as well."""
    return read_json(source, _MARKUP)
