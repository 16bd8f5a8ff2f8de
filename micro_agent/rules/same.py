"""When two calls, results or whole steps are the same, and what is shown of them to the model."""

import json
from typing import Any, cast

from micro_agent.run import Step

SHOWN = 300
"""Characters of a result that a word of the loop repeats."""


def alike(one: Step, other: Step) -> bool:
    """Whether both are the same call with the same result, also where the model sees only a part of it."""
    if one.tool != other.tool or not same(one.args, other.args):
        return False
    return same(one.observation, other.observation) and same(one.result, other.result)


def same(one: object, other: object) -> bool:
    """Whether both are the same JSON: key order aside, and 1, 1.0 and true told apart.

    Nothing is written out as JSON, so that big observations cost no more than up to their first difference.
    """
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if one != other:
        return False
    if isinstance(one, dict):
        left, right = cast("dict[str, object]", one), cast("dict[str, object]", other)
        return all(same(value, right[key]) for key, value in left.items())
    if isinstance(one, list):
        items, others = cast("list[object]", one), cast("list[object]", other)
        return all(same(a, b) for a, b in zip(items, others, strict=True))
    return True


def was_told(before: Step, now: Step) -> bool:
    """Whether the model had a reply between the two steps, so that it has read what was said after the first."""
    return before.call is None or before.call != now.call


def shown(value: Any, most: int = SHOWN) -> str:
    """A value as JSON in one line, cut to ``most`` characters; a text as it stands."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
