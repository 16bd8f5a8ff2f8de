"""JSON with arithmetic where a text is wanted, ``{"expression": 17*24}``; another reader like those in `quotes`."""

import json
import re
from typing import Any

from micro_agent.decoding.repair.backslashes import legal_escapes
from micro_agent.decoding.repair.nearly import STRING, changed, tightened
from micro_agent.decoding.repair.strict import Allowance, Unreadable

# It begins like a number and goes to the end of its value on its line; a comma may be one of the object.
_VALUE = re.compile(
    rf"(?P<string>{STRING})|:[ ]?(?P<value>-?[\d(.][\w .+*/^%()!×÷-]{{0,200}}+)"
    r'(?=\s{0,20}(?:\}|,\s{0,20}"[^"\\]{1,100}"\s{0,20}:))',
    re.DOTALL,
)
_SIGN = re.compile(r"[*/^%!×÷]|(?<![eE])[+-]|\bx\b|\dx\d|\bmod\b")


def arithmetic(text: str, allowance: Allowance) -> Any:
    """Numbers with signs between them become a text as they stand; nothing is computed."""
    # Behind each colon up to 300 characters may be looked at.
    if not _SIGN.search(text) or not allowance.spend(2 * text.count(":")):
        raise Unreadable("no arithmetic, or too many values")
    legal = legal_escapes(text)
    quoted = _VALUE.sub(_in_quotes, legal)
    return changed(tightened(quoted) if quoted != legal else None)


def _in_quotes(found: re.Match[str]) -> str:
    value = (found["value"] or "").strip()
    whole = _SIGN.search(value, 1) and value.count("(") == value.count(")")
    return f": {json.dumps(value, ensure_ascii=False)}" if whole else found[0]
