"""What the requests of one proxy share: where they go, what is done besides, counts and records."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

from micro_agent.proxy.metrics import Metrics
from micro_agent.proxy.records import Recorder
from micro_agent.proxy.upstream import Upstream

_BROKEN_OFF_S = 1.0
"""So long those requests have to be recorded which break off as their upstream is closed."""
_log = logging.getLogger("micro_agent")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """What a proxy does besides; each costs a request more, changes one, or trusts the model more."""

    embedded: bool = False
    """Make calls that stand amid other text."""
    ask_again: bool = False
    """Ask once more where a call is required and none came."""
    ask_after_prose: bool = False
    """Ask once whether a call was meant, where tools were offered and words came."""
    tell_again: bool = False
    """Tell a model that it makes one call again and again."""


@dataclass(slots=True)
class Proxy:
    """A proxy: `running` and `close` are what a server needs to end it."""

    upstream: Upstream
    options: Options = field(default_factory=Options)
    recorder: Recorder | None = None
    metrics: Metrics = field(default_factory=Metrics)
    _told: bool = False

    def misread(self, error: Exception) -> None:
        """Reading raised: said once, counted always. The bytes go through."""
        self.metrics.failed("reading")
        if not self._told:
            self._told = True
            _log.warning("a message could not be read and goes through as it came; not said again", exc_info=error)

    def guarded(self, work: Callable[[], T]) -> T | None:
        """What ``work`` returns; ``None`` where it raises, see `misread`."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - what we cannot read is not for us to refuse
            self.misread(error)
            return None

    def running(self) -> int:
        """How many requests are under way."""
        return self.metrics.under_way

    async def close(self, grace_s: float) -> None:
        """Let the requests end for so long, then close what is open."""
        await self._idle(grace_s)
        await self.upstream.aclose()
        await self._idle(_BROKEN_OFF_S)
        if self.recorder is not None:
            await self.recorder.settled()

    async def _idle(self, within_s: float) -> None:
        ends = perf_counter() + within_s
        while self.running() and perf_counter() < ends:
            await asyncio.sleep(0.02)
