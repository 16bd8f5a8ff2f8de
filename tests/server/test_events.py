"""The log of a run's events: whoever reads, however slowly, and wherever they left off, gets each event once."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.run import Run, Step
from micro_agent.server.events import MERGED_CHARS, EventLog
from micro_agent.streaming import AnswerText, Ended, Started, StepTaken, StreamEvent

READERS = 3
Got = list[tuple[int, StreamEvent]]


def content(events: Got) -> list[str]:
    """What a client understands: steps, and the text between them in one piece."""
    found: list[str] = []
    for _, event in events:
        if not isinstance(event, AnswerText):
            found.append(type(event).__name__)
        elif found and found[-1].startswith("text "):
            found[-1] += event.text
        else:
            found.append("text " + event.text)
    return found


def filled(*events: StreamEvent) -> EventLog:
    log = EventLog()
    for event in events:
        log.add(event)
    log.close()
    return log


@given(st.lists(st.one_of(st.text(min_size=1, max_size=3), st.just(0), st.integers(1, READERS)), max_size=40))
def test_every_reader_gets_everything_once_whenever_it_comes(history: list[str | int]) -> None:
    """Text is a piece of answer text, 0 a step, another number a reader that comes and takes what there is."""

    async def play() -> None:
        log, all_events = EventLog(), list[StreamEvent]()
        got: list[Got] = [[] for _ in range(READERS)]

        async def read(reader: Got) -> None:
            with suppress(TimeoutError):
                reader += await log.news(reader[-1][0] if reader else 0, within_s=0)

        def happens(event: StreamEvent) -> None:
            all_events.append(event)
            log.add(event)

        happens(Started("0" * 32))
        for what in history:
            if isinstance(what, str):
                happens(AnswerText(what))
            elif what:
                await read(got[what - 1])
            else:
                happens(StepTaken(Step(tool="t")))
        happens(Ended(Run(question="q")))
        log.close()
        for reader in got:
            await read(reader)
            assert content(reader) == content([(0, event) for event in all_events])
            assert [number for number, _ in reader] == list(range(1, len(reader) + 1))
            assert log.all_seen(reader[-1][0])
            for number, _ in reader:  # a client that comes back gets what it has not had, wherever it left
                rest = await log.news(number) if not log.all_seen(number) else []
                assert rest == [entry for entry in reader if entry[0] > number]

    asyncio.run(play())


def test_a_run_that_nobody_reads_keeps_its_text_in_few_events() -> None:
    async def play() -> Got:
        log = filled(*[AnswerText("12345678")] * 3000)
        return await log.news(0)

    events = asyncio.run(play())
    assert content(events) == ["text " + "12345678" * 3000]
    assert len(events) == -(-24000 // MERGED_CHARS)


def test_a_reader_waits_for_news_and_no_longer_than_it_wants_to() -> None:
    async def play() -> None:
        log = EventLog()
        with pytest.raises(TimeoutError):
            await log.news(0, within_s=0.001)
        waiting = [asyncio.create_task(log.news(0)) for _ in range(2)]
        await asyncio.sleep(0)
        log.add(Started("0" * 32))
        assert await asyncio.gather(*waiting) == [[(1, Started("0" * 32))]] * 2
        last = asyncio.create_task(log.news(1))
        await asyncio.sleep(0)
        log.close()
        assert await last == []

    asyncio.run(play())


def test_what_broke_a_run_off_is_raised_behind_its_last_event() -> None:
    async def play() -> None:
        log = EventLog()
        log.add(Started("0" * 32))
        log.close(OSError("gone"))
        assert len(await log.news(0)) == 1
        assert not log.all_seen(1)
        with pytest.raises(OSError, match="gone"):
            await log.news(1)

    asyncio.run(play())


def test_a_resumed_run_goes_on_with_its_numbers_and_starts_once() -> None:
    async def play() -> Got:
        paused = filled(Started("0" * 32), StepTaken(Step(tool="t")), Ended(Run(question="q")))
        log = paused.continued()
        log.add(Started("0" * 32))
        log.add(StepTaken(Step(tool="t")))
        assert await log.news(3) == [(4, StepTaken(Step(tool="t")))]
        return await log.news(0)

    events = asyncio.run(play())
    assert [(number, type(event)) for number, event in events] == [(1, Started), (2, StepTaken), (4, StepTaken)]


def test_who_has_all_of_a_resumed_run_waits_for_what_comes() -> None:
    """Its numbers go on behind the end of its first part, or at the time, and nothing stands at the last of them."""

    async def play() -> None:
        paused = filled(Started("0" * 32), StepTaken(Step(tool="t")), Ended(Run(question="q")))
        for log, after in ((paused.continued(), 2), (EventLog(1_800_000_000_000), 0)):
            with pytest.raises(TimeoutError):
                await log.news(after, within_s=0.001)
            log.add(StepTaken(Step(tool="t")))
            assert [number for number, _ in await log.news(after)] == [log.last]

    asyncio.run(play())
