"""ES modules put into one script, for a page that is one file and may load nothing.

A module becomes a function that returns what it exports. Only the few forms of import and export that the modules of
the page have are known; any other is an error, so that none is lost.
"""

import re
from collections.abc import Mapping
from graphlib import TopologicalSorter

_IMPORT = re.compile(r'import\s*(?:\{([^}]*)\}|([\w$]+))\s*from\s*"\./([\w.-]+)"')
_AGAIN = re.compile(r'export\s*\{([^}]*)\}\s*from\s*"\./([\w.-]+)"')
_NAMES = re.compile(r"export\s*\{([^}]*)\}")
_DECLARED = re.compile(r"^export ((?:async )?function\*?|const|class) ([\w$]+)", re.MULTILINE)
_DEFAULT = re.compile(r"export default\b")
_LEFT = re.compile(r"(?:^|[;}])\s*(?:import|export)\b[\s{*\"']", re.MULTILINE)


class NotLinked(ValueError):
    """A module has an import or an export of a form that is not known."""


def linked(modules: Mapping[str, str], entry: str) -> str:
    """One script that does what the module ``entry`` does, with the modules that it needs.

    Raises:
        NotLinked: A form of import or export is not known, or a module is missing.
    """
    needs: dict[str, set[str]] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        if name not in needs:
            if name not in modules:
                raise NotLinked(f"there is no module {name}")
            needs[name] = _needed(modules[name])
            waiting += needs[name]
    body = [_function(name, modules[name]) for name in TopologicalSorter(needs).static_order()]
    return "\n".join(['"use strict";', "const $modules = {};", *body, ""])


def _needed(text: str) -> set[str]:
    return {match[3] for match in _IMPORT.finditer(text)} | {match[2] for match in _AGAIN.finditer(text)}


def _function(name: str, text: str) -> str:
    exported: list[str] = []

    def again(match: re.Match[str]) -> str:
        exported.extend(f"{new}: $modules[{match[2]!r}].{old}" for old, new in _pairs(match[1]))
        return ""

    def imported(match: re.Match[str]) -> str:
        if match[2]:
            return f"const {match[2]} = $modules[{match[3]!r}].default"
        names = ", ".join(f"{old}: {new}" for old, new in _pairs(match[1]))
        return f"const {{{names}}} = $modules[{match[3]!r}]"

    def named(match: re.Match[str]) -> str:
        exported.extend(f"{new}: {old}" for old, new in _pairs(match[1]))
        return ""

    def declared(match: re.Match[str]) -> str:
        exported.append(match[2])
        return f"{match[1]} {match[2]}"

    def default(_: re.Match[str]) -> str:
        exported.append("default: $default")
        return "const $default = "

    for pattern, replaced in ((_AGAIN, again), (_IMPORT, imported), (_NAMES, named), (_DECLARED, declared),
                              (_DEFAULT, default)):  # fmt: skip
        text = pattern.sub(replaced, text)
    if left := _LEFT.search(text):
        raise NotLinked(f"{name}: {text[left.start() : left.start() + 60]!r}")
    return f"$modules[{name!r}] = (() => {{\n{text}\nreturn {{{', '.join(exported)}}};\n}})();"


def _pairs(names: str) -> list[tuple[str, str]]:
    """``(name there, name here)`` of each name in braces."""
    parts = (part.split() for part in names.split(",") if part.strip())
    return [(part[0], part[-1]) for part in parts]
