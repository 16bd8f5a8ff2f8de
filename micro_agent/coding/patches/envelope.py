"""The diff within what a model sent: read out of JSON, freed of escapes and of an indentation of all its lines."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any, cast

from micro_agent.coding.patches.sections import is_start

_INDENTED = re.compile(r"([ \t>|]+)(?:diff --git |--- )")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#39|#x27|apos);")


def openings(text: str) -> Iterator[tuple[str, list[str]]]:
    """The texts that the diff may be, the most literal first, each with what was repaired to get it."""
    opened, repaired = _opened(text)
    yield opened, repaired
    if _ENTITY.search(opened):
        yield html.unescape(opened), [*repaired, "HTML escapes"]


def _opened(text: str) -> tuple[str, list[str]]:
    repaired: list[str] = []
    if text.startswith("\ufeff"):
        text, repaired = text[1:], ["byte order mark"]
    for name, opener in (("JSON", _from_json), ("escapes", _unescaped), ("indentation of the diff", _dedented)):
        if _has_start(text):
            break
        opened = opener(text)
        if opened is not None:
            text, repaired = opened, [*repaired, name]
    return text, repaired


def _has_start(text: str) -> bool:
    lines = text.split("\n")
    return any(is_start(lines, at) for at in range(len(lines)))


def _from_json(text: str) -> str | None:
    """The one text in a string, or in an object of JSON, that holds a diff."""
    stripped = text.strip()
    if not stripped.startswith(("{", '"')):
        return None
    try:
        value: Any = json.loads(stripped, strict=False)
    except (ValueError, RecursionError):
        return None
    values = list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else [value]
    texts = [text for text in values if isinstance(text, str) and "--- " in text]
    return texts[0] if len(texts) == 1 else None


def _unescaped(text: str) -> str | None:
    """One line that writes its newlines as escapes."""
    stripped = text.strip()
    if "\n" in stripped or "\\n" not in stripped:
        return None
    try:
        found = json.loads(f'"{stripped}"')
    except ValueError:
        try:
            found = json.loads('"' + stripped.replace('"', '\\"') + '"')
        except ValueError:
            return None
    return found


def _dedented(text: str) -> str | None:
    """The lines from the first header on without what stands before it, to the first line that lacks it."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        found = _INDENTED.match(line)
        if not found:
            continue
        before = found[1]
        if not is_start([below.removeprefix(before) for below in lines[at : at + 2]], 0):
            continue
        dedented: list[str] = []
        for number, below in enumerate(lines[at:], at):
            if below.startswith(before):
                dedented.append(below.removeprefix(before))
            elif not below.strip() or below.rstrip() == before.rstrip():
                dedented.append("")
            else:
                dedented += lines[number:]
                break
        above = [above.removeprefix(before) for above in lines[:at]]
        return "\n".join([*above, *dedented, *([""] if dedented[-1] else [])])
    return None
