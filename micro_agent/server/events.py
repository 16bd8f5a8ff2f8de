"""The numbered events of one run: what has happened so far, for any number of readers, from wherever they left off."""

import asyncio
from bisect import bisect_right

from micro_agent.streaming import AnswerText, Ended, Started, StreamEvent

MERGED_CHARS = 8192
"""Pieces of text that nobody has read yet are put together up to this many characters."""


class EventLog:
    """Events with their numbers, which only grow. Belongs to one event loop.

    Every event is kept once, however many read it and however slowly: a reader is a place in the log. Pieces of answer
    text become one event for as long as no reader has had the last of them, so a run that nobody follows keeps few
    events, and what a reader has been given is never changed after that.

    Args:
        last: The number before the first event.
    """

    def __init__(self, last: int = 0) -> None:
        self.last = last
        """The number of the latest event."""
        self._events: list[tuple[int, StreamEvent]] = []
        self._read = last
        self._closed = False
        self._failure: Exception | None = None
        self._news = asyncio.Event()

    def continued(self) -> "EventLog":
        """A log for the same run when it is resumed: the numbers and the events go on, without the pause between."""
        log = EventLog(self.last)
        log._events = [(number, event) for number, event in self._events if not isinstance(event, Ended)]
        return log

    def add(self, event: StreamEvent) -> None:
        """Take the next event. A run starts once, also when it is resumed."""
        if isinstance(event, Started) and self._events:
            return
        merged = self._merged(event)
        if merged is not None:
            self._events[-1] = (self.last, merged)
        else:
            self.last += 1
            self._events.append((self.last, event))
        self._tell()

    def close(self, failure: Exception | None = None) -> None:
        """No event comes after this; readers get ``failure`` raised when they have read all there is."""
        self._closed, self._failure = True, failure
        self._tell()

    def all_seen(self, after: int) -> bool:
        """Whether nothing comes after the event ``after`` any more."""
        return self._closed and self._failure is None and after >= self.last

    async def news(self, after: int, *, within_s: float | None = None) -> list[tuple[int, StreamEvent]]:
        """All events with numbers above ``after``, as soon as there is one; none once the run is over.

        Args:
            after: The number of the last event that the reader has.
            within_s: How long to wait for one, in seconds.

        Raises:
            TimeoutError: There was none for so long.
            Exception: What the log was closed with, after its last event.
        """
        # Not by `last`: no event has that number where a run was resumed, and a reader who need not wait for the next
        # one asks for ever and lets nobody else have a turn.
        while not (found := self._above(after)) and not self._closed:
            async with asyncio.timeout(within_s):
                await self._news.wait()
        if self._failure is not None and not found:
            raise self._failure
        self._read = self.last
        return found

    def _above(self, after: int) -> list[tuple[int, StreamEvent]]:
        return self._events[bisect_right(self._events, after, key=lambda entry: entry[0]) :]

    def _merged(self, event: StreamEvent) -> AnswerText | None:
        if not isinstance(event, AnswerText) or not self._events or self.last <= self._read:
            return None
        before = self._events[-1][1]
        if isinstance(before, AnswerText) and len(before.text) < MERGED_CHARS:
            return AnswerText(before.text + event.text)
        return None

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
