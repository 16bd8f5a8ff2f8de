"""The pool of runs: so many at once, cancelled or suspended from outside, taken up again with their events."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from micro_agent import Limits, MicroAgent, Run, Tool
from micro_agent.errors import RunBusy, RunNotFound, StorageError
from micro_agent.rules import Rule
from micro_agent.server.runs import LONGEST_WAIT_S, Live, PoolFull, RunPool, ShuttingDown, retry_after_s
from micro_agent.streaming import AnswerText, Ended, Started, StepTaken, StreamEvent
from micro_agent.testing import Reply, ScriptedLM, call, text
from micro_agent.traces import TraceStore

UNKNOWN = "0" * 32


class Gate:
    """A tool that waits until it is let through, each time."""

    def __init__(self) -> None:
        self.entered = asyncio.Semaphore(0)
        self.open = asyncio.Semaphore(0)

    async def __call__(self) -> str:
        self.entered.release()
        await self.open.acquire()
        return "through"


def pool_of(
    store: TraceStore, script: list[Reply] | None = None, gate: Gate | None = None, rules: list[Rule] | None = None,
    lm: Any = None, **options: Any,
) -> RunPool:  # fmt: skip
    async def wait() -> str:
        """Wait."""
        return await (gate or Gate())()

    lm = lm or ScriptedLM(script if script is not None else [call("wait", {}), text("Done.")])
    agent = MicroAgent(tools=[wait], lm=lm, rules=rules or [], traces=store)
    return RunPool(lambda _: agent, store, **options)


def play(work: Callable[[], Awaitable[None]]) -> None:
    async def play() -> None:
        async with asyncio.timeout(30):
            await work()

    asyncio.run(play())


async def events_of(live: Live, after: int = 0) -> AsyncIterator[tuple[int, StreamEvent]]:
    """The numbered events above ``after``, as a client that reads the log gets them."""
    while not live.log.all_seen(after):
        for number, event in await live.log.news(after):
            after = number
            yield number, event


async def seen(live: Live, after: int = 0) -> list[type]:
    return [type(event) async for _, event in events_of(live, after)]


def test_a_full_pool_says_when_to_come_back(store: TraceStore) -> None:
    async def work() -> None:
        gate = Gate()
        pool = pool_of(store, gate=gate, max_running=1)
        live = pool.start("Wait.")
        with pytest.raises(PoolFull, match=r"1 runs are under way, which is the limit: try again in 1 s") as full:
            pool.start("Wait.")
        assert (full.value.retry_after_s, pool.running()) == (1, 1)
        gate.open.release()
        assert (await live.ended()).answer == "Done."
        assert pool.running() == 0
        assert (await pool.start("And now?").ended()).error is not None  # the script is exhausted: it was asked

    play(work)


@pytest.mark.parametrize(
    ("ages", "recent", "seconds"),
    [
        ([0.2], [], 1),  # nothing is known
        ([40.0], [], 40),  # as long again as it has lasted
        ([3.0, 0.0], [10.0, 10.0, 10.0], 7),
        ([8.0], [2.0, 9.0, 20.0, 30.0], 12),  # of those that lasted longer, the middle one
        ([5000.0], [1.0], LONGEST_WAIT_S),
    ],
)
def test_the_estimate_is_what_recent_runs_make_likely(ages: list[float], recent: list[float], seconds: int) -> None:
    assert retry_after_s(ages, recent) == seconds


def test_all_who_follow_a_run_get_its_events(store: TraceStore) -> None:
    async def work() -> None:
        gate = Gate()
        live = pool_of(store, gate=gate).start("Wait.")
        early = asyncio.create_task(seen(live))
        await gate.entered.acquire()
        gate.open.release()
        run = await live.ended()
        assert await early == await seen(live) == [Started, StepTaken, AnswerText, Ended]
        assert await seen(live, after=2) == [AnswerText, Ended]
        assert run == store.load(await live.started())

    play(work)


def test_without_text_the_model_is_not_asked_to_stream(store: TraceStore) -> None:
    async def work() -> None:
        pool = pool_of(store, [text("One."), text("Two.")])
        assert await seen(pool.start("One?", text=False)) == [Started, Ended]
        assert await seen(pool.start("Two?")) == [Started, AnswerText, Ended]

    play(work)


def test_limits_of_the_question_go_before_those_of_the_pool(store: TraceStore) -> None:
    async def work() -> None:
        pool = pool_of(store, [text(".")] * 3, limits=Limits(max_steps=3, max_time=60))
        assert (await pool.start("?").ended()).limits["max_steps"] == 3
        assert (await pool.start("?", limits=Limits(max_steps=2)).ended()).limits["max_steps"] == 2
        assert (await pool_of(store, [text(".")]).start("?").ended()).limits["max_steps"] == 6

    play(work)


@pytest.mark.parametrize("begun", [False, True])
def test_a_cancelled_run_is_on_record(store: TraceStore, begun: bool) -> None:
    async def work() -> None:
        gate = Gate()
        live = pool_of(store, gate=gate).start("Wait.")
        if begun:
            await gate.entered.acquire()
        live.cancel()
        run = await live.ended()
        assert (run.status, run.termination_reason) == ("stopped", "cancelled")
        assert store.load(run.id) == run

    play(work)


@pytest.mark.parametrize("begun", [False, True])
def test_a_closed_pool_leaves_its_runs_to_be_resumed(store: TraceStore, begun: bool) -> None:
    async def work() -> None:
        gate = Gate()
        pool = pool_of(store, gate=gate)
        live = pool.start("Wait.")
        following = asyncio.create_task(seen(live))
        if begun:
            await gate.entered.acquire()
        await pool.close(0)
        run_id = await live.started()
        told = (
            f"the server is shutting down: run {run_id} was left as it is; go on with it: micro-agent resume {run_id}"
        )
        with pytest.raises(ShuttingDown, match=told):
            await live.ended()
        with pytest.raises(ShuttingDown):
            await following
        with pytest.raises(ShuttingDown, match="nothing was run"):
            pool.start("Wait.")
        assert pool.running() == 0
        gate.open.release()
        script = [text("Done.")] if begun else [call("wait", {}), text("Done.")]
        again = pool_of(store, script, gate).resume(run_id)
        assert (await again.ended()).answer == "Done."
        numbers = [number async for number, _ in events_of(again)]
        assert numbers[0] > 10**12  # above all that an earlier server has given out

    play(work)


def test_closing_waits_for_runs_that_end_in_time(store: TraceStore) -> None:
    async def work() -> None:
        gate = Gate()
        pool = pool_of(store, gate=gate)
        live = pool.start("Wait.")
        await gate.entered.acquire()
        closing = asyncio.create_task(pool.close(30))
        await asyncio.sleep(0)
        gate.open.release()
        await closing
        assert (await live.ended()).answer == "Done."
        await pool.close(30)  # there is nothing to wait for

    play(work)


def test_a_paused_run_is_over_and_goes_on_under_its_numbers(store: TraceStore) -> None:
    async def work() -> None:
        tool = Tool("act", "Act.", {"type": "object"}, lambda: "done", requires_confirmation=True)
        lm = ScriptedLM([call("act", {}), text("Done.")])
        agent = MicroAgent(tools=[tool], lm=lm, rules=[], traces=store)
        pool = RunPool(lambda _: agent, store)
        first = pool.start("Act.", text=False)
        run = await first.ended()
        assert (run.status, pool.running()) == ("confirmation_required", 0)
        store.decide(run.id, "approve")
        second = pool.resume(run.id)
        assert (await second.ended()).answer == "Done."
        numbers = [(number, type(event)) async for number, event in events_of(second)]
        last = [number async for number, _ in events_of(first)][-1]
        assert numbers[0] == (1, Started)
        assert [kind for _, kind in numbers].count(Ended) == 1
        assert numbers[-1][0] > last
        assert pool.live(run.id) is second

    play(work)


def test_a_run_is_resumed_by_the_agent_that_suits_it(store: TraceStore) -> None:
    async def work() -> None:
        gate = Gate()
        pool = pool_of(store, gate=gate)
        left = pool.start("Wait.")
        await gate.entered.acquire()
        await pool.close(0)
        asked: list[str] = []

        def resuming(run: Run) -> MicroAgent:
            asked.append(run.question)
            return MicroAgent(tools=[], lm=ScriptedLM([text("By another one.")]), rules=[], traces=store)

        pool = pool_of(store, resuming=resuming)
        run = await pool.resume(await left.started()).ended()
        assert (asked, run.answer) == (["Wait."], "By another one.")

    play(work)


def test_what_cannot_be_resumed_is_said(store: TraceStore) -> None:
    async def work() -> None:
        gate = Gate()
        pool = pool_of(store, gate=gate)
        with pytest.raises(RunNotFound):
            pool.resume(UNKNOWN)
        live = pool.start("Wait.")
        await gate.entered.acquire()
        run_id = await live.started()
        with pytest.raises(RunBusy, match=f"run {run_id} is under way"):
            pool.resume(run_id)
        elsewhere = pool_of(store).resume(run_id)
        for asked in (elsewhere.started, elsewhere.ended):
            with pytest.raises(RunBusy):
                await asked()
        gate.open.release()
        assert (await live.ended()).answer == "Done."

    play(work)


def test_a_run_that_cannot_be_written_does_not_start(store: TraceStore) -> None:
    async def work() -> None:
        store.state_dir.write_text("no folder")
        live = pool_of(store).start("Wait.")
        live.cancel()
        for asked in (live.started, live.ended, lambda: seen(live)):
            with pytest.raises(StorageError):
                await asked()

    play(work)


class Own(BaseException):
    """What no framework knows of."""


def test_what_no_framework_knows_of_is_raised_to_whoever_waits_as_a_defect(store: TraceStore) -> None:
    def broken(request: object) -> Reply:
        raise Own("a defect")

    async def work() -> None:
        pool = pool_of(store, lm=ScriptedLM(broken))
        live = pool.start("Wait.")
        assert len(await live.started()) == 32
        with pytest.raises(RuntimeError, match="Own: a defect"):
            await live.ended()
        assert pool.running() == 0

    play(work)


@pytest.mark.parametrize(("options", "known"), [({"kept_runs": 1}, [2]), ({"kept_s": -1.0}, []), ({}, [0, 1, 2])])
def test_runs_that_are_over_are_forgotten(store: TraceStore, options: dict[str, Any], known: list[int]) -> None:
    async def work() -> None:
        pool = pool_of(store, [text(".")] * 3, **options)
        ids = [(await pool.start("?").ended()).id for _ in range(3)]
        assert [number for number, run_id in enumerate(ids) if pool.live(run_id)] == known

    play(work)


def test_a_resumed_run_is_not_forgotten_with_its_pause(store: TraceStore) -> None:
    async def work() -> None:
        gate = Gate()

        async def wait() -> str:
            """Wait."""
            return await gate()

        act = Tool("act", "Act.", {"type": "object"}, lambda: "done", requires_confirmation=True)
        lm = ScriptedLM([call("act", {}), call("wait", {}), text("."), text(".")])
        agent = MicroAgent(tools=[act, wait], lm=lm, rules=[], traces=store)
        pool = RunPool(lambda _: agent, store, kept_runs=1)
        run_id = (await pool.start("Act.").ended()).id
        store.decide(run_id, "approve")
        live = pool.resume(run_id)
        await gate.entered.acquire()
        await pool.start("Another.").ended()
        assert pool.live(run_id) is live
        gate.open.release()
        await live.ended()

    play(work)
