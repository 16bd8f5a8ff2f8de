"""The system prompts of the coding agent, made from the tools that it has, and which one a model is given.

The texts are templates beside this file. A line that names a tool, or a kind of work, of which nothing is there is left
out: no prompt names a tool that the model cannot call.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import yaml

from micro_agent.coding import CATEGORIES, EditFormat, PromptSize
from micro_agent.tools import Tool

_FOLDER = Path(__file__).parent
_SIZE = re.compile(r"(?<![a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z0-9])")
"""Billions of parameters, those of a mixture of experts as so many times so many."""


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """What fits a model: which of the two prompts, and how it changes files."""

    prompt: PromptSize
    edits: EditFormat


def prompt_for(size: PromptSize, tools: Sequence[Tool], edits: EditFormat) -> str:
    """The system prompt for a model with these tools.

    Args:
        size: Which of the two.
        tools: All that it has; of those that are not of the coding toolset nothing is said.
        edits: How it changes files, as `coding_toolset` was told.
    """
    offered = {tool.name for tool in tools}
    names = {name: name for row in CATEGORIES.values() for name in row if name in offered}
    told = names | {kind: ", ".join(filter(offered.__contains__, row)) for kind, row in CATEGORIES.items()}
    there = {name: text for name, text in told.items() if text}
    there |= {"edits": how} if (how := _filled(_data("edits")[edits], there)) else {}
    lines = [_filled(line, there) for line in _FOLDER.joinpath(f"{size}.md").read_text(encoding="utf-8").splitlines()]
    return "\n".join(line for line in lines if line is not None).strip()


def traits_of_model(model: str) -> ModelTraits:
    """What fits a model, by its name, as ``models.yaml`` has it; the minimal prompt for one that nobody knows."""
    name = model.rpartition("/")[2].lower()
    known = _data("models")
    rows: list[dict[str, Any]] = known["rows"]
    found: dict[str, Any] = {
        **known["default"],
        **next((row for row in rows if re.search(row["match"], name)), known["default"]),
    }
    if size := _SIZE.search(name):
        is_large = int(size[1] or 1) * float(size[2]) >= known["detailed_from"]
        found["prompt"] = "detailed" if is_large else "minimal"
    return ModelTraits(found["prompt"], found["edits"])


def _filled(line: str, there: dict[str, str]) -> str | None:
    """A line with names in it; ``None`` if one is not there."""
    try:
        return Template(line).substitute(there)
    except KeyError:
        return None


@cache
def _data(name: str) -> dict[str, Any]:
    return yaml.safe_load(_FOLDER.joinpath(f"{name}.yaml").read_text(encoding="utf-8"))
