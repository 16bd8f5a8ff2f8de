"""A result that is longer than the model should see, and what a record keeps of it."""

from bisect import bisect_right
from typing import Any

from micro_agent.tools.shorten import TRUNCATED, cut_middle, shortened, to_json

RESULT_CHARS = 262_144
"""A result that was cut for the model stands in the record in full, up to so many characters of JSON."""


def truncate(observation: Any, max_chars: int) -> Any:
    """``observation`` when its JSON has at most ``max_chars`` characters, else a cut form of it.

    An object keeps its keys, a list its first items (`shortened`). A text keeps its head and its tail and stands as
    ``{"output": …, "truncated": true}``; so does the JSON of what cannot be cut in another way.
    """
    if len(text := to_json(observation)) <= max_chars:
        return observation
    return shortened(observation, max_chars) or _fitted(
        observation if isinstance(observation, str) else text, max_chars
    )


def kept_of(result: Any, observation: Any) -> Any:
    """What a record keeps of a result beside ``observation``; ``None`` where that is all of it."""
    return None if observation is result else truncate(result, RESULT_CHARS)


def _fitted(text: str, max_chars: int) -> dict[str, Any]:
    """The longest cut of ``text`` with which the whole has at most ``max_chars`` characters of JSON."""

    def cut(keep: int) -> dict[str, Any]:
        return {"output": cut_middle(text, keep), TRUNCATED: True}

    keep = bisect_right(range(min(len(text), max_chars)), max_chars, key=lambda keep: len(to_json(cut(keep)))) - 1
    return cut(max(keep, 0))
