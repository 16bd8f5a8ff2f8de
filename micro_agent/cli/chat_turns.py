"""A conversation of `micro-agent chat`, without the terminal. Its state is the run that came last."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.run import Run
from micro_agent.run.chain import following, is_open, previous

if TYPE_CHECKING:
    from micro_agent.agent import MicroAgent
    from micro_agent.traces import TraceStore

_QUESTION, _ANSWER = 200, 300


@dataclass
class Chat:
    """The conversation up to ``run``; nothing that is taken back is deleted."""

    agent: "MicroAgent"
    store: "TraceStore"
    run: Run | None = None

    @property
    def turns(self) -> list[Run]:
        """The turns, the first one first."""
        return [] if self.run is None else [*self.run.earlier, self.run]

    @property
    def waits(self) -> bool:
        """Whether the last turn has not ended: it was killed, or waits for confirmation."""
        return self.run is not None and is_open(self.run)

    def ask(self, question: str, **options: Any) -> Run:
        """The next turn; ``options`` as `MicroAgent.ask` has them. One that is interrupted belongs to it as well."""
        return self._taken(lambda: self.agent.ask(question, history=self.run, **options))

    def go_on(self, **options: Any) -> Run:
        """The last turn, which has not ended, resumed."""
        assert self.run is not None, "there is a turn to go on with"
        going_on = self.run.id
        return self._taken(lambda: self.agent.resume(going_on, **options))

    def retry(self, **options: Any) -> Run:
        """The last question again, in the place of its turn. Raises `ConfigurationError` if there is none."""
        last = self._last("retry")
        self.run = previous(last)
        try:
            return self.ask(last.question, **options)
        except (ConfigurationError, StorageError):  # nothing was asked
            self.run = last
            raise

    def undo(self) -> Run:
        """Take the last turn back; it is returned. Raises `ConfigurationError` if there is none."""
        last = self._last("undo")
        self.run = previous(last)
        return last

    def save(self, path: str, *, replace: bool) -> Path:
        """Write the conversation to a file.

        Raises:
            ConfigurationError: There is nothing to write, or the file is there and is not to be replaced.
            StorageError: It cannot be written.
        """
        run, target = self._last("save"), Path(path).expanduser()
        if target.exists() and not replace:
            raise ConfigurationError(f"{target} is there already: /save! {path} replaces it")
        return run.save(target)

    def load(self, path: str) -> Run:
        """Go on with a conversation that was saved. Its runs are put on record, where they are not yet.

        Raises:
            StorageError: There is none in the file, or the runs cannot be written.
            ConfigurationError: Its last run has not ended, or not all runs are in it.
        """
        run = Run.load(Path(path).expanduser())
        following(run)
        known = {*self.store.ids(), *self.store.open_ids()}
        for one in (*run.earlier, run):
            if one.id not in known:
                self.store.append(one)
        self.run = run
        return run

    def lines(self) -> Iterator[str]:
        """The turns, in short."""
        for number, run in enumerate(self.turns, 1):
            yield f"{number}. {shorten(run.question, _QUESTION, placeholder=' …')}"
            used = [step.tool for step in run.steps if step.is_tool]
            if used:
                yield f"   tools: {', '.join(used)}"
            said = run.answer if run.answer is not None else f"({run.status}: {run.termination_reason or 'under way'})"
            yield f"   {shorten(said, _ANSWER, placeholder=' …')}"

    def _last(self, wanted: str) -> Run:
        if self.run is None:
            raise ConfigurationError(f"there is no turn to {wanted} yet")
        return self.run

    def _taken(self, work: Any) -> Run:
        from micro_agent.cancel import RunInterrupted

        try:
            self.run = work()
        except RunInterrupted as interrupted:
            self.run = interrupted.run
            raise
        assert self.run is not None, "a run came of it"
        return self.run
