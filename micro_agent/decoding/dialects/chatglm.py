"""ChatGLM3's calls: the name of the tool on a line of its own, and its arguments in a fence as those of ``tool_call``.

get_weather
```python
tool_call(city="Rome", days=3)
```
"""

import re

from micro_agent.decoding.decision import Decision, Repair
from micro_agent.decoding.markup.shared import decided, different, marks
from micro_agent.decoding.pythonic.positional import extent_of, python_shapes_at
from micro_agent.decoding.repair.mending import Unreadable
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source

_SIGN = "tool_call("
_TOKEN = r"(?>(?:<\|assistant\|>)?)"
_BEGIN = re.compile(
    rf"^[ \t]*+{_TOKEN}[ \t]*+(?P<name>[A-Za-z_][\w.-]{{0,127}}+)[ \t]*+\n\s{{0,9}}+"
    r"```(?:python|py)?[ \t]*+\n\s{0,9}+(?=tool_call\()",
    re.MULTILINE,
)
_END = re.compile(r"[ \t;]*+(?:\n\s{0,9}+)?(?:```|\Z)")
_AROUND = re.compile(rf"\s*+(?:{_TOKEN}\s*+)?")
# What may hold the form as a text: other markup, an object, a call, a label. Brackets around mere words do not.
_OTHER = re.compile(
    r"<(?!\|assistant\|>)|[{\[]|\((?![\w ,.'’-]{0,200}\))|^\W{0,4}(?:action|tool|name|input|begin_arg)[^\n:]{0,40}:",
    re.IGNORECASE | re.MULTILINE,
)


def read(source: Source) -> Decision | None:
    """The calls in such fences, as long as nothing else that calls a tool stands before them."""
    text, end = source.text, 0
    if _SIGN not in text:
        return None
    parts: list[list[Shape]] = []
    repairs: list[Repair] = []
    found = marks(source, _BEGIN)
    for mark in found:
        if mark.start() < end:
            continue
        if _OTHER.search(text, end, mark.start()) or not _names_tool(text, mark, source):
            break
        start, stop = found[0].start(), extent_of(text, mark.end())
        if stop is None:
            return decided([], source, dialect="chatglm", span=(start, len(text)), unfinished=True)
        try:
            shapes, mended = python_shapes_at(source, mark.end(), stop, named=mark["name"])
        except Unreadable as why:
            return decided([], source, dialect="chatglm", span=(start, stop), fault=str(why))
        closing = _END.match(text, stop)
        if closing is None:
            return decided([], source, dialect="chatglm", span=(start, stop), fault="more than a call is in the fence")
        end = closing.end()
        parts.append(shapes)
        repairs += mended
    if not parts:
        return None
    calls, repeated = different(parts, source)
    span = found[0].start(), end
    return decided(calls, source, dialect="chatglm", span=span, repairs=[*repeated, *repairs])


def _names_tool(text: str, mark: re.Match[str], source: Source) -> bool:
    """Whether the name is a tool's; where it is none, or the tools are not known, the call must begin the text."""
    if source.offer.tools is not None and source.offer.resolve(mark["name"]) is not None:
        return True
    stop = extent_of(text, mark.end())
    closing = _END.match(text, stop) if stop is not None else None
    whole = closing is not None and not text[closing.end() :].strip()
    return whole and _AROUND.fullmatch(text, 0, mark.start()) is not None
