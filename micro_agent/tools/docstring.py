"""Docstrings in Google style, as far as a tool needs them: the description and the text of each argument.

The format: https://google.github.io/styleguide/pyguide.html#383-functions-and-methods
"""

import inspect
import re

_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns?|Raises|Yields?|Examples?):\s*$")
_ARGUMENTS = ("Args", "Arguments", "Parameters")
_ENTRY = re.compile(r"(?P<indent>\s+)\*{0,2}(?P<name>\w+)\s*(\([^)]*\))?:\s*(?P<text>.*)")


def read_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """The description (all before the first section) and the text of each argument by name."""
    sections: dict[str, list[str]] = {"": []}
    current = sections[""]
    for line in inspect.cleandoc(text or "").splitlines():
        heading = _SECTION.match(line)
        if heading:
            current = sections.setdefault(heading[1], [])
        else:
            current.append(line)
    lines = [line for name in _ARGUMENTS for line in sections.get(name, ())]
    return "\n".join(sections[""]).strip(), _entries(lines)


def _entries(lines: list[str]) -> dict[str, str]:
    """``name: text`` or ``name (type): text``; lines indented deeper go on with the text."""
    found: dict[str, str] = {}
    name, indent = "", None
    for line in lines:
        entry = _ENTRY.match(line)
        if entry and (indent is None or len(entry["indent"]) <= indent):
            name, indent = entry["name"], len(entry["indent"])
            found[name] = entry["text"].strip()
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
