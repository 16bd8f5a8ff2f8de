"""How much of a context a request may take: what the server counted as counted, what is new as estimated."""

from dataclasses import dataclass, field, replace
from math import ceil

from micro_agent.run import Run

REPLY_TOKENS = 1024
"""Kept for the reply of a model whose settings do not bound it."""
LEAST_REPLY_TOKENS = 128
"""A prompt that can be cut no further may leave so little for the reply."""

GENEROUS = 0.5
"""No ordinary text needs less than this part of its estimate. What needs more even so cannot fit."""
_MOST_RATE = 3.0
_LATEST_RATES = 4
"""How many of the latest increments say how finely the server's vocabulary splits what is new."""
_LEAST_GROWN = 64
"""Two requests that differ by less tell nothing: a few tokens of a template would look like a rate."""
_WRONG_BY, _WRONG_OVER = 3, 512
"""A count beyond so many times the estimate and so many tokens more is not a count of this prompt."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A request: its tokens as estimated, and as its server counted them."""

    estimated: int
    counted: int


@dataclass
class Calibration:
    """What the server's counts of a run say of its next request.

    A request begins with the one before it, which the server has counted; only what is new goes by the estimate, times
    a rate that the latest increments tell, at least 1. After a trim it goes on from the head and the question.
    """

    schema_tokens: int = 0
    """So many tokens of each estimate are a schema's that the server may not put into the prompt."""
    generous: bool = False
    """Whether what nobody has counted is taken to need the least that it can."""
    whole: bool = True
    """Whether no count was seen that leaves out what the server had cached, as those of some versions of Ollama."""
    head: Counted | None = None
    """The run's first request."""
    latest: Counted | None = None
    """The latest request since the last trim."""
    rates: tuple[float, ...] = ()

    def take(self, estimated: int, counted: int, *, first: bool) -> bool:
        """Learn from a count of a request, which may be the run's ``first``. Returns whether it is believed."""
        before = self.latest or self.head
        if counted > _WRONG_BY * estimated + _WRONG_OVER:
            return False
        if counted < self.least(estimated):
            self.generous = False  # what was sent may have been cut by the server
            self.whole = self.whole and (before is None or counted >= before.counted)
            return False
        if before is None:
            self.rates = (_rate(counted - _WRONG_OVER, estimated),)
        elif (more := estimated - before.estimated) >= _LEAST_GROWN:
            self.rates = (*self.rates, _rate(counted - before.counted, more))[-_LATEST_RATES:]
        self.latest = Counted(estimated, counted)
        self.head = self.latest if first else self.head
        return True

    def trimmed(self) -> "Calibration":
        """What is known of a request that does not begin with the latest one."""
        return replace(self, latest=None)

    def needed(self, estimate: int) -> int:
        """The tokens that a request estimated so is taken to need."""
        known = self.latest or self.head
        if known is None:
            return ceil(GENEROUS * (estimate - self.schema_tokens)) if self.generous else estimate
        more = estimate - known.estimated
        needed = known.counted + (ceil(self._growth * more) if more > 0 else more)
        return needed if self.whole else max(estimate, needed)

    def largest(self, tokens: int) -> int:
        """The largest estimate that is taken to need no more than so many tokens."""
        known = self.latest or self.head
        if known is None:
            return int(tokens / GENEROUS) + self.schema_tokens if self.generous else tokens
        more = tokens - known.counted
        found = known.estimated + (int(more / self._growth) if more > 0 else more)
        return found if self.whole else min(tokens, found)

    def least(self, estimate: int) -> float:
        """The tokens that a request estimated so needs in any case."""
        known = self.latest or self.head
        if known is None:
            return GENEROUS * (estimate - self.schema_tokens)
        return known.counted + GENEROUS * (estimate - known.estimated)

    @property
    def _growth(self) -> float:
        return max(self.rates, default=1.0)


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens of a request in a context of ``length``, of which ``reserve`` are kept for the reply."""

    length: int
    reserve: int
    learned: Calibration = field(default_factory=Calibration)

    @property
    def most(self) -> int:
        """The largest estimate that leaves the reserve free."""
        return self.learned.largest(self.length - self.reserve)

    @property
    def utmost(self) -> int:
        """The largest estimate that leaves the least that a reply needs."""
        return self.learned.largest(self.length - self.least_reply)

    @property
    def least_reply(self) -> int:
        """The tokens that a reply has in any case."""
        return min(self.reserve, LEAST_REPLY_TOKENS)

    def may_fit(self, estimate: int) -> bool:
        """Whether such a request can leave the least that a reply needs."""
        return self.learned.least(estimate) <= self.length - self.least_reply

    def room(self, estimate: int) -> int:
        """The tokens that such a request leaves for the reply; where it is not known to fit, the reserve."""
        left = self.length - self.learned.needed(estimate)
        return left if left >= self.least_reply else self.reserve


def _rate(counted: int, estimated: int) -> float:
    return max(1.0, min(_MOST_RATE, counted / estimated))


def reserve_of(length: int, max_tokens: int | None) -> int:
    """The tokens kept for the reply: as many as it may have, but at most a quarter of the context.

    A bound as large as the context would leave no room to ask anything. What the prompt leaves free is the reply's as
    well, so a longer one is cut only when the context is nearly full.
    """
    return max(1, min(max_tokens or REPLY_TOKENS, length // 4))


def reserve_in(run: Run, length: int, max_tokens: int | None) -> int:
    """The same, where the run has it on record as it is there: a replay knows no settings of a model."""
    return reserve_of(length, max_tokens if run.reply_reserve is None else run.reply_reserve)
