"""The runner: asks tasks in several threads, scores what comes back, and writes each result as it comes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Event, Lock, Thread
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from micro_agent.cancel import Cancel
from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.result import Damage, Result, Rubric
from micro_agent.evaluation.results import ResultFile
from micro_agent.evaluation.scored import scored
from micro_agent.evaluation.trials import Trial, remaining, trials
from micro_agent.run import Run
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from micro_agent.agent import MicroAgent

__all__ = ["UNREACHED", "Ask", "Ending", "OnResult", "Trial", "agent_ask", "remaining", "run_trials", "trials"]

IN_A_ROW = 10
"""So many results in a row that never reached a model end an eval."""
UNREACHED = frozenset(
    {"NO_SERVER", "AUTH", "BILLING", "MODEL_NOT_FOUND", "RATE_LIMITED", "SERVER_ERROR", "BAD_REQUEST", "BAD_REPLY"}
)
"""Codes of a failed run (`micro_agent.models.failures`) that, before the first reply, say nothing about the model."""
GRACE_S = 1.0
"""Seconds that runs under way have to end after a cancel. One that waits for a server is then left to itself."""
_LOOK_AGAIN_S = 0.1
_NO_COST = (
    "the cost so far is unknown, so the limit of {limit:g} USD cannot be held: set the prices of the model with "
    "OPENAI_INPUT_PRICE_PER_1K and OPENAI_OUTPUT_PRICE_PER_1K (0 for a local model), or leave the limit out"
)

Ask = Callable[[Trial, Cancel], Run]
"""Asks a trial and returns the run as it ended; setting the `Cancel` ends it. Called from several threads."""
OnResult = Callable[[Result], None]
DamagesOf = Callable[[Run], list[Damage]]
"""What was damaged on purpose in a run, in an eval with faults."""


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
    work = _Work(
        iter(todo), ask, file, rubric, store, limit_cost, cancel or Cancel(), on_result or (lambda _: None),
        damages_of or (lambda _: []), spent_usd,
    )  # fmt: skip
    return work.run(concurrency)


class _Work:
    """What the threads share; the lock guards whatever changes."""

    def __init__(
        self, todo: Iterator[Trial], ask: Ask, file: ResultFile, rubric: Rubric, store: TraceStore | None,
        limit_cost: float | None, cancel: Cancel, on_result: OnResult, damages_of: DamagesOf, spent_usd: float,
    ) -> None:  # fmt: skip
        self.todo, self.ask, self.file, self.rubric, self.store = todo, ask, file, rubric, store
        self.limit_cost, self.cancel, self.on_result = limit_cost, cancel, on_result
        self.damages_of, self.spent_usd = damages_of, spent_usd
        self.lock, self.finished = Lock(), Event()
        self.ending: Ending | None = None
        self.error: BaseException | None = None
        self.threads = self.results = self.unreached = 0
        self.last_error = ""
        self.left = False
        """Whether nobody waits any more, so that what still comes back is dropped."""

    def run(self, concurrency: int) -> Ending:
        self.threads = concurrency
        try:
            for number in range(concurrency):
                Thread(target=self._work, name=f"eval-{number}", daemon=True).start()
            while not self.finished.wait(_LOOK_AGAIN_S):
                if self.cancel.is_set():
                    self.finished.wait(GRACE_S)
                    break
        except BaseException:
            self.cancel.set()
            raise
        finally:
            with self.lock:
                self.left = True
        return self._ended()

    def _ended(self) -> Ending:
        if self.error is not None:
            raise self.error
        if self.threads:
            return Ending("cancelled")
        if self.ending is None and self.results and self.unreached == self.results:
            return Ending("unreached", f"no run reached a model: {self.last_error}")
        return self.ending or Ending("done")

    def _work(self) -> None:
        try:
            while (trial := self._next()) is not None:
                self._try(trial)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            with self.lock:
                self.error = self.error or error
        with self.lock:
            self.threads -= 1
            if not self.threads:
                self.finished.set()

    def _next(self) -> Trial | None:
        with self.lock:
            if self.error is not None or self.ending is not None:
                return None
            trial = next(self.todo, None)
            if trial is not None:
                self.ending = self._stop()
            return trial if self.ending is None else None

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

    def _try(self, trial: Trial) -> None:
        started = perf_counter()
        run = self.ask(trial, self.cancel)
        wall_s = perf_counter() - started
        with self.lock:
            if run.termination_reason == "cancelled":
                self.ending = self.ending or Ending("cancelled")
            if self.left or run.termination_reason == "cancelled":
                return
        trace = self.store.append(run) if self.store is not None else None
        result = scored(
            trial.task, run, self.rubric, epoch=trial.epoch, seed=trial.seed, wall_s=wall_s, trace=trace and str(trace)
        )
        result.damages = self.damages_of(run)
        self.file.append(result)
        with self.lock:
            self._count(run)
            self.on_result(result)

    def _count(self, run: Run) -> None:
        code = (run.error or {}).get("code")
        self.results += 1
        if run.status == "failed" and not run.usage.lm_calls and code in UNREACHED:
            self.unreached += 1
            self.last_error = str((run.error or {}).get("message"))
        else:
            self.unreached = 0
