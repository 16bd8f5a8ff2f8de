"""Gemma: ``<|tool_call>call:name{city:<|"|>Rome<|"|>,days:3}<tool_call|>``.

FunctionGemma writes ``<start_function_call>call:name{city:<escape>Rome<escape>}<end_function_call>``. What stands
between the string markers is text as it is, without any escapes; keys are bare.
"""

import json
import re
from typing import Any

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup import TURN, decided, marks
from micro_agent.decoding.repair import Unreadable, mend
from micro_agent.decoding.scanner import MAX_DEPTH
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source
from micro_agent.decoding.values import Unfinished

_MAX_TOKENS = 12_000
_OPENING = re.compile(r"<\|tool_call>|<start_function_call>")
_BEGIN = re.compile(
    rf"(?:(?:{_OPENING.pattern})\s*+(?:call:\s*+)?|^call:)(?P<name>[A-Za-z_][\w.-]{{0,127}}+)\s*+(?={{)", re.MULTILINE
)
_END = re.compile(r"\s*+(?:<tool_call\|>|<end_function_call>)")
_TOKEN = re.compile(
    r'\s*+(?:<\|"\|>(?P<text>.*?)<\|"\|>|<escape>(?P<escape>.*?)<escape>|(?P<json>"[^"\\]*(?:\\.[^"\\]*)*+")'
    r"|(?P<mark>[{}\[\],:])|(?P<end><tool_call\|>|<end_function_call>)|(?P<bare>[^\s{}\[\],:\"<][^{}\[\],:\"<]*))",
    re.DOTALL,
)
_STRING = re.compile(r'\s*+(?:<\|"\|>|<escape>|"|\Z)')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?")
_PARTNER = {"{": "}", "[": "]"}


def read(source: Source) -> Decision | None:
    """The calls in the markers, or ``call:name{…}`` at the start of a line."""
    shapes: list[Shape] = []
    start, end, fault, unfinished = -1, 0, None, False
    for mark in marks(source, _BEGIN):
        if mark.start() < end:
            continue
        if shapes and TURN.search(source.text, end, mark.start()):
            break
        start = mark.start() if start < 0 else start
        try:
            args, end = _arguments(source, mark.end())
            shapes.append(Shape(mark["name"], args, "explicit"))
        except Unreadable as why:
            fault, end = str(why), mark.end()
            break
        except Unfinished:
            unfinished, end = True, len(source.text)
            break
    if start < 0:
        return None
    unfinished = unfinished or bool(_OPENING.search(source.text, end) and not TURN.search(source.text, end))
    return decided(shapes, source, dialect="gemma", span=(start, end), fault=fault, unfinished=unfinished)


def _arguments(source: Source, start: int) -> tuple[Any, int]:
    """The object at ``start`` and where the call ends.

    Raises:
        Unreadable: It makes no sense.
        Unfinished: The text ends inside it.
    """
    parts, missing, at, whole = _translated(source.text, start)
    ended = _END.match(source.text, at)
    if (
        missing
        and not ended
        and (source.text[at:].strip() or not whole or source.cut_off or source.offer.tools is None)
    ):
        raise Unfinished if _STRING.match(source.text, at) else Unreadable("its arguments are no list of values")
    value, _ = mend("".join(parts) + missing, source.offer.allowance, guess=False)
    return value, ended.end() if ended else at


def _translated(text: str, start: int) -> tuple[list[str], str, int, bool]:
    """The object at ``start`` as pieces of JSON, its missing brackets, where it ends, and whether its last value does.

    A marked text and a bracket are whole; what is bare may go on.
    """
    parts: list[str] = []
    missing: list[str] = []
    at, whole = start, False
    while len(parts) < _MAX_TOKENS and (token := _TOKEN.match(text, at)) is not None and token["end"] is None:
        at = token.end()
        parts.append(_as_json(token, text, parts))
        whole = token["bare"] is None and token["mark"] not in (*_PARTNER, ":", ",")
        if token["mark"] in _PARTNER:
            missing.append(_PARTNER[token["mark"]])
        elif token["mark"] in _PARTNER.values():
            missing.pop()
        if not 0 < len(missing) <= MAX_DEPTH:
            break
    return parts, "".join(reversed(missing)), at, whole


def _as_json(token: re.Match[str], text: str, parts: list[str]) -> str:
    given = token["text"] if token["text"] is not None else token["escape"]
    if given is not None:
        return json.dumps(given)
    if token["bare"] is None:
        return token["json"] or token["mark"]
    word = token["bare"].strip()
    is_value = parts[-1:] in ([":"], ["["]) or not text.startswith(":", token.end())
    return word if is_value and (word in ("true", "false", "null") or _NUMBER.fullmatch(word)) else json.dumps(word)
