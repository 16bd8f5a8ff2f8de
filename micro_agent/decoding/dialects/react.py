"""ReAct: ``Action: name``, ``Action Input: {…}`` on the next line, or ``Action: name({…})``, or ``Final Answer: …``.

The first action counts: what follows it was thought without its result. Qwen's ``✿FUNCTION✿: name`` and
``✿ARGS✿: {…}`` are the same under other words.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from micro_agent.decoding.decision import Decision, Final
from micro_agent.decoding.ends import Ends
from micro_agent.decoding.markup import decided, marks
from micro_agent.decoding.repair import Unreadable, repair
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source
from micro_agent.decoding.values import Unfinished, value_at

_BULLET = r"^[ \t]{0,8}(?:[-#>*]{1,3}[ \t]{1,3})?\**"
_COLON = r"[ \t]{0,3}\**[ \t]{0,3}:\**[ \t]*+"
_ACTION = rf"{_BULLET}(?P<key>Action(?: Name)?|Tool(?: Name)?|Function(?: Name)?|✿FUNCTION✿){_COLON}"
_NAME_ONLY = r"(?P<name>[A-Za-z_][\w.-]{0,127}+)"
_NAME = r"""[\[`"'*]*+(?P<name>[A-Za-z_][\w.-]{0,127}+(?: Answer)?)[\]`"'*]*+"""
_INPUT = (
    r"(?:Action[ _]Input|Tool[ _]Input|Input|Arguments|Args|Parameters|Action[ _]Arguments|Tool[ _]Arguments|✿ARGS✿)"
)
_FLAGS = re.MULTILINE | re.IGNORECASE
_CALL = re.compile(rf"{_ACTION}{_NAME}(?:(?:\(\))?[ \t]*+\n\s*+\**{_INPUT}{_COLON}|[ \t]*+\(?[ \t]*+(?=\{{))", _FLAGS)
_BARE = re.compile(rf"{_ACTION}{_NAME}(?:\(\))?[ \t]*+(?=\n\s*+(?:Observation|Thought)|\s*+\Z)", _FLAGS)
_NAMED = re.compile(rf"{_ACTION}{_NAME_ONLY}(?P<said>[^\n]*+)", _FLAGS)
_STOP = re.compile(
    r"^[ \t]*+(?:[#*]{1,3}[ \t]*+)?(?:(?:Observation|Thought|Final Answer|Action)\b|✿RESULT✿|✿RETURN✿)", _FLAGS
)
_FINAL = re.compile(rf"{_BULLET}Final Answer{_COLON}(?P<answer>.*)", re.MULTILINE | re.IGNORECASE | re.DOTALL)
_SIGN = re.compile(r"^[^\w✿\n]{0,12}(?:Action|Tool|Function|Final Answer|Thought|Question|✿FUNCTION✿)", _FLAGS)
_SCRATCHPAD = re.compile(rf"{_BULLET}(?:Thought|Action|Question|Final Answer){_COLON}", re.IGNORECASE)
_FENCE = re.compile(r"\s*+(?:```\w*\s*+)?")
_NOTHING = frozenset({"", "none", "null", "n/a", "no input", "{}"})


def read(source: Source) -> Decision | None:
    """The first action, else the final answer."""
    if not _SIGN.search(source.text):
        return None
    for mark in [*marks(source, _CALL), *marks(source, _BARE)]:
        known = source.offer.tools is not None and source.offer.resolve(mark["name"]) is not None
        if known or (mark.re is _CALL and mark["key"].lower() in ("action", "✿function✿")):
            return _call(source, mark)
    if (named := next(iter(marks(source, _NAMED)), None)) and source.offer.tool(source.offer.resolve(named["name"])):
        return _said(source, named)
    final = _FINAL.search(source.text) if _SCRATCHPAD.match(source.text) and not source.cut_off else None
    answer = final["answer"].strip() if final else ""
    return Final(answer, [repair("dialect:react", source.text, answer)]) if answer else None


def _said(source: Source, mark: re.Match[str]) -> Decision | None:
    """``Action: name[text]``; with anything else behind the name the action cannot be read."""
    text = mark["said"].strip()
    key = _only_text(source, mark["name"]) if text.startswith("[") and text.endswith("]") else None
    fault = None if key else "its input is no JSON object"
    shape = Shape(mark["name"], {key: text[1:-1]}, "explicit")
    return decided(
        [shape],
        source,
        dialect="react",
        span=mark.span(),
        fault=fault,
        unfinished=source.cut_off and mark.end() == len(source.text),
    )


def _call(source: Source, mark: re.Match[str]) -> Decision | None:
    args: Any = {}
    end, unfinished, fault = mark.end(), mark.re is _BARE and source.cut_off, None
    if mark.re is _CALL:
        try:
            args, end = _input(source, mark["name"], mark.end())
        except Unfinished:
            unfinished = True
        except Unreadable as why:
            fault = str(why)
    shape = Shape(mark["name"], args, "explicit")
    return decided([shape], source, dialect="react", span=(mark.start(), end), fault=fault, unfinished=unfinished)


def _input(source: Source, name: str, start: int) -> tuple[Any, int]:
    """What follows ``Action Input:``: an object, or a text for the one argument of the tool.

    Raises:
        Unreadable: It is an object or a quoted text that makes no sense.
        Unfinished: The text ends inside it.
    """
    at = _FENCE.match(source.text, start).end()  # pyright: ignore[reportOptionalMemberAccess] it matches nothing as well
    if source.text.startswith("{", at):
        value, end, _ = value_at(source, at, (Ends(source.text, _STOP),))
        return value, end
    stop = _STOP.search(source.text, start)
    if stop is None and source.cut_off:
        raise Unfinished
    end = stop.start() if stop else len(source.text)
    said = source.text[at:end].strip().removesuffix("```").strip()
    if said.lower() in _NOTHING:
        return {}, end
    key = _only_text(source, name)
    return {key: _unquoted(said)} if key else said, end


def _unquoted(said: str) -> str:
    if said[0] not in "\"'`":
        return said
    if len(said) < 3 or said[-1] != said[0]:
        raise Unreadable("its input begins with a quote and has no second one")
    return said[1:-1]


def _only_text(source: Source, name: str) -> str | None:
    """The argument that a bare text is meant for: the only one of the tool, or the only required one, if a text."""
    tool = source.offer.tool(source.offer.resolve(name))
    properties = _mapping(tool.parameters.get("properties") if tool else None)
    wanted = tool.parameters.get("required") if tool else None
    keys = [key for key in properties if isinstance(wanted, list) and key in wanted] or list(properties)
    return keys[0] if len(keys) == 1 and _mapping(properties[keys[0]]).get("type") == "string" else None


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
