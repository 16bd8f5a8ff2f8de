"""The ways to filter the tasks: radio buttons that the style sheet reads, so that no script is needed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from micro_agent.evaluation.report.tasks import TaskView


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to filter the tasks: the class of those that stay (``None``: all), its name, how many they are."""

    id: str
    css: str | None
    label: str
    number: int


def outcomes(views: Sequence[TaskView], *, epochs: int) -> list[Choice]:
    """The ways to filter the tasks by what came of them; those that none has are left out."""
    several = epochs > 1
    found = [
        Choice("o-all", None, "Any", len(views)),
        Choice("o-ok", "ok", "All succeeded" if several else "Succeeded", _many(views, outcome="ok")),
        Choice("o-mixed", "mixed", "Some succeeded", _many(views, outcome="mixed")),
        Choice("o-failed", "failed", "None succeeded" if several else "Failed", _many(views, outcome="failed")),
        Choice("o-error", "error", "Errors", sum(view.errors > 0 for view in views)),
        Choice("o-gained", "gained", "Gained", _many(views, flipped="gained")),
        Choice("o-lost", "lost", "Lost", _many(views, flipped="lost")),
    ]
    return [choice for choice in found if choice.number or choice.css is None]


def tag_choices(views: Sequence[TaskView]) -> list[Choice]:
    """The ways to filter by tag. A class is made of the tag's number: no text of a file gets into the style sheet."""
    counts = Counter(tag for view in views for tag in set(view.task.tags))
    every = Choice("t-all", None, "Any", len(views))
    return [every, *(Choice(f"t-{i}", f"t{i}", tag, counts[tag]) for i, tag in enumerate(sorted(counts)))]


def rules(choices: Iterable[Choice]) -> Iterator[str]:
    """The style rules by which what is chosen hides all tasks but its own.

    Only the few elements of the filters are searched for the chosen one: ``body:has()`` takes seconds for 5,000 tasks,
    and so does ``content-visibility`` on each of them.
    """
    for choice in choices:
        if choice.css is not None:
            yield f".filters:has(#{choice.id}:checked)~.list>.tasks>li:not(.{choice.css}){{display:none}}"


def _many(views: Sequence[TaskView], **wanted: str) -> int:
    return sum(all(getattr(view, name) == value for name, value in wanted.items()) for view in views)
