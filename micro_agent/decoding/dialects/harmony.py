"""gpt-oss: channels, and calls that are messages ``to=functions.name``.

    <|start|>assistant<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>
    <|start|>assistant to=functions.name<|channel|>commentary json<|message|>{…}<|call|>

A server that drops special tokens leaves ``commentary to=functions.name json{…}``; others put Hermes' tags around it.
"""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.blocks import Markup, read_json
from micro_agent.decoding.source import Source

_TO = r"to=(?!(?:assistant|user|system|all)\b)(?:functions[.:])?(?P<{0}>[A-Za-z_][\w./-]{{0,127}}+)"
_CHANNEL = r"(?:\s*+<\|channel\|>\s*+(?:\w{1,20}+)?)?"
_TYPE = r"(?:\s*+<\|(?:constrain|reserved_\d{1,9})\|>)?(?:\s*+(?:json|code))?"
_BEGIN = re.compile(
    rf"(?=<[t|]|[tca])(?:<tool_call>\s{{0,9}})?(?:<\|start\|>\s*+assistant\s*+)?(?:<\|channel\|>\s*+\w{{1,20}}\s*+)?(?:"
    rf"{_TO.format('name')}{_CHANNEL}{_TYPE}\s*+<\|message\|>"
    rf"|\b(?:commentary|analysis|assistant)\s{{1,9}}{_TO.format('name_bare')}(?:\s{{1,9}}commentary\b)?{_TYPE}\s*+(?={{)"
    rf"|(?<=<tool_call>){_TO.format('name_tagged')}{_TYPE}\s*+(?={{))"
)
_END = re.compile(r"<\|(?:call|end|return)\|>|</tool_call>")
_MARKUP = Markup("harmony", ("to=",), _BEGIN, _END)


def read(source: Source) -> Decision | None:
    """The calls, whatever channel they are in."""
    return read_json(source, _MARKUP)
