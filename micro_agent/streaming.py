"""Events of a run as they come: steps, answer text, the end."""

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from json import JSONDecodeError, loads
from re import compile as pattern

from micro_agent.cancel import Cancel
from micro_agent.run import Mode, Run, Step


@dataclass(frozen=True, slots=True)
class Started:
    """The run began and has its id; the first event."""

    run_id: str


@dataclass(frozen=True, slots=True)
class StepTaken:
    """A step was recorded."""

    step: Step


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The next piece of what reads like the answer. It is the model's word before any rule has seen it."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The run ended or paused; the last event. ``run.answer`` is what counts."""

    run: Run


StreamEvent = Started | StepTaken | AnswerText | Ended
OnEvent = Callable[[StreamEvent], None]


@dataclass(frozen=True, slots=True)
class WithoutText:
    """An ``on_event`` that gets every event but `AnswerText`. The wire does not stream for it."""

    on_event: OnEvent

    def __call__(self, event: StreamEvent) -> None:
        """Take one event."""
        self.on_event(event)


_JSON_ANSWER = pattern(r'\s*\{\s*"final"\s*:\s*\{\s*"answer"\s*:\s*"')
_CLOSED = pattern(r'(?:[^"\\]|\\.)*"')
_HALF_ESCAPE = pattern(r"\\(?:u[0-9a-fA-F]{0,3})?$|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?$")
_NOT_PROSE = ("{", "[", "<", "```", "Action:")
_HALF_MARK = pattern(r"(?:``?|A|Ac|Act|Acti|Actio|Action)$")


@dataclass
class AnswerFilter:
    """Lets through what is answer text for sure: a call, a thought or a decision in the making is held back."""

    mode: Callable[[], Mode]
    emit: Callable[[str], None]
    _seen: str = ""
    _sent: str = ""

    def feed(self, text: str) -> None:
        """Take the next piece of a reply."""
        self._seen += text
        self._send((self._json() if self.mode() == "json" else self._prose()).strip())

    def reset(self) -> None:
        """A new reply begins."""
        self._seen = self._sent = ""

    def finish(self, answer: str | None) -> None:
        """The run has ended with this answer: what was held back of it is sent."""
        self._send(answer or "")

    def _send(self, answer: str) -> None:
        if len(answer) > len(self._sent) and answer.startswith(self._sent):
            piece, self._sent = answer[len(self._sent) :], answer
            self.emit(piece)

    def _json(self) -> str:
        head = _JSON_ANSWER.match(self._seen)
        if head is None:
            return ""
        body = self._seen[head.end() :]
        closed = _CLOSED.match(body)
        inner = closed.group()[:-1] if closed else _HALF_ESCAPE.sub("", body)
        try:
            return str(loads(f'"{inner}"', strict=False))
        except JSONDecodeError:
            return ""

    def _prose(self) -> str:
        ends = [at for mark in _NOT_PROSE if (at := self._seen.find(mark)) >= 0]
        return self._seen[: min(ends)] if ends else _HALF_MARK.sub("", self._seen)


def stream(run: Callable[[OnEvent], Run], cancel: Cancel) -> Iterator[StreamEvent]:
    """Events of a blocking run, which works in a thread of its own. Leaving the iteration cancels the run.

    Args:
        run: Does the run, given where its events go.
        cancel: What cancels it.
    """
    events: queue.SimpleQueue[StreamEvent | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            run(events.put)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that iterates
            events.put(error)

    thread = threading.Thread(target=copy_context().run, args=(work,), name="micro-agent stream")
    thread.start()
    try:
        while not isinstance(event := events.get(), Ended):
            if isinstance(event, BaseException):
                raise event
            yield event
        yield event
    finally:
        cancel.set()
        thread.join()


async def astream(run: Callable[[OnEvent], Awaitable[Run]]) -> AsyncIterator[StreamEvent]:
    """The same on the running event loop."""
    events: asyncio.Queue[StreamEvent | None] = asyncio.Queue()

    async def work() -> None:
        try:
            await run(events.put_nowait)
        finally:
            events.put_nowait(None)

    task = asyncio.create_task(work())
    try:
        while (event := await events.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
