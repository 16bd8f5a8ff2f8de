"""JSON with ``=`` or ``=>`` for its colons, as in ``{"name"= "add"}``; another reader like those in `nearly`."""

import re
from typing import Any

from micro_agent.decoding.repair.backslashes import legal_escapes
from micro_agent.decoding.repair.nearly import STRING, changed, tightened
from micro_agent.decoding.repair.strict import Allowance, Unreadable

_SIGN = re.compile(
    rf"(?P<text>{STRING}|'(?<=[{{\[,=\s>]')[^'\"\\\n]*+'(?=\s*+[,=}}\]]))"
    r"|(?P<key>[A-Za-z_](?<![\w-][A-Za-z_])[\w-]*+)(?=\s*+=)|=(?!=)>?",
    re.DOTALL,
)


def assigned(text: str, allowance: Allowance) -> Any:
    """Outside of texts an equals sign is a colon, and the word before it a key."""
    if "=" not in text or not allowance.spend(len(text) // 8 + sum(map(text.count, "'\"=")) // 2):
        raise Unreadable("no equals signs")
    legal = legal_escapes(text)
    colons = _SIGN.sub(_with_colon, legal)
    return changed(tightened(colons) if colons != legal else None)


def _with_colon(sign: re.Match[str]) -> str:
    if sign["text"] is not None:
        return f'"{sign["text"][1:-1]}"' if sign["text"][0] == "'" else sign["text"]
    return f'"{sign["key"]}"' if sign["key"] else ":"
