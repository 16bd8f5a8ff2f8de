"""The tasks of `benchmarks.bench_policies`, their tools in memory, and what is right.

Tasks are those of the tiny model (`training.tasks`), of names and phrasings that it was never taught. Left out are
those in which no tool has a part, and the time of day, whose answer is another one at each moment.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from random import Random
from typing import Any

from micro_agent import Tool
from micro_agent.models.tiny.toolset import tools_over
from micro_agent.rules.answer_values import numbers_in
from micro_agent.tools import ToolError, load_tools
from micro_agent.tools.expression import calculate
from training.tasks import Task, task

_LEFT_OUT = frozenset({"talk", "beyond", "now"})
_DENIES = re.compile(r"\b(?:no|not|none|cannot|unable|unknown)\b|n['’]t\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Made:
    """A call that reached its tool. ``result`` is ``None`` where it failed."""

    name: str
    args: dict[str, Any]
    result: Any
    effect: bool


@dataclass
class Attempt:
    """A task, its tools, and what became of it; seconds on the wall, tokens or ``None`` where they are unknown."""

    task: Task
    made: list[Made] = field(default_factory=list[Made])
    answer: str | None = None
    """``None``: the run ended without one."""
    decisions: int = 0
    replies: int = 0
    requests: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    seconds: float = 0.0

    def tools(self) -> list[Tool]:
        """The twelve tools over the world of the task; each call of one is noted."""
        world = replace(self.task.world, done=[])
        return [self._noting(tool) for tool in [*_built_in(), *tools_over(world)]]

    def _noting(self, tool: Tool) -> Tool:
        def called(**args: Any) -> Any:
            result = None
            try:
                if missing := [name for name in tool.parameters["required"] if name not in args]:
                    raise TypeError(f"{tool.name}() misses {', '.join(missing)}")
                result = tool.handler(**args)
            finally:
                self.made.append(Made(tool.name, args, result, not tool.read_only))
            return result

        return replace(tool, handler=called)

    @cached_property  # read when the task is over
    def right(self) -> bool:
        """Whether the right calls were made, the answer has the values that are asked for, and nothing else was done.

        Of the order only so much is asked as the calls need of each other: a sum of two prices has both.
        """
        told = self.answer is not None and all(_stands(value, self.answer) for value in wanted(self.task))
        denied = self.task.kind != "absent" or bool(_DENIES.search(self.answer or ""))
        called = all(any(self._is(made, call) for made in self.made) for call in self.task.calls)
        return told and denied and called and not self.wrong_effects

    @property
    def silent_wrong(self) -> bool:
        """Whether there is an answer and it is not right: nobody would know."""
        return self.answer is not None and not self.right

    @property
    def wrong_effects(self) -> int:
        """How many things were done that nobody asked for, or done twice."""
        left = list(self.task.calls)
        wrong = 0
        for made in self.made:
            if not made.effect or made.result is None:
                continue
            meant = next((call for call in left if self._is(made, call)), None)
            if meant is None:
                wrong += 1
            else:
                left.remove(meant)
        return wrong

    def _is(self, made: Made, call: tuple[str, dict[str, Any]]) -> bool:
        name, args = call
        worked = made.result is not None or self.task.kind == "absent"
        if made.name != name or not worked or made.args.keys() != args.keys():
            return False
        if self.task.kind == "tellprice" and name == "send":  # in whatever words
            text = str(made.args["text"])
            return _same(made.args["person"], args["person"]) and all(_stands(one, text) for one in _price(self.task))
        return all(_same(made.args[key], value) for key, value in args.items())


@cache
def _built_in() -> list[Tool]:
    return list(load_tools(modules="").values())


def drawn(count: int, seed: int) -> Iterator[Task]:
    """So many tasks; the same for the same seed."""
    random = Random(seed)
    while count:
        found = task(random, held=True)
        if found.kind not in _LEFT_OUT:
            count -= 1
            yield found


def wanted(task: Task) -> list[Any]:
    """The values that an answer has to tell. None where something was to be done: that it is done is looked at."""
    name, args = task.calls[-1]
    if task.kind == "absent":
        return list(args.values())
    tool = next(tool for tool in Attempt(task).tools() if tool.name == name)
    if not tool.read_only:
        return []
    found = tool.handler(**args)
    return [found["result"]] if name == "calculator" else list(found.values())


def _price(task: Task) -> list[Any]:
    return [value for pair in task.world.prices.items() for value in pair]


def _same(given: Any, meant: Any) -> bool:
    """Whether an argument is the one that is meant: numbers and sums by value, texts by their words."""
    if _value(given) is not None and _value(given) == _value(meant):
        return True
    return bool(_words(given)) and _words(given) == _words(meant)


def _value(said: Any) -> Any:
    try:
        return calculate(str(said))[0]
    except ToolError:
        return None


def _stands(value: Any, text: str) -> bool:
    """Whether a text has a value: a number by value, whatever its sign, other texts word by word."""
    if isinstance(value, int | float):
        return abs(Fraction(str(value))) in map(abs, numbers_in(text))
    return f" {_words(value)} " in f" {_words(text)} "


def _words(text: Any) -> str:
    return " ".join(re.findall(r"[\w:+*/-]+", str(text).casefold()))
