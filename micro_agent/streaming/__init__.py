"""Events of a run as they come: steps, answer text, the end."""

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from micro_agent.cancel import Cancel
from micro_agent.run import Mode, Run, Step
from micro_agent.streaming.answer_text import Reader, reader


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


@dataclass(frozen=True, slots=True)
class CallBegins:
    """A tool is about to run, asked for by the reply number ``call`` of the run; for `WithCalls` alone.

    ``run`` is the run as it stands now, to be looked at and not kept.
    """

    run: Run
    call: int
    call_id: str | None
    tool: str
    args: dict[str, Any]


StreamEvent = Started | StepTaken | AnswerText | Ended
OnEvent = Callable[[StreamEvent], None]


@dataclass(frozen=True, slots=True)
class WithoutText:
    """An ``on_event`` that gets every event but `AnswerText`. The wire does not stream for it."""

    on_event: OnEvent

    def __call__(self, event: StreamEvent) -> None:
        """Take one event."""
        self.on_event(event)


@dataclass(frozen=True, slots=True)
class WithCalls:
    """An ``on_event`` that is also told when a tool begins. That of a call beside others may have begun before."""

    on_event: Callable[[StreamEvent | CallBegins], None]

    def __call__(self, event: StreamEvent) -> None:
        """Take one event."""
        self.on_event(event)


@dataclass
class AnswerFilter:
    """Lets through what is answer text for sure, without the blanks around the answer.

    The pieces of one reply come to `feed`, which looks at each once; ``mode`` is asked when a reply begins.
    """

    mode: Callable[[], Mode]
    emit: Callable[[str], None]
    _reader: Reader | None = None
    _sent: list[str] = field(default_factory=list[str])
    _blanks: list[str] = field(default_factory=list[str])
    """What is sent only if more comes after it."""

    def feed(self, text: str) -> bool:
        """Take the next piece of a reply. Returns whether any of the reply has been let through."""
        if self._reader is None:
            self._reader = reader(self.mode())
        text = self._reader.take(text)
        text = text if self._sent else text.lstrip()
        if said := text.rstrip():
            self._send("".join([*self._blanks, said]))
            self._blanks.clear()
        if blanks := text[len(said) :]:
            self._blanks.append(blanks)
        return bool(self._sent)

    def reset(self) -> None:
        """A new reply begins."""
        self._reader = None
        self._sent.clear()
        self._blanks.clear()

    def finish(self, answer: str | None) -> None:
        """The run has ended with this answer: what was held back of it is sent."""
        answer, sent = answer or "", "".join(self._sent)
        if len(answer) > len(sent) and answer.startswith(sent):
            self._send(answer[len(sent) :])

    def _send(self, text: str) -> None:
        self._sent.append(text)
        self.emit(text)


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
