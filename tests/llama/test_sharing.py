"""Slots that share one context: a full one is no overflow of a request that would fit alone."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from micro_agent import Limits, MicroAgent, Run
from micro_agent.streaming import Ended
from tests.llama.conftest import lm_of, measure

if TYPE_CHECKING:
    from tests.llama.server import Llama

QUESTIONS = [f"{number}: how long is it " + "and so on " * 40 for number in range(4)]


def in_threads(agent: MicroAgent) -> list[Run]:
    with ThreadPoolExecutor(len(QUESTIONS)) as pool:
        return list(pool.map(agent.ask, QUESTIONS))


def streamed(agent: MicroAgent) -> list[Run]:
    def one(question: str) -> Run:
        *_, last = agent.stream(question)
        assert isinstance(last, Ended)
        return last.run

    with ThreadPoolExecutor(len(QUESTIONS)) as pool:
        return list(pool.map(one, QUESTIONS))


def awaited(agent: MicroAgent) -> list[Run]:
    async def together() -> list[Run]:
        return await asyncio.gather(*(agent.aask(question) for question in QUESTIONS))

    return asyncio.run(together())


@pytest.mark.parametrize("runs", [in_threads, streamed, awaited])
def test_runs_at_once_wait_for_each_other(sharing: "Llama", runs: Callable[[MicroAgent], list[Run]]) -> None:
    lm = lm_of(sharing)
    ended = runs(MicroAgent([measure], lm, "json", [], Limits(max_steps=1), demos=[]))
    assert [(run.status, run.termination_reason) for run in ended] == [("stopped", "max_steps")] * 4
    assert all(step.tool == "measure" for run in ended for step in run.steps), "nothing is trimmed"
    assert sum(call.retries for run in ended for call in run.calls) >= 1
    assert lm.engine.turns.most == 1


def test_a_question_that_is_too_long_for_the_server_is_an_overflow_still(sharing: "Llama") -> None:
    lm = lm_of(sharing)
    long = MicroAgent([measure], lm, "json", [], demos=[]).ask("and so on " * 1000)
    assert (long.status, long.termination_reason, long.calls) == ("stopped", "context_overflow", [])
    assert "larger -c" in (long.error or {})["message"]
    assert "OLLAMA_NUM_CTX" not in (long.error or {})["message"]
    dense = MicroAgent([], lm, "json", [], demos=[]).ask("~%" * 600)  # it fits by the estimate, not by the server
    assert (dense.status, dense.termination_reason) == ("stopped", "context_overflow")
    assert "larger -c" in (dense.error or {})["message"]
    assert lm.engine.turns.most is None
