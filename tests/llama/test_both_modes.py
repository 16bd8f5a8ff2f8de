"""The real llama.cpp: constrained decoding makes decisions of noise, and what was computed once is used again."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from benchmarks.bench_context import small_tools
from micro_agent import Limits, MicroAgent, Run
from micro_agent.replay import verify
from micro_agent.run import CONTEXT_TRIMMED, Mode
from micro_agent.streaming import AnswerText, Ended
from tests.llama.conftest import lm_of, made, measure

if TYPE_CHECKING:
    from tests.llama.server import Llama

MODES: list[Mode] = ["native", "json"]
QUICK = [("native", "whole"), ("json", "streamed"), ("json", "awaited"), ("native", "awaited, streamed")]
LONG = [("json", "whole"), ("native", "streamed"), ("native", "awaited"), ("json", "awaited, streamed")]


def asked(agent: MicroAgent, way: str) -> Run:
    """A run, made in one of the ways to make one."""
    question = "How long is it?"
    if way == "whole":
        return agent.ask(question)
    if way == "awaited":
        return asyncio.run(agent.aask(question))

    async def streamed() -> Run:
        events = [event async for event in agent.astream(question)]
        assert isinstance(events[-1], Ended)
        return events[-1].run

    if way == "awaited, streamed":
        return asyncio.run(streamed())
    *_, last = agent.stream(question)
    assert isinstance(last, Ended)
    return last.run


@pytest.mark.parametrize(
    ("mode", "way"), [*QUICK, *(pytest.param(*other, marks=pytest.mark.torture) for other in LONG)]
)
def test_noise_becomes_valid_calls(server: "Llama", mode: Mode, way: str) -> None:
    agent = MicroAgent([measure], lm_of(server), mode, [], Limits(max_steps=3), demos=[])
    run = asked(agent, way)
    assert (run.status, run.termination_reason, run.mode) == ("stopped", "max_steps", mode)
    assert len(made(run)) >= 3
    for step in made(run):
        assert (step.tool, step.ok, step.coercions) == ("measure", True, [])
        assert step.observation == f"{step.args['count']} {step.args['unit']}"
    for call in run.calls:
        assert (call.error, call.repairs, call.mode) == (None, [], mode)
        assert call.output_tokens is not None
        assert call.model == "tiny"
    tokens = [call.input_tokens or 0 for call in run.calls]
    assert tokens[0] > 0
    assert tokens == sorted(set(tokens)), "each request is longer than the one before"
    (verdict,) = verify([run], agent)
    assert verdict.outcome == "same", list(verdict.lines())


def test_noise_becomes_an_answer_that_is_streamed_as_it_comes(toolless: "Llama") -> None:
    agent = MicroAgent([], lm_of(toolless, tool_choice=None), "json", [], demos=[])
    *events, last = agent.stream("How long is it?")
    assert isinstance(last, Ended)
    assert (last.run.status, last.run.calls[0].repairs) == ("completed", [])
    pieces = [event.text for event in events if isinstance(event, AnswerText)]
    assert "".join(pieces) == (last.run.answer or "").strip()
    assert len(pieces) > 1


@pytest.mark.parametrize("mode", MODES)
def test_what_was_computed_once_is_not_computed_again(server: "Llama", mode: Mode) -> None:
    before = server.computed
    run = MicroAgent([measure], lm_of(server, seed=2), mode, [], Limits(max_steps=4), demos=[]).ask("And how high?")
    tokens = [call.input_tokens or 0 for call in run.calls]
    assert len(tokens) >= 2
    new = tokens[-1] - tokens[0]
    assert server.computed - before <= tokens[0] + new + 8 * len(tokens), "only what each step adds"
    assert sum(tokens) > tokens[0] + new + 8 * len(tokens), "it would have been more"


@pytest.mark.parametrize("mode", MODES)
def test_of_a_turn_that_follows_only_what_is_new_is_computed(server: "Llama", mode: Mode) -> None:
    agent = MicroAgent([measure], lm_of(server, seed=2), mode, [], Limits(max_steps=2), demos=[])
    first = agent.ask("And how high?")
    before = server.computed
    second = agent.ask("And how wide?", history=first)
    sent = [[call.input_tokens or 0 for call in run.calls] for run in (first, second)]
    new = sent[1][-1] - sent[0][-1]
    assert server.computed - before <= new + 8 * len(sent[1])
    assert sent[1][0] > new + 8 * len(sent[1]), "it would have been more"


def test_in_json_mode_what_the_model_wrote_is_not_computed_again_either(spelling: "Llama") -> None:
    before = spelling.computed
    run = MicroAgent([measure], lm_of(spelling), "json", [], Limits(max_steps=4), demos=[]).ask("How long is it?")
    written = [call.reply["text"] for call in run.calls]
    assert any(text.startswith('{"tool" :') for text in written), "it has a spelling of its own"
    tokens = [call.input_tokens or 0 for call in run.calls]
    replies = sum(call.output_tokens or 0 for call in run.calls[:-1])
    assert replies > 150
    assert spelling.computed - before <= tokens[-1] - replies + 4 * len(tokens)


@pytest.mark.parametrize("mode", [pytest.param("native", marks=pytest.mark.torture), "json"])
def test_many_tools_are_no_overflow(server: "Llama", mode: Mode) -> None:
    """By the estimate of the schema that constrains a reply alone, this would be too long; none of it is a prompt."""
    tools = small_tools(24)
    run = MicroAgent(tools, lm_of(server), mode, [], Limits(max_steps=2), demos=[]).ask("How long is it?")
    assert (run.status, run.termination_reason, len(run.calls)) == ("stopped", "max_steps", 2)
    assert not [step for step in run.steps if step.tool == CONTEXT_TRIMMED]
    first = run.calls[0]
    assert first.request.get("format") == ("grammar" if mode == "json" else None)
    assert 0 < (first.input_tokens or 0) < 8192
