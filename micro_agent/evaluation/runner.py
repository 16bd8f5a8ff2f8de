"""The runner: has trials asked and scored, writes each result as it comes, and ends an eval that makes no sense."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Literal

from micro_agent.cancel import Cancel
from micro_agent.errors import ConfigurationError, MicroAgentError
from micro_agent.evaluation.result import Result, Rubric
from micro_agent.evaluation.results import Key, ResultFile
from micro_agent.evaluation.trials import Trial, remaining, trials
from micro_agent.evaluation.workers.feed import Executor
from micro_agent.evaluation.workers.threads import Threads
from micro_agent.evaluation.workers.tried import UNREACHED, Ask, DamagesOf, Tried, tried
from micro_agent.run import Run
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from micro_agent.agent import MicroAgent

__all__ = [
    "UNREACHED", "Ask", "DamagesOf", "Ending", "OnResult", "Trial", "agent_ask", "remaining", "run_trials",
    "run_with", "trials",
]  # fmt: skip

IN_A_ROW = 10
"""So many results in a row that never reached a model end an eval."""
LOST = 5
"""So many times a trial is asked whose worker died with it before the eval ends: it may be what kills them."""
_NO_COST = (
    "the cost so far is unknown, so the limit of {limit:g} USD cannot be held: set the prices of the model with "
    "OPENAI_INPUT_PRICE_PER_1K and OPENAI_OUTPUT_PRICE_PER_1K (0 for a local model), or leave the limit out"
)

OnResult = Callable[[Result], None]
OnTried = Callable[[Tried], None]


@dataclass(frozen=True, slots=True)
class Ending:
    """How an eval ended: ``done``, or why trials are left; ``message`` says it in one line (``cancelled`` says it all).

    ``unreached``: no model answered, so that the results say nothing about one.
    """

    reason: Literal["done", "limit_cost", "unreached", "cancelled"]
    message: str = ""


def agent_ask(agent_for: "Callable[[int | None], MicroAgent]") -> Ask:
    """Asks agents: ``agent_for`` makes one for a sampling seed (``None``: no seed), once a seed.

    Make them with ``traces=None``: a trial is done again after a kill, so it needs no journal, and `run_trials` writes
    the trace. With ``confirm="never"`` no run waits for a person, and `Limits` bounds the time of each.
    """
    agents: dict[int | None, MicroAgent] = {}
    lock = Lock()

    def ask(trial: Trial, cancel: Cancel) -> Run:
        with lock:
            if trial.seed not in agents:
                agents[trial.seed] = agent_for(trial.seed)
            agent = agents[trial.seed]
        return agent.ask(trial.task.question, cancel=cancel)

    return ask


def run_trials(
    todo: Iterable[Trial], ask: Ask, file: ResultFile, rubric: Rubric, *,
    store: TraceStore | None = None, concurrency: int = 1, limit_cost: float | None = None,
    cancel: Cancel | None = None, on_result: OnResult | None = None, damages_of: DamagesOf | None = None,
    spent_usd: float = 0.0,
) -> Ending:  # fmt: skip
    """Ask trials, ``concurrency`` at a time, and write their results to ``file`` as they come.

    What ``ask``, scoring or writing raises ends the eval: the runs under way end and are written, then it is raised.

    Args:
        todo: Read one at a time.
        ask: See `agent_ask`.
        file: Where results go. It stays open.
        rubric: How checks count.
        store: Where traces go, each before its result; ``None`` writes none.
        concurrency: Threads.
        limit_cost: US dollars. No trial starts once the results in ``file`` have cost this much, or once the cost of
            one is unknown. Runs that are under way then still end, so a little more may be spent.
        cancel: Ends the eval when it is set; the runs under way leave no result.
        on_result: Called with each result once it is written, by one thread at a time.
        damages_of: What to write down as ``damages`` of a run.
        spent_usd: US dollars that count for ``limit_cost`` beside those in ``file``.

    Raises:
        ConfigurationError: ``concurrency`` is less than 1.
    """
    if concurrency < 1:
        raise ConfigurationError(f"concurrency must be at least 1, not {concurrency}")

    def ask_one(trial: Trial, cancel: Cancel) -> Tried | None:
        return tried(trial, ask, cancel, rubric=rubric, store=store, damages_of=damages_of)

    def on_tried(tried: Tried) -> None:
        assert tried.result is not None, "it was made in this process"
        if on_result is not None:
            on_result(tried.result)

    return run_with(
        Threads(concurrency, ask_one), todo, file, store=store, limit_cost=limit_cost, cancel=cancel,
        on_tried=on_tried, spent_usd=spent_usd,
    )  # fmt: skip


def run_with(
    executor: Executor, todo: Iterable[Trial], file: ResultFile, *, store: TraceStore | None = None,
    limit_cost: float | None = None, cancel: Cancel | None = None, on_tried: OnTried | None = None,
    spent_usd: float = 0.0,
) -> Ending:  # fmt: skip
    """Have trials asked by an executor, and write their results to ``file`` as they come; see `run_trials`.

    ``store``: that which the executor's traces are made for. ``on_tried`` is called once a result is written.

    Raises:
        MicroAgentError: The same trial was lost with its worker `LOST` times.
    """
    work = _Work(iter(todo).__next__, file, store, limit_cost, cancel or Cancel(), on_tried, spent_usd)
    whole = False
    try:
        whole = executor.run(work)
    except BaseException:
        work.cancel.set()
        raise
    finally:
        work.leave()
    return work.ended(whole=whole)


class _Work:
    """What all of an eval has in common; the lock guards whatever changes."""

    def __init__(
        self, draw: Callable[[], Trial], file: ResultFile, store: TraceStore | None, limit_cost: float | None,
        cancel: Cancel, on_tried: OnTried | None, spent_usd: float,
    ) -> None:  # fmt: skip
        self.draw, self.file, self.store, self.limit_cost = draw, file, store, limit_cost
        self.cancel, self.on_tried, self.spent_usd = cancel, on_tried, spent_usd
        self.lock = Lock()
        self.ending: Ending | None = None
        self.error: BaseException | None = None
        self.results = self.unreached = 0
        self.last_error = ""
        self.lost, self.losses = list[Trial](), Counter[Key]()
        self.left = False
        """Whether nobody waits any more, so that what still comes back is dropped."""

    def next(self) -> Trial | None:
        with self.lock:
            if self.error is not None or self.ending is not None:
                return None
            trial = self._drawn()
            if trial is not None:
                self.ending = self._stop()
            return trial if self.ending is None else None

    def again(self, trial: Trial, why: str) -> None:
        with self.lock:
            self.losses[trial.key] += 1
            self.lost.append(trial)
            if self.losses[trial.key] >= LOST and self.error is None:
                name, epoch = trial.key
                told = f"the workers that asked task {name} (epoch {epoch}) died, {LOST} in all"
                self.error = MicroAgentError(f"{told}; look for what kills them (memory, a tool), then resume: {why}")

    def take(self, tried: Tried | None) -> None:
        with self.lock:
            if tried is None:
                self.ending = self.ending or Ending("cancelled")
            if self.left or tried is None:
                return
        if self.store is not None and tried.record is not None:
            self.store.append_record(tried.run_id, tried.record)
        self.file.append_line(tried.line, tried.counted)
        with self.lock:
            self._count(tried)
            if self.on_tried is not None:
                self.on_tried(tried)

    def fail(self, error: BaseException) -> None:
        with self.lock:
            self.error = self.error or error

    def leave(self) -> None:
        with self.lock:
            self.left = True

    def ended(self, *, whole: bool) -> Ending:
        if self.error is not None:
            raise self.error
        if not whole:
            return Ending("cancelled")
        if self.ending is None and self.results and self.unreached == self.results:
            return Ending("unreached", f"no run reached a model: {self.last_error}")
        return self.ending or Ending("done")

    def _drawn(self) -> Trial | None:
        if self.lost:
            return self.lost.pop()
        try:
            return self.draw()
        except StopIteration:
            return None

    def _stop(self) -> Ending | None:
        """Why a trial that is left may not start."""
        if self.cancel.is_set():
            return Ending("cancelled")
        if self.unreached >= IN_A_ROW:
            return Ending("unreached", f"{self.unreached} runs in a row never reached a model: {self.last_error}")
        if self.limit_cost is None:
            return None
        spent = self.file.cost_usd
        if spent is None:
            return Ending("limit_cost", _NO_COST.format(limit=self.limit_cost))
        spent += self.spent_usd
        if spent < self.limit_cost:
            return None
        return Ending("limit_cost", f"{spent:g} USD were spent; the limit is {self.limit_cost:g} USD")

    def _count(self, tried: Tried) -> None:
        self.results += 1
        self.losses.pop(tried.counted.key, None)
        if tried.unreached is None:
            self.unreached = 0
        else:
            self.unreached += 1
            self.last_error = tried.unreached
