"""A program that calls tools, where one call is wanted: no part of it is run, and it is not an answer either.

    order = find_order(customer="Maria Lopez")
    book(order_id=order["order_id"])

Code that is shown to the user is an answer: the words around it tell.
"""

import re
from collections.abc import Iterator
from itertools import islice

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.prose.examples import declares
from micro_agent.decoding.prose.spoken_of import is_spoken_of
from micro_agent.decoding.pythonic.programs import tool_in_program
from micro_agent.decoding.settle import error
from micro_agent.decoding.source import Source

_MAX_TEXT = 20_000
_MAX_CODES = 4
_REACH = 400
_MAX_CALLS = 60
_CALLED = re.compile(r"(?<!\w)[A-Za-z_]\w{0,127}+(?=\()")
_FENCE = re.compile(r"^[ \t]*+```(?:python[3]?|py|tool_code|code)?[ \t]*+\n", re.MULTILINE | re.IGNORECASE)
_OBJECT = re.compile(r"""["'](?:name|tool|function|action|final|answer)["']\s{0,9}:""")
_LINE = re.compile(
    r"^(?:[A-Za-z_]\w{0,40}(?:[ ]?:[ ]?\w{1,40})?[ ]?=[ ]?|(?:async[ ])?def[ ]\w+\(|if[ ]|for[ ]\w+[ ]in[ ]|try:"
    r"|import[ ]|from[ ]\w+[ ]import|(?:await[ ])?[\w.]{1,128}\()",
    re.MULTILINE,
)
_EXPLAINS = re.compile(
    r"\b(?:(?<!for )(?<!help )you(?!\w)|yourself|users|someone|developers?|for example|for instance|e\.g|examples?"
    r"|samples?|snippets?|usage|syntax|documentation|docs|tutorial|how to|like (?:this|so)|looks? like|would|could"
    r"|might|answer|tests?|explain(?:s|ed)?|explanation|quickstart|getting started|instead|output"
    r"|ran|called|used|executed|did|made|wrote|tested|was|were|booked)\b",
    re.IGNORECASE,
)
_YOURS = re.compile(r"\byour?\b", re.IGNORECASE)
_OF_CODE = re.compile(
    r"\b(?:script|program|function|code|methods?|class|API|library|SDK|prints?|returns?|defines?)\b", re.IGNORECASE
)
_INTENDS = re.compile(
    r"\bI(?:['’]ll| will| need| am going| must| should|['’]m going| can now| now)\b|\blet(?:['’]s| me| us)\b",
    re.IGNORECASE,
)
_BEGUN = re.compile(
    r"\b(?:here|first|steps?|now|next|sure|okay|ok|to \w+|calls?|calling|tools?|plan|actions?|python)\b", re.IGNORECASE
)


def read(source: Source) -> Decision | None:
    """The error, if the text is such a program or has one in a fence."""
    text = source.text
    if "(" not in text or source.offer.tools is None or len(text) > _MAX_TEXT or text[:1] in ("{", "["):
        return None
    called = {call[0] for call in islice(_CALLED.finditer(text), _MAX_CALLS)}
    if called.isdisjoint(source.offer.names or ()):
        return None
    for start, stop in _codes(source):
        name = tool_in_program(text[start:stop], source.offer)
        if name is not None and not _is_shown(text, (start, stop)):
            reason = "cut_off" if source.cut_off else "malformed"
            return error(reason, f"A program that calls {name!r}, and no tool call.", source.offer, name)
    return None


def _codes(source: Source) -> Iterator[tuple[int, int]]:
    """Where code may be: in fences; in a text without any, from its first line that looks like code up to its end."""
    text = source.text
    if "```" not in text:
        line = _LINE.search(text)
        if line is not None:
            end = text.find("\n\n", line.start())
            yield line.start(), len(text)
            if end >= 0:
                yield line.start(), end
        return
    stop = 0
    for fence in source.data.outside(list(islice(_FENCE.finditer(text), 2 * _MAX_CODES))):
        if fence.start() < stop or text.count("```", 0, fence.start()) % 2:
            continue
        closing = text.find("```", fence.end())
        stop = closing + 3 if closing >= 0 else len(text)
        yield fence.end(), closing if closing >= 0 else len(text)


def _is_shown(text: str, span: tuple[int, int]) -> bool:
    """Whether the words around the code show it to the user, or something else there may be the decision."""
    before, after = text[max(0, span[0] - _REACH) : span[0]], text[span[1] : span[1] + _REACH]
    before = before.rpartition("```")[0] if "```" in before else before
    words = f"{before}\n{after}"
    if is_spoken_of(text, span) or declares(text, span[0]) or _OBJECT.search(words) or _EXPLAINS.search(words):
        return True
    intends = _INTENDS.search(before)
    begun = intends or _BEGUN.search(before) or not re.search(r"\w", before)
    of_code, yours = _OF_CODE.search(words), _YOURS.search(words)
    return not begun or bool((of_code or yours) and not intends) or bool(of_code and yours)
