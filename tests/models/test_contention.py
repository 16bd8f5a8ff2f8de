"""Taking turns at a server whose context is shared: threads and event loops, turns that come and that are given up."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from dspy import LMError, LMTimeoutError

from micro_agent import MicroAgent, configure_lm
from micro_agent.models.contention import MORE_AFTER, Turns, contended
from micro_agent.models.endpoint import Endpoint
from micro_agent.models.failures import Refusal, refused
from micro_agent.models.settings import Settings
from micro_agent.testing import ModelServer, Received, Reply, error, text

FULL = "Context size has been exceeded."
ENDPOINT = Endpoint("http://127.0.0.1:1", "/", timeout_s=0.05, headers=[])
PATIENT = Endpoint("http://127.0.0.1:1", "/", timeout_s=30, headers=[])


def refusal(status: int, **said: object) -> LMError:
    body = json.dumps({"error": {"code": status, **said}})
    return refused(Refusal(status, body, {}, "http://127.0.0.1:1/", "m", "openai"))


def full() -> LMError:
    return refusal(500, message=FULL, type="server_error")


def filled(turns: Turns) -> None:
    """Let the server say that its context is full."""
    with pytest.raises(LMError), turns.taken(PATIENT):
        raise full()


def test_a_refusal_that_names_the_length_is_no_contention() -> None:
    own = {"type": "exceed_context_size_error", "n_prompt_tokens": 12014, "n_ctx": 2048}
    words = "request (12014 tokens) exceeds the available context size (2048 tokens), try increasing it"
    assert contended(full())
    assert not contended(refusal(400, message=words, **own))
    assert not contended(refusal(500, message=words))
    assert not contended(refusal(400, message=FULL))
    assert not contended(refusal(500, message="out of order"))


def test_without_contention_nobody_waits() -> None:
    turns = Turns()
    with turns.taken(ENDPOINT), turns.taken(ENDPOINT), turns.taken(ENDPOINT):
        assert turns.most is None


def test_after_it_one_at_a_time_and_more_by_and_by() -> None:
    turns = Turns()
    filled(turns)
    for most in (1, 2):
        assert turns.most == most
        for _ in range(MORE_AFTER):
            with turns.taken(ENDPOINT):
                pass
    assert turns.most == 3
    filled(turns)
    assert turns.most == 1


def test_another_failure_changes_nothing() -> None:
    turns = Turns()
    with pytest.raises(LMError), turns.taken(ENDPOINT):
        raise refusal(500, message="out of order")
    assert turns.most is None


def test_who_waits_too_long_gives_up_and_takes_no_turn_with_him() -> None:
    turns = Turns()
    filled(turns)
    with turns.taken(ENDPOINT), pytest.raises(LMTimeoutError), turns.taken(ENDPOINT):
        pytest.fail("there was no turn to take")

    async def waits() -> None:
        async with turns.ataken(ENDPOINT):
            with pytest.raises(LMTimeoutError):
                async with turns.ataken(ENDPOINT):
                    pytest.fail("there was no turn to take")

    asyncio.run(waits())
    with turns.taken(ENDPOINT):
        pass


def test_a_turn_that_comes_while_it_is_given_up_is_passed_on() -> None:
    async def both() -> None:
        turns = Turns()
        filled(turns)
        first = turns.ataken(PATIENT)
        await first.__aenter__()
        second = asyncio.create_task(turns.ataken(PATIENT).__aenter__())
        await asyncio.sleep(0)
        await first.__aexit__(None, None, None)  # the turn is the second's now, who does not know it yet
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        async with turns.ataken(ENDPOINT):
            pass

    asyncio.run(both())


def test_threads_and_loops_pass_turns_to_each_other() -> None:
    turns = Turns()
    filled(turns)
    at_once: list[int] = []
    under_way = 0

    def used() -> None:
        nonlocal under_way
        under_way += 1
        at_once.append(under_way)
        Event().wait(0.002)
        under_way -= 1

    def blocking() -> None:
        with turns.taken(PATIENT):
            used()

    async def awaiting() -> None:
        async with turns.ataken(PATIENT):
            used()

    async def many() -> None:
        await asyncio.gather(*(awaiting() for _ in range(3)), *(asyncio.to_thread(blocking) for _ in range(3)))

    asyncio.run(many())
    assert at_once == [1] * 6


def test_a_server_that_shares_its_context_is_asked_by_one_run_at_a_time() -> None:
    """Four runs that arrive together fail together; each is tried again and none is called too long."""
    arrived: list[int] = []

    def sharing(request: Received) -> Reply:
        arrived.append(1)
        return error(500, FULL) if len(arrived) <= 4 else text("Hello.")

    with ModelServer(sharing) as server:
        lm: Any = configure_lm("openai", "scripted", server.openai_url, fallback=False)
        agent = MicroAgent([], lm, rules=[], settings=Settings(context_length=4096))
        with ThreadPoolExecutor(4) as pool:
            runs = list(pool.map(agent.ask, ["Hello?"] * 4))
        assert {run.status for run in runs} == {"completed"}
        assert sum(run.calls[0].retries for run in runs) == 4
        assert lm.engine.turns.most == 1


def test_where_the_length_is_not_known_it_is_an_overflow() -> None:
    with ModelServer([error(500, FULL)], repeat=True) as server:
        lm = configure_lm("openai", "scripted", server.openai_url, fallback=False)
        run = MicroAgent([], lm, rules=[]).ask("Hello?")
    assert (run.status, run.termination_reason) == ("stopped", "context_overflow")


def test_contention_that_does_not_end_is_told_as_what_it_is() -> None:
    with ModelServer([error(500, FULL, retry_after=0)], repeat=True) as server:
        lm = configure_lm("openai", "scripted", server.openai_url, fallback=False)
        run = MicroAgent([], lm, rules=[], settings=Settings(context_length=4096, llm_timeout=1)).ask("Hello?")
    assert (run.status, (run.error or {})["code"]) == ("failed", "RATE_LIMITED")
    assert "send fewer requests at once" in (run.error or {})["message"]
