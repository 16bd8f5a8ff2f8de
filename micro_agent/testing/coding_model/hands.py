"""The tools that are there, by what they take: a call for each thing to do, and what a call of a change meant."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

import yaml

from micro_agent.coding import Category, category_of
from micro_agent.testing.coding_model.conversation import Said, Schemas
from micro_agent.testing.coding_model.pages import Page
from micro_agent.testing.coding_model.plan import Edit

Kind = Literal["replace", "diff", "tagged"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call to make."""

    name: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Changer:
    """A tool that changes files: ``roles`` says which of its arguments is which. ``numbers``: lines have no tags."""

    name: str
    kind: Kind
    roles: Mapping[str, str]
    numbers: bool = False


@cache
def tables() -> dict[str, Any]:
    """The data of this model."""
    text = resources.files("micro_agent.testing.coding_model").joinpath("tables.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def parameters(tools: Schemas, name: str) -> Mapping[str, Any]:
    """The parameters of a tool."""
    return tools[name].get("properties") or {}


def of_category(tools: Schemas, category: Category) -> list[str]:
    """The tools of a kind of work that are there."""
    return [name for name in tools if category_of(name) == category]


def finders(tools: Schemas) -> list[str]:
    """The tools that find a place: those that search, or where there are none, those that list files."""
    searching = [name for name in of_category(tools, "search") if "pattern" in parameters(tools, name)]
    return searching or [name for name in of_category(tools, "discovery") if "glob" in parameters(tools, name)]


def applier(tools: Schemas) -> str | None:
    """The tool that applies what was proposed."""
    return next(iter(of_category(tools, "apply")), None)


def changers(tools: Schemas) -> list[Changer]:
    """The tools that change files or propose it."""
    return [found for name in tools if (found := _changer(name, parameters(tools, name)))]


def used(said: Iterable[Said]) -> dict[str, Changer]:
    """The tools that calls have changed files with, by the arguments that they were given: not all are offered now."""
    changing = [(one.name, one.args) for one in said if one.name and category_of(one.name) == "change"]
    found = ((name, _changer(name, {key: {} for key in args})) for name, args in changing)
    return {name: changer for name, changer in found if changer is not None}


def _changer(name: str, given: Mapping[str, Any]) -> Changer | None:
    roles = roles_of(given)
    if "diff" in roles:
        return Changer(name, "diff", roles)
    if "new" not in roles:
        return None
    if "old" in roles and "path" in roles:
        return Changer(name, "replace", roles)
    if "first" in roles:
        return Changer(name, "tagged", roles, numbers=given[roles["first"]].get("type") == "integer")
    return None


def roles_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Which argument plays which part, by its name."""
    known: dict[str, list[str]] = tables()["arguments"]
    found = {role: next((key for key in names if key in given), None) for role, names in known.items()}
    return {role: key for role, key in found.items() if key is not None}


def changing(changer: Changer, edit: Edit, page: Page) -> Call | None:
    """The call that makes an edit with a tool; ``None`` where the model would have to see the file first."""
    values = {"path": edit.path, "intent": f"Change {edit.path}"}
    if changer.kind == "replace":
        values |= {"old": edit.target, "new": edit.replacement}
    elif changer.kind == "diff":
        diff = page.diff(edit)
        if diff is None:
            return None
        values["diff"] = diff
    else:
        place = page.place(edit)
        if place is None:
            return None
        first, last = (page.number(at) if changer.numbers else page.tag(at) for at in (place.first, place.last))
        values |= {"first": first, "last": last, "new": place.new}
    return Call(changer.name, {key: values[role] for role, key in changer.roles.items() if role in values})


def meant(changer: Changer, args: Mapping[str, Any], pages: Mapping[str, Page]) -> tuple[str, str, str]:
    """The path of a change that was asked for, the text before, and the text after, as far as they show."""

    def value(role: str) -> str:
        return str(args.get(changer.roles.get(role, "")) or "")

    if changer.kind == "diff":
        return _of_diff(value("diff"))
    path = value("path").removeprefix("./")
    if changer.kind == "replace":
        return path, value("old"), value("new")
    return path, pages.get(path, Page()).between(value("first"), value("last") or value("first")), value("new")


_HEADER = re.compile(r"(?:---|\+\+\+) (?:[ab]/)?(\S+)")


def _of_diff(diff: str) -> tuple[str, str, str]:
    path, old, new = "", list[str](), list[str]()
    for line in diff.splitlines():
        header = _HEADER.match(line)
        if header is not None:
            path = path if header[1] == "/dev/null" else header[1]
        elif line[:1] in ("-", " "):
            old.append(line[1:])
        if header is None and line[:1] in ("+", " "):
            new.append(line[1:])
    return path, "\n".join(old), "\n".join(new)
