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
    """All tasks of epoch 0, then all of epoch 1, and so on; ``seeded``: epoch k is asked with the seed ``seed`` + k."""
    drawn = list(tasks)
    for epoch in range(epochs):
        for task in drawn:
            yield Trial(task, epoch, seed + epoch if seeded else None)


def remaining(every: Iterable[Trial], file: ResultFile, *, retry_errors: bool = False) -> list[Trial]:
    """The trials that have no result in ``file``; with ``retry_errors`` also those whose run failed."""
    finished = file.done - file.errors if retry_errors else file.done
    return [trial for trial in every if trial.key not in finished]
