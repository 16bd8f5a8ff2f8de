"""A result that is longer than the model should see, with its middle cut out."""

import json
from bisect import bisect_right
from typing import Any, cast


def to_json(value: object) -> str:
    """The JSON text that the model sees, and that limits count."""
    return json.dumps(value, ensure_ascii=False)


def truncate(observation: Any, max_chars: int) -> Any:
    """``observation`` when its JSON has at most ``max_chars`` characters, else a cut form of it.

    A text keeps its head and its tail; anything structured becomes its JSON text, cut likewise. Both then stand as
    ``{"output": …, "truncated": true}``. An error whose message is what is long keeps the rest.
    """
    text = to_json(observation)
    if len(text) <= max_chars:
        return observation
    if isinstance(observation, dict):
        known = cast("dict[str, Any]", observation)
        rest = {key: value for key, value in known.items() if key != "message"}
        if isinstance(known.get("error"), str) and len(to_json(rest)) <= max_chars // 4:
            return _fitted(rest, "message", str(known.get("message")), max_chars)
    return _fitted({}, "output", observation if isinstance(observation, str) else text, max_chars)


def cut_middle(text: str, keep: int) -> str:
    """The first two thirds and the last third of ``keep`` characters, with the number of those cut between them."""
    tail = keep // 3
    head = keep - tail
    return f"{text[:head]}… [{len(text) - keep} characters cut] …{text[len(text) - tail :]}"


def _fitted(start: dict[str, Any], key: str, text: str, max_chars: int) -> dict[str, Any]:
    """The longest cut of ``text`` with which the whole has at most ``max_chars`` characters of JSON."""

    def cut(keep: int) -> dict[str, Any]:
        return {**start, key: cut_middle(text, keep), "truncated": True}

    keep = bisect_right(range(min(len(text), max_chars)), max_chars, key=lambda keep: len(to_json(cut(keep)))) - 1
    return cut(max(keep, 0))
