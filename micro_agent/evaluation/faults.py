"""An eval with damaged replies beside the same without: who asks, where the results lie, what survives."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any

from micro_agent.cancel import Cancel
from micro_agent.evaluation.compare import compare
from micro_agent.evaluation.counting import Shares
from micro_agent.evaluation.figures import FaultFigures
from micro_agent.evaluation.result import Damage, Header, Result
from micro_agent.evaluation.result_lines import header_of, whole_lines
from micro_agent.evaluation.results import Key, read_results
from micro_agent.evaluation.trials import Trial
from micro_agent.run import Run

_MARK = "-faults"


def twin_of(path: Path) -> Path:
    """Where the results with damaged replies lie: ``ID-faults.jsonl`` beside ``ID.jsonl``."""
    return path.with_name(f"{path.stem}{_MARK}{path.suffix}")


def arms_of(path: Path) -> tuple[Path, ...]:
    """The files that belong together, the one without faults first; ``path`` alone if it has no other."""
    base = path.with_name(f"{path.stem.removesuffix(_MARK)}{path.suffix}")
    return (base, twin_of(base)) if base.exists() and _has_faults(twin_of(base)) else (path,)


def _has_faults(path: Path) -> bool:
    """Whether there is an eval with faults in this file, and not another of a similar name."""
    if not path.exists():
        return False
    with open(path, "rb") as file:
        return "faults" in header_of(whole_lines(file, path), path).settings


class FaultyAsk:
    """Asks each trial of a model of its own with damaged replies, so that the damage hangs on nothing but the trial.

    Args:
        lm_for: Makes the model for a sampling seed.
        ask_of: Asks a trial of a model.
        rate: The share of replies that is damaged.
        seed: Of the damage. Epochs differ by the sampling seed that stands in their requests.
    """

    def __init__(
        self, lm_for: Callable[[int | None], Any], ask_of: Callable[[Any, Trial, Cancel], Run], rate: float, seed: int
    ) -> None:
        self.lm_for, self.ask_of, self.rate, self.seed = lm_for, ask_of, rate, seed
        self._damages: dict[str, list[Damage]] = {}
        self._lock = Lock()

    def __call__(self, trial: Trial, cancel: Cancel) -> Run:
        """Ask one trial."""
        from micro_agent.testing import FaultyLM

        lm = FaultyLM(self.lm_for(trial.seed), self.rate, self.seed)
        run = self.ask_of(lm, trial, cancel)
        with self._lock:
            self._damages[run.id] = [Damage(**asdict(one)) for one in lm.damages]
        return run

    def damages_of(self, run: Run) -> list[Damage]:
        """What was damaged in a run, told once."""
        with self._lock:
            return self._damages.pop(run.id)


def fault_figures(plain: Path, damaged: Path) -> FaultFigures:
    """What two result files of the same tasks show of the damage that was done in the second.

    Raises:
        StorageError: One of them cannot be read.
        ConfigurationError: Success was judged by different rubrics.
    """
    header, results = read_results(damaged)
    solved = {result.key for result in read_results(plain)[1] if result.success}
    still, by_damage, replies, trials = _survivors(results, solved)
    return FaultFigures(
        rate=header.settings["faults"]["rate"],
        seed=header.settings["faults"]["seed"],
        comparison=compare(_read(plain), _read(damaged)),
        still_solved=still.rate(),
        by_damage={name: shares.rate() for name, shares in sorted(by_damage.items())},
        damaged_replies=replies,
        damaged_trials=trials,
    )


def _read(path: Path) -> tuple[Header, Iterable[Result]]:
    return read_results(path)


def _survivors(results: Iterable[Result], solved: set[Key]) -> tuple[Shares, dict[str, Shares], int, int]:
    """Of the trials that were solved before the shares that still are; the damaged replies and trials of all."""
    still, by_damage, replies, trials = Shares(), defaultdict[str, Shares](Shares), 0, 0
    for result in results:
        replies += len(result.damages)
        trials += bool(result.damages)
        if result.key in solved:
            still.add(result.task.id, result.success)
            for name in {one.name for one in result.damages}:
                by_damage[name].add(result.task.id, result.success)
    return still, by_damage, replies, trials
