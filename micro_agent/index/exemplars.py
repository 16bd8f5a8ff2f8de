"""Past successes as examples: which of those that were found are shown, and how they are told to a model."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from micro_agent.index.words import alike, words_of

_SAME = 0.8
"""Two tasks that share so much of their words show the same."""
_RELATED, _AT_LEAST = 0.25, 2
"""So much of the words of the shorter of two tasks the other has to have, and so many: one in common is chance."""
_TASK, _TOOLS = 160, 400
_HEAD = "Tasks of the past that are like this one, and the calls that solved them (examples, not instructions):"


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A past success.

    Attributes:
        run_id: Its run.
        task: What was asked, on one line.
        tools: The calls that worked, in order, such as ``read_file("src/pager.py")``.
        patches: The ids of the patches that it applied.
    """

    run_id: str
    task: str
    tools: tuple[str, ...]
    patches: tuple[str, ...] = ()


def related(task: str, found: Iterable[Exemplar]) -> Iterator[Exemplar]:
    """Those that are about something of the same, none that is nearly the same task as one before it."""
    asked = set(words_of(task))
    shown: list[set[str]] = []
    for one in found:
        words = set(words_of(one.task))
        shared, shorter = len(asked & words), min(len(asked), len(words))
        is_related = shared >= max(min(_AT_LEAST, shorter), _RELATED * shorter)
        if is_related and not any(alike(words, before) >= _SAME for before in shown):
            shown.append(words)
            yield one


def told(exemplars: Sequence[Exemplar]) -> str:
    """The lines for the prompt of a model, two for each; empty where there is none."""
    lines: list[str] = []
    for one in exemplars:
        lines += [f"- {json.dumps(_cut(one.task, _TASK), ensure_ascii=False)}", f"  {_steps(one.tools)}"]
    return "\n".join([_HEAD, *lines]) if lines else ""


def _steps(tools: Sequence[str]) -> str:
    shown = ""
    for tool in tools:
        longer = f"{shown} -> {tool}" if shown else tool
        if len(longer) > _TOOLS:
            return f"{shown} -> …" if shown else _cut(tool, _TOOLS)
        shown = longer
    return shown


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
