# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""DSPy's cache: an LM that has it switched on is asked the same thing once, as in any program of DSPy."""

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.streaming import StreamListener, StreamResponse

from micro_agent import MicroAgent, configure_lm
from micro_agent.streaming import AnswerText
from micro_agent.testing import ModelServer, call, error, text

# diskcache leaves the connections of other threads to the collector, which Python 3.13 says.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """A cache of this test's own, and DSPy's price table instead of a public host's."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    module: Any = dspy
    before = module.cache
    dspy.configure_cache(disk_cache_dir=str(tmp_path / "cache"))
    yield
    module.cache = before
    gc.collect()


def served() -> ModelServer:
    return ModelServer([call("add", {"a": 1, "b": 2}), text("It is 3.")], repeat=True)


def cached(server: ModelServer, **more: Any) -> Any:
    return dspy.LM("openai/gpt-4o-mini", api_base=server.openai_url, api_key="none", **more)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_question_that_was_asked_before_is_answered_from_the_cache_and_costs_nothing(
    asynchronous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_INPUT_PRICE_PER_1K", "1")
    monkeypatch.setenv("OPENAI_OUTPUT_PRICE_PER_1K", "1")
    with served() as server:
        agent = MicroAgent([add], cached(server), rules=[])
        with dspy.track_usage() as tracker:
            first, second = (asyncio.run(agent.aask("1+2?")) if asynchronous else agent.ask("1+2?") for _ in range(2))
        assert (first.answer, second.answer, len(server.chats)) == ("It is 3.", "It is 3.", 2)
        assert [step.observation for step in second.steps] == [3]  # tools do run again
        assert first.usage.cost_usd == pytest.approx(0.03)
        assert (second.usage.cost_usd, second.usage.lm_calls) == (0.0, 2)
        (tokens,) = tracker.get_total_tokens().values()
        assert tokens["prompt_tokens"] == first.usage.input_tokens


def test_the_text_of_a_cached_answer_is_streamed_in_one_piece() -> None:
    with served() as server:
        agent = MicroAgent([add], cached(server), rules=[])
        agent.ask("1+2?")
        pieces = [event.text for event in agent.stream("1+2?") if isinstance(event, AnswerText)]
        assert (pieces, len(server.chats)) == (["It is 3."], 2)


def test_another_rollout_asks_again() -> None:
    with served() as server:
        lm = cached(server, temperature=1.0)
        for rollout in (1, 2, 2):
            MicroAgent([add], lm.copy(rollout_id=rollout), rules=[]).ask("1+2?")
        assert len(server.chats) == 4
        assert "rollout_id" not in str(server.chats[-1].body)


def test_what_failed_is_not_kept() -> None:
    with ModelServer([error(400, "no"), text("Well.")]) as server:
        agent = MicroAgent([add], cached(server), rules=[])
        assert [agent.ask("?").status for _ in range(2)] == ["failed", "completed"]


def test_who_listens_to_the_answer_gets_a_cached_one_whole() -> None:
    with served() as server:
        agent = MicroAgent([add], cached(server), rules=[])
        agent.ask("1+2?")
        program: Any = dspy.streamify(agent, stream_listeners=[StreamListener(signature_field_name="answer")])

        async def streamed() -> list[Any]:
            return [value async for value in program(question="1+2?")]

        pieces = [value for value in asyncio.run(streamed()) if isinstance(value, StreamResponse)]
    assert [(piece.chunk, piece.is_last_chunk) for piece in pieces] == [("It is 3.", True)]


def test_a_model_of_configure_lm_is_asked_each_time_unless_it_is_told_otherwise() -> None:
    with served() as server:
        named: dict[str, Any] = {"model": "scripted", "base_url": server.openai_url}
        agent = MicroAgent([add], configure_lm("openai", **named), rules=[])
        agent.ask("1+2?")
        agent.ask("1+2?")
        assert len(server.chats) == 4
        agent.lm = dspy.LM("openai/x", engine=agent.lm.engine, cache=True)  # pyright: ignore[reportOptionalMemberAccess]
        agent.ask("1+2?")
        agent.ask("1+2?")
        assert len(server.chats) == 6
