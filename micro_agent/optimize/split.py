"""Which tasks an optimizer may learn from, and which only judge what it made."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.task import Task


@dataclass(frozen=True, slots=True)
class Split:
    """Tasks to learn from and tasks to judge by."""

    training: list[Task]
    """One task of each combination of tags, then the next of each: an optimizer takes the first that go well."""
    held_out: list[Task]
    """In the order in which they were drawn."""


def split(tasks: Sequence[Task], *, held_out: float = 0.5, seed: int = 0) -> Split:
    """Split tasks in two, the same way on every machine.

    Tasks are sorted by their tags, within them by a hash of the seed and the id, and every so-manieth one is held out:
    each combination of tags is split in the same ratio, give or take one. A training task that asks the very question
    of a held-out one is left out.

    Args:
        tasks: Tasks with unique ids.
        held_out: The share that is held out, between 0 and 1; at least one task goes to each side.
        seed: Another seed is another split.

    Raises:
        ConfigurationError: The share is none, or there are too few tasks for two sides.
    """
    if not 0 < held_out < 1:
        raise ConfigurationError(f"the held-out share is {held_out:g}; it must lie between 0 and 1")
    if len(tasks) < 2:
        raise ConfigurationError(f"{len(tasks)} task is too few to split in two: raise --n or add tasks")
    count = min(len(tasks) - 1, max(1, math.floor(held_out * len(tasks) + 0.5)))
    ranked = sorted(tasks, key=lambda task: (sorted(task.tags), _rank(seed, task.id)))
    chosen = {task.id for place, task in enumerate(ranked) if _passes_a_whole(place, count, len(tasks))}
    held = [task for task in tasks if task.id in chosen]
    asked = {same_question(task.question) for task in held}
    training = [task for task in ranked if task.id not in chosen and same_question(task.question) not in asked]
    if not training:
        raise ConfigurationError("every training task asks the question of a held-out one: raise --n or add tasks")
    return Split(_by_turns(training), held)


def same_question(question: str) -> str:
    """What two questions have in common that differ in blanks and capitals alone."""
    return " ".join(question.split()).casefold()


def _by_turns(ranked: Sequence[Task]) -> list[Task]:
    turns = Counter[tuple[str, ...]]()
    placed: list[tuple[int, Task]] = []
    for task in ranked:
        kind = tuple(sorted(task.tags))
        placed.append((turns[kind], task))
        turns[kind] += 1
    return [task for _, task in sorted(placed, key=itemgetter(0))]


def _rank(seed: int, ident: str) -> str:
    return sha256(f"{seed}\n{ident}".encode()).hexdigest()


def _passes_a_whole(place: int, count: int, total: int) -> bool:
    """Whether ``count`` marks, spread evenly over ``total`` places, have one here (systematic sampling)."""
    return (place + 1) * count // total > place * count // total
