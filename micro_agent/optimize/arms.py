"""The two arms, asked by the eval's own runner: the agent as it is today, and with what training made."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from micro_agent.agent import MicroAgent
from micro_agent.cancel import Cancel
from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.result import Header, Rubric
from micro_agent.evaluation.results import Key, ResultFile
from micro_agent.evaluation.runner import Ending, Trial, agent_ask, remaining, run_trials, run_with, trials
from micro_agent.evaluation.task import Task
from micro_agent.evaluation.workers.feed import Executor
from micro_agent.models.identity import Wanted, addresses_of, mode_of, provider_of
from micro_agent.models.settings import Settings
from micro_agent.optimize.ending import NotFinished, left_to_spend
from micro_agent.optimize.job import Job
from micro_agent.optimize.teller import Teller
from micro_agent.optimize.work import Work
from micro_agent.rules import Rule
from micro_agent.rules.limits import Limits
from micro_agent.tools import Tool, digest
from micro_agent.traces import TraceStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What all agents of an optimization have in common."""

    lm: Any
    tools: Sequence[Tool]
    settings: Settings
    mode: Wanted = "auto"
    limits: Limits
    demos: Path | None = None
    """The file to begin with, of whatever model and mode; ``None``: the one that the settings name."""
    rules: Sequence[Rule] | None = None
    reflection_lm: Any = None

    def options(self) -> dict[str, Any]:
        """How agents are made, but for their model and demos. Nobody is there to confirm a call."""
        return {
            "tools": list(self.tools), "mode": self.mode, "limits": self.limits, "settings": self.settings,
            "confirm": "never", "rules": self.rules,
        }  # fmt: skip

    def agent(self, demos: Path, seed: int | None) -> MicroAgent:
        """The agent of an arm."""
        lm = self.lm if seed is None else self.lm.copy(seed=seed)
        return MicroAgent(lm=lm, demos=demos, **self.options())

    def identity(self) -> dict[str, Any]:
        """What the numbers of this bench are numbers of."""
        sampling = {name: value for name, value in self.lm.kwargs.items() if name not in ("api_key", "api_base")}
        sampling |= {"samples": self.settings.samples, "resamples": self.settings.resamples}
        return {
            "provider": provider_of(self.lm),
            "model": self.lm.model,
            "base_url": sorted(where) if isinstance(where := addresses_of(self.lm), list) else where,
            "mode": mode_of(self.lm, self.mode),
            "sampling": sampling,
            "limits": asdict(self.limits),
            "tools": digest({tool.name: tool for tool in self.tools}),
            **({} if self.rules is None else {"rules": [rule.__module__ for rule in self.rules]}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much may be done at once and spent in all (US dollars), and the means to end it.

    Raises:
        ConfigurationError: A bound that nothing can keep.
    """

    concurrency: int = 4
    limit_cost: float | None = None
    cancel: Cancel
    workers_for: Callable[[Header, Path, Path], Executor] | None = None
    """Makes those who ask an arm: for the header of its results, its demos, the folder of traces; ``None``: threads."""

    def __post_init__(self) -> None:
        if self.limit_cost is not None and not self.limit_cost > 0:
            raise ConfigurationError(f"--limit-cost must be more than 0 dollars, not {self.limit_cost:g}")


def run_arm(
    arm: str, tasks: Sequence[Task], job: Job, bench: Bench, work: Work, *,
    dataset: tuple[str, str], bounds: Bounds, spent: float | None, teller: Teller,
) -> set[Key]:  # fmt: skip
    """Ask the held-out tasks that have no result yet, and those whose run failed.

    Args:
        arm: The name of the arm; its demos are in the work folder.
        tasks: The held-out tasks.
        job: For epochs and seed.
        bench: Makes the agents.
        work: Where results go.
        dataset: Name and sha256 of the file of the tasks, for the header.
        bounds: Concurrency, money, cancelling.
        spent: US dollars outside of this arm, ``None`` if unknown.
        teller: Shows the progress.

    Returns:
        The trials whose run failed.

    Raises:
        NotFinished: Trials are left.
    """
    path, demos = work.results(arm), work.demos(arm)
    every = trials(tasks, job.epochs, job.seed, seeded=job.epochs > 1)
    with _opened(path, _header(tasks, job, bench, demos, dataset)) as file:
        todo = list(remaining(every, file, retry_errors=True))
        if todo:
            limit = left_to_spend(bounds.limit_cost, spent)
            with teller.trials(arm, file, len(todo)) as on_result:
                ending = _asked(todo, file, bench, demos, TraceStore(work.traces), bounds, limit, on_result)
            if ending.reason != "done":
                raise NotFinished(ending.reason, ending.message or f"the held-out tasks, {arm}, were cancelled")
        return set(file.errors)


def _asked(
    todo: list[Trial], file: ResultFile, bench: Bench, demos: Path, store: TraceStore, bounds: Bounds,
    limit_cost: float | None, on_result: Callable[[object], None],
) -> Ending:  # fmt: skip
    if bounds.workers_for is not None:
        workers = bounds.workers_for(file.header, demos, store.directory)
        return run_with(
            workers, todo, file, store=store, limit_cost=limit_cost, cancel=bounds.cancel, on_tried=on_result
        )  # fmt: skip
    return run_trials(
        todo, agent_ask(lambda seed: bench.agent(demos, seed)), file, Rubric(), store=store,
        concurrency=bounds.concurrency, limit_cost=limit_cost, cancel=bounds.cancel, on_result=on_result,
    )  # fmt: skip


def cost_of(results: Path) -> float | None:
    """US dollars that an arm has cost so far, ``None`` if unknown."""
    if not results.exists():
        return 0.0
    with ResultFile.resume(results) as file:
        return file.cost_usd


def _opened(path: Path, header: Header) -> ResultFile:
    return ResultFile.resume(path) if path.exists() else ResultFile.create(path, header)


def _header(tasks: Sequence[Task], job: Job, bench: Bench, demos: Path, dataset: tuple[str, str]) -> Header:
    return Header(
        dataset=dataset[0], dataset_sha256=dataset[1], tasks=[task.id for task in tasks], epochs=job.epochs,
        seed=job.seed, settings={**bench.identity(), "demos": sha256(demos.read_bytes()).hexdigest()},
    )  # fmt: skip
