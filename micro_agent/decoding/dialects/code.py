"""Python code for a tool called ``python``: ``<|python_tag|>print(1)`` (Llama), ``>>>python`` (Functionary).

The code is the argument ``code``, as in llama.cpp. gpt-oss writes ``to=python`` and ``code`` before it.
"""

import re

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.shared import TURN, decided, marks
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source

_SIGNS = ("<|python_tag|>", ">>>python\n", "to=python")
_BEGIN = re.compile(
    r"<\|python_tag\|>|>>>python\n"
    r"|to=python(?:\s*+<\|channel\|>\w{1,20})?(?:\s*+<\|constrain\|>)?(?:\s*+code)?\s*+<\|message\|>"
)
_END = re.compile(rf"<\|(?:eo[mt]_id|call|end|return)\|>|>>>|{TURN.pattern}", re.MULTILINE)


def read(source: Source) -> Decision | None:
    """The code behind the first marker, for the tool ``python`` if there is one."""
    if not any(sign in source.text for sign in _SIGNS) or source.offer.resolve("python") is None:
        return None
    found = [mark for mark in marks(source, _BEGIN) if not _is_spoken_of(source.text, mark)]
    if not found:
        return None
    start = found[0].end()
    end = _END.search(source.text, start)
    code = source.text[start : end.start() if end else len(source.text)].rstrip()
    stop = start + len(code)
    span, unfinished = (found[0].start(), stop), source.cut_off and stop == len(source.text)
    return decided(
        [Shape("python", {"code": code}, "explicit")], source, dialect="code", span=span, unfinished=unfinished
    )


def _is_spoken_of(text: str, mark: re.Match[str]) -> bool:
    """Whether a sentence goes on up to the tag."""
    before = text[max(0, mark.start() - 2) : mark.start()]
    return mark[0] == "<|python_tag|>" and before.endswith(" ") and before[:1] not in ".:!? \n>"
