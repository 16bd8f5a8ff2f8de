"""The keywords of JSON Schema that narrow a type (a least, a longest, a pattern), in words."""

from typing import Any

from micro_agent.text.encoding import as_json

_BETWEEN = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
    ("minProperties", "maxProperties", " keys"),
)
_SINGLE = {
    "exclusiveMinimum": "above {}", "exclusiveMaximum": "below {}", "multipleOf": "a multiple of {}",
    "format": "format {}", "pattern": "pattern {}",
}  # fmt: skip


def ranges(left: dict[str, Any]) -> list[str]:
    """What the keywords say, such as ``1 to 10``, ``at most 20 characters``; they are taken out of ``left``."""
    notes: list[str] = []
    for least, most, unit in _BETWEEN:
        low, high = left.pop(least, None), left.pop(most, None)
        if low is not None and high is not None:
            notes.append(f"{low} to {high}{unit}")
        elif low is not None:
            notes.append(f"at least {low}{_one(low, unit)}")
        elif high is not None:
            notes.append(f"at most {high}{_one(high, unit)}")
    notes += [said.format(left.pop(key)) for key, said in _SINGLE.items() if key in left]
    if left.pop("uniqueItems", False):
        notes.append("no repeats")
    if examples := left.pop("examples", None):
        notes.append(f"such as {', '.join(map(as_json, examples))}")
    if left.pop("deprecated", False):
        notes.append("deprecated")
    return notes


def _one(count: float, unit: str) -> str:
    return unit.removesuffix("s") if count == 1 else unit
