"""How much of a context a request may take, and what a server's own counts teach about our estimates."""

from dataclasses import dataclass, field
from math import ceil

from micro_agent.run import LMCall, Run

REPLY_TOKENS = 1024
"""Kept for the reply of a model whose settings do not bound it."""
LEAST_REPLY_TOKENS = 128
"""A prompt that can be cut no further may leave so little for the reply."""

_MOST_GROWTH = 3.0
_LEAST_GROWN = 64
"""Two requests that differ by less tell nothing: a few tokens of a template would look like a rate."""
_WRONG_BY, _WRONG_OVER = 3, 512
"""A count beyond so many times the estimate and so many tokens more is not a count of this prompt."""
_TOO_FEW = 0.4
"""A count below this part of the estimate leaves out what the server had cached, as some versions of Ollama do."""


@dataclass
class Calibration:
    """What the counts of a run's calls say about the estimates of their requests.

    A prompt estimated at ``n`` tokens is taken to have ``offset + growth * n``: the offset for what the server puts
    around it (a template, a system prompt of its own), the growth for texts that its vocabulary splits finer than we
    think. Both only ever rise, and no call of the run had more than they say.
    """

    growth: float = 1.0
    offset: float = 0.0
    _last: tuple[int, int] | None = None

    def take(self, call: LMCall) -> None:
        """Learn from a call, if its count can be believed."""
        estimated, counted = call.request.get("tokens"), call.input_tokens
        if not isinstance(estimated, int) or counted is None or counted > _WRONG_BY * estimated + _WRONG_OVER:
            return
        if self._last is not None:
            self._grow(*self._last, estimated, counted)
        self.offset = max(self.offset, counted - self.growth * estimated)
        self._last = estimated, counted

    def needed(self, estimate: int) -> int:
        """The tokens that a request estimated so is taken to need."""
        return ceil(self.offset + self.growth * estimate)

    def _grow(self, estimated_before: int, counted_before: int, estimated: int, counted: int) -> None:
        more = estimated - estimated_before
        believed = counted_before >= _TOO_FEW * estimated_before and counted >= _TOO_FEW * estimated
        if more >= _LEAST_GROWN and believed:
            self.growth = max(self.growth, min(_MOST_GROWTH, (counted - counted_before) / more))


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens of a request in a context of ``length``, of which ``reserve`` are kept for the reply."""

    length: int
    reserve: int
    learned: Calibration = field(default_factory=Calibration)

    @property
    def most(self) -> int:
        """The largest estimate that leaves the reserve free."""
        return self._largest(self.reserve)

    @property
    def utmost(self) -> int:
        """The largest estimate that leaves the least that a reply needs."""
        return self._largest(self.least_reply)

    @property
    def least_reply(self) -> int:
        """The tokens that a reply has in any case."""
        return min(self.reserve, LEAST_REPLY_TOKENS)

    def room(self, estimate: int) -> int:
        """The tokens that such a request leaves for the reply, at least 1."""
        return max(1, self.length - self.learned.needed(estimate))

    def _largest(self, reply: int) -> int:
        return int((self.length - reply - self.learned.offset) / self.learned.growth)


def reserve_of(length: int, max_tokens: int | None) -> int:
    """The tokens kept for the reply: as many as it may have, but at most a quarter of the context.

    A bound as large as the context would leave no room to ask anything. What the prompt leaves free is the reply's as
    well, so a longer one is cut only when the context is nearly full.
    """
    return max(1, min(max_tokens or REPLY_TOKENS, length // 4))


def reserve_in(run: Run, length: int, max_tokens: int | None) -> int:
    """The same, where the run has it on record as it is there: a replay knows no settings of a model."""
    return reserve_of(length, max_tokens if run.reply_reserve is None else run.reply_reserve)
