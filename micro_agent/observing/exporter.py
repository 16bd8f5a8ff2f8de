"""Spans on their way out: from a thread of its own, in batches, to a collector that may be slow, or not there."""

import logging
import queue
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING

from micro_agent.extras import need
from micro_agent.files.known_secrets import remember
from micro_agent.observing.endpoints import Endpoint
from micro_agent.observing.spans import Span, SpanFold
from micro_agent.run import Run
from micro_agent.run.span_ids import trace_id
from micro_agent.running.observers import observing

if TYPE_CHECKING:
    from micro_agent.observing.otlp import Otlp

SENDER = "opentelemetry.exporter.otlp.proto.http"
"""The package that sends spans, of the extra ``otel``."""
_BATCH = 256
_SOON_S = 0.5
"""So long a batch is waited for: spans are seen while the run goes on."""
_log = logging.getLogger("micro_agent")


class Exporter:
    """Sends spans in the background. Watches the runs of the process as an `Observer`; `exporting` has it do so.

    Args:
        endpoint: Where to.
        most_waiting: So many spans wait to be sent; more are dropped, and counted.
        again_s: Seconds in which nothing is tried again after the collector took nothing.

    Attributes:
        sent: How many spans the collector has taken.
        lost: How many it has not, or were too many to wait.
        traces: The traces that spans belong to, the latest last; no more than a few are remembered.

    Raises:
        ConfigurationError: The extra ``otel`` is not installed.
    """

    def __init__(self, endpoint: Endpoint, *, most_waiting: int = 16_384, again_s: float = 15.0) -> None:
        need("otel", SENDER)
        for name, value in endpoint.headers.items():
            remember(name, value)
            remember(name, value.removeprefix("Bearer "))
        self.endpoint = endpoint
        self.sent = self.lost = 0
        self.traces: list[str] = []
        self._again, self._again_s = 0.0, again_s
        self._said = False
        self._folds: dict[str, SpanFold] = {}
        self._otlp: Otlp | None = None
        self._queue: queue.Queue[Span | None] = queue.Queue(most_waiting)
        self._thread = threading.Thread(target=self._work, name="micro-agent spans", daemon=True)
        self._thread.start()

    def began(self, run: Run) -> None:
        """A session begins. What the run has already was sent by the one before."""
        self._folds[run.id] = SpanFold(run, content=self.endpoint.content, seen=True)
        self.traces = [*self.traces[-1:], trace_id(run)]

    def moved(self, run: Run) -> None:
        """The run has a step more."""
        self.send(self._folds[run.id].more(run))

    def ended(self, run: Run) -> None:
        """The run has ended, or paused: then its own span is sent when it has ended."""
        spans = list(self._folds.pop(run.id).rest(run))
        self.send(spans[:-1] if run.status == "confirmation_required" else spans)

    def send(self, spans: Iterable[Span], *, wait: bool = False) -> None:
        """Have them sent soon. Without ``wait`` it drops what is too much, and comes back at once."""
        for span in spans:
            try:
                self._queue.put(span, block=wait)
            except queue.Full:
                self.lost += 1

    def close(self, within_s: float = 5.0) -> bool:
        """Send what is left, for at most so many seconds. Returns whether the collector has taken all.

        A collector that has failed already is not waited for.
        """
        until = monotonic() + within_s
        with suppress(queue.Full):
            self._queue.put(None, timeout=within_s)
        while self._thread.is_alive() and monotonic() < until and not self._in_trouble():
            self._thread.join(0.02)
        if self._thread.is_alive() and self._otlp is not None:
            self._otlp.stop()
            self._thread.join(0.2)
        if self._thread.is_alive():
            self._say("it did not answer in time")
        return not self._thread.is_alive() and not self.lost

    def _in_trouble(self) -> bool:
        return self._otlp is not None and self._otlp.trouble is not None

    def _work(self) -> None:
        from micro_agent.observing.otlp import Otlp

        self._otlp = otlp = Otlp(self.endpoint)
        try:
            over = False
            while not over:
                batch, over = self._batch()
                self._deliver(otlp, batch)
        finally:
            otlp.close()

    def _batch(self) -> tuple[list[Span], bool]:
        """What is sent next, and whether it is the last."""
        found: list[Span] = []
        until = monotonic() + _SOON_S
        while len(found) < _BATCH:
            left = None if not found else max(0.0, until - monotonic())
            try:
                span = self._queue.get(timeout=left)
            except queue.Empty:
                break
            if span is None:
                return found, True
            if not found:
                until = monotonic() + _SOON_S
            found.append(span)
        return found, False

    def _deliver(self, otlp: "Otlp", batch: list[Span]) -> None:
        if not batch:
            return
        if monotonic() >= self._again:
            otlp.trouble = None
            if otlp.export(batch):
                otlp.trouble = None  # it may have come at the second try
                self.sent += len(batch)
                return
            self._again = monotonic() + self._again_s
            self._say(otlp.trouble or "it did not take them")
        self.lost += len(batch)

    def _say(self, why: str) -> None:
        if not self._said:
            self._said = True
            told = "spans cannot be sent to %s (%s); runs go on, and micro-agent traces export sends them later"
            _log.warning(told, self.endpoint.url, why)


@contextmanager
def exporting(endpoint: Endpoint, *, within_s: float = 5.0) -> Generator[Exporter]:
    """Send the spans of all runs of this process that begin in this block; at its end, for at most ``within_s``.

    Raises:
        ConfigurationError: The extra ``otel`` is not installed.
    """
    exporter = Exporter(endpoint)
    try:
        with observing(exporter):
            yield exporter
    finally:
        exporter.close(within_s)
