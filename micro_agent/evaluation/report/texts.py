"""Texts of others on the page: no longer than a page bears, with a note of what was cut."""

import json
from dataclasses import dataclass
from typing import Any

from micro_agent.files.masking import mask_of


@dataclass(frozen=True, slots=True)
class Text:
    """The beginning of a text, and how many characters of it are left out."""

    shown: str
    left: int = 0


def cut(text: str, longest: int) -> Text:
    """As much of a text as is shown. A cut that saves less than its own note takes is not made."""
    if len(text) <= longest + 80:
        return Text(text)
    text = mask_of().text(text)  # half of a secret would not be known as one
    return Text(text[:longest], len(text) - longest)


def shown(value: Any, longest: int) -> Text:
    """A value as text, strings as they are, the rest as JSON."""
    return cut(_text(value), longest)


def maybe(value: Any, longest: int) -> Text | None:
    """The same of what may not be there."""
    return None if value is None else shown(value, longest)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= 90 else json.dumps(value, ensure_ascii=False, indent=2)
