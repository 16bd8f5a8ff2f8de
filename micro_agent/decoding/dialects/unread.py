"""Markup of a tool call that no dialect could read: an error that says so, instead of an answer full of markup."""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.shared import TURN, decided, marks
from micro_agent.decoding.prose.examples import is_mention
from micro_agent.decoding.source import Source

# Special tokens are never written by chance. An XML-like tag may be mentioned, so something must follow it.
_BEGIN = re.compile(
    r"(?=[<\[t>])(?:<(?:\|(?:python_tag|tool_calls?|tool_calls?_section_begin|tool_call_begin|tool_call_start|START_ACTION"
    r"|action_start|tools_prefix|function_call)\|>|\|tool_call>|start_function_call>|[｜|]tool.{1,3}calls?.begin[｜|]>"
    r"|｜DSML｜|(?:\w{1,20}:)?(?:tool_calls?|function_calls?)>(?=\s*+(?:[{\[<\"']|\Z)|[^<]{1,2000}</)"
    r"|TOOLCALL>|function=|invoke name=)|\[TOOL_CALLS\]"
    r"|\bto=(?:functions[.:])?(?!(?:assistant|user|system|all)\b)[\w./-]{1,128}+[^\n<]{0,20}+"
    r"(?:<\|(?:channel|constrain)\|>[^\n<]{0,40}+){0,2}<\|message\|>"
    r"|^>>>(?!all\b)\w{1,64}\s*+(?=\{))",
    re.MULTILINE,
)
_NAMED = re.compile(r"<(?:tool_calls?|function_calls?)>\s{0,20}(?P<name>[A-Za-z_][\w.-]{0,127}+)")
_SIGNS = ("tool", "TOOL", "python_tag", "START_ACTION", "action_start", "function", "DSML", "<invoke", ">>>", "to=")
_STOP = re.compile(rf"```|{TURN.pattern}", re.MULTILINE)


def read(source: Source) -> Decision | None:
    """The error, if there is such markup."""
    if not any(sign in source.text for sign in _SIGNS):
        return None
    names = source.offer.names or ()
    found = [mark for mark in marks(source, _BEGIN) if not is_mention(source.text, mark, names)]
    found = found or [mark for mark in marks(source, _NAMED) if source.offer.resolve(mark["name"]) in names]
    if not found:
        return None
    stop = _STOP.search(source.text, found[0].end())
    span = found[0].start(), stop.start() if stop else len(source.text)
    return decided((), source, dialect="unread", span=span, fault="it is in no form of a tool call")
