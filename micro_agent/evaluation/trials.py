"""What an eval is made of: each task, once an epoch."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from micro_agent.evaluation.results import Key, ResultFile
from micro_agent.evaluation.task import Task


@dataclass(frozen=True, slots=True)
class Trial:
    """A task that is asked once: ``seed`` is the sampling seed, ``None`` to send none."""

    task: Task
    epoch: int = 0
    seed: int | None = None

    @property
    def key(self) -> Key:
        """That of its result."""
        return self.task.id, self.epoch


def trials(tasks: Iterable[Task], epochs: int, seed: int, *, seeded: bool) -> Iterator[Trial]:
    """All tasks of epoch 0, then all of epoch 1, and so on; ``seeded``: epoch k is asked with the seed ``seed`` + k.

    Tasks that stay in their file are read again for each epoch.
    """
    drawn = list(tasks) if isinstance(tasks, Iterator) else tasks
    for epoch in range(epochs):
        for task in drawn:
            yield Trial(task, epoch, seed + epoch if seeded else None)


def remaining(every: Iterable[Trial], file: ResultFile, *, retry_errors: bool = False) -> Iterator[Trial]:
    """The trials that have no result in ``file`` when they are reached.

    With ``retry_errors`` also those whose run failed.
    """
    for trial in every:
        if trial.key not in file.done or (retry_errors and trial.key in file.errors):
            yield trial


def left(file: ResultFile, *, retry_errors: bool = False) -> int:
    """How many trials `remaining` gives, if the file holds none but those of its header."""
    return max(0, file.header.planned - len(file.done) + (len(file.errors) if retry_errors else 0))
