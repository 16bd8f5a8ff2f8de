"""What models put around an expression: quotes, the JSON object of the call, a name that it is assigned to."""

import re

_QUOTES = ("'", '"', "`")
_OBJECT = re.compile(r"\{(?P<inner>[^{}]*)\}")
_LABEL = re.compile(r"(?P<quote>[\"']?)expression(?P=quote)\s*[:=](?!=)", re.IGNORECASE)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\s*=(?!=)", re.ASCII)
_ASKED = re.compile(r"=\s*\?*\Z")
_MAX_LAYERS = 4


def unwrapped(text: str) -> str:
    """The expression in ``{"expression": 17*24}``, ``'17*24'``, ``x = 17*24`` or ``17*24 = ?``.

    An object is opened only where it holds nothing but the expression, and one name and one sign are taken off.
    """
    text = text.strip()
    for _ in range(_MAX_LAYERS):
        text = _without_a_layer(text)
    assigned = _ASSIGNED.match(text)
    text = text[assigned.end() :].lstrip() if assigned else text
    asked = _ASKED.search(text)
    return text[: asked.start()].rstrip() if asked else text


def _without_a_layer(text: str) -> str:
    if text[:1] in _QUOTES and text.endswith(text[:1]) and text.count(text[:1]) == 2:
        return text[1:-1].strip()
    if (label := _LABEL.match(text)) is not None:
        return text[label.end() :].strip()
    if (whole := _OBJECT.fullmatch(text)) is not None and _LABEL.match(whole["inner"].strip()):
        return whole["inner"].strip()
    return text
