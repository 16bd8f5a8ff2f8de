# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
"""`dspy.streamify` over an agent: chunks or the text of the answer, a status for each tool, the prediction."""

import asyncio
from typing import Any

import dspy
import pytest
from dspy.streaming import StatusMessage, StatusMessageProvider, StreamListener, StreamResponse

from micro_agent import MicroAgent, configure_lm
from micro_agent.streaming import AnswerText
from micro_agent.testing import ModelServer, ScriptedLM, call, decision, error, final, text


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Status(StatusMessageProvider):
    def tool_start_status_message(self, instance: Any, inputs: dict[str, Any]) -> str:
        return f"{instance.name} {inputs['kwargs']}"

    def tool_end_status_message(self, outputs: Any) -> Any:
        return f"gave {outputs}"

    def module_start_status_message(self, instance: Any, inputs: dict[str, Any]) -> Any:
        return "asked" if isinstance(instance, MicroAgent) else None


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_status_tells_of_the_question_and_of_each_tool(asynchronous: bool) -> None:
    agent = MicroAgent([add], ScriptedLM([call("add", {"a": 1, "b": 2}), text("It is 3.")]), rules=[])
    program: Any = dspy.streamify(agent, status_message_provider=Status(), is_async_program=asynchronous)

    async def streamed() -> list[Any]:
        return [value async for value in program(question="1+2?")]

    values = asyncio.run(streamed())
    said = [value.message for value in values if isinstance(value, StatusMessage)]
    assert said == ["asked", "add {'a': 1, 'b': 2}", "gave 3"]
    assert values[-1].answer == "It is 3."


def test_dspys_tracker_counts_an_agent_in_a_tool_too() -> None:
    inner = MicroAgent([], ScriptedLM([text("3")]), rules=[])

    def sub(question: str) -> str | None:
        """Ask another agent."""
        return inner.ask(question).answer

    outer = MicroAgent([sub], ScriptedLM([call("sub", {"question": "1+2?"}), text("It is 3.")]), rules=[])
    with dspy.track_usage() as tracker:
        outer.ask("1+2?")
    (tokens,) = tracker.get_total_tokens().values()
    assert (tokens["prompt_tokens"], tokens["completion_tokens"]) == (30, 15)


ANSWER = 'It is "3", \u2713 I think, since one and two are three and that has been so for a long time.'


def listened(agent: Any, listener: StreamListener | None = None, *, asynchronous: bool = False, **options: Any) -> Any:
    """All that comes out of a streamed program with somebody who listens to the answer."""
    listeners = [listener or StreamListener(signature_field_name="answer")]
    program: Any = dspy.streamify(agent, stream_listeners=listeners, is_async_program=asynchronous, **options)

    async def streamed() -> list[Any]:
        return [value async for value in program(question="1+2?")]

    return asyncio.run(streamed())


def said(values: list[Any]) -> list[StreamResponse]:
    return [value for value in values if isinstance(value, StreamResponse)]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_listener_hears_the_answer_as_it_is_made(mode: Any, asynchronous: bool) -> None:
    asked = decision("add", {"a": 1, "b": 2}) if mode == "json" else call("add", {"a": 1, "b": 2})
    last = final(ANSWER) if mode == "json" else text(ANSWER)
    with ModelServer([asked, last]) as server:
        lm = configure_lm("openai", model="gpt", base_url=server.openai_url)
        values = listened(MicroAgent([add], lm, mode=mode, rules=[]), asynchronous=asynchronous)
    pieces = said(values)
    assert "".join(piece.chunk for piece in pieces) == ANSWER
    assert len(pieces) > 3
    assert [piece.is_last_chunk for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert {(piece.predict_name, piece.signature_field_name) for piece in pieces} == {("plan", "answer")}
    assert values[-1].answer == ANSWER
    assert not [value for value in values if not isinstance(value, StreamResponse | StatusMessage | dspy.Prediction)]


def test_the_prediction_can_be_left_out_where_somebody_has_heard_the_answer() -> None:
    agent = MicroAgent([], ScriptedLM([text("Yes."), error(400, "broken")]), rules=[])
    heard = listened(agent, include_final_prediction_in_output_stream=False)
    assert "".join(piece.chunk for piece in said(heard)) == "Yes."
    assert len(heard) == len(said(heard))
    (failed,) = listened(agent, include_final_prediction_in_output_stream=False)
    assert failed.status == "failed"


def test_an_agent_in_a_program_is_heard_and_so_are_the_others_in_it() -> None:
    class Both(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = dspy.Predict("question -> topic")
            self.agent = MicroAgent([], ScriptedLM([text("Yes.")]), rules=[])

        def forward(self, question: str) -> Any:
            topic = self.first(question=question).topic
            return self.agent(question=topic)

    listeners = [StreamListener(signature_field_name=name) for name in ("topic", "answer")]
    program: Any = dspy.streamify(Both(), stream_listeners=listeners)

    async def streamed(lm: Any) -> list[Any]:
        with dspy.context(lm=lm):
            return [value async for value in program(question="1+2?")]

    with ModelServer([text("[[ ## topic ## ]]\nsums\n\n[[ ## completed ## ]]")]) as server:
        values = asyncio.run(streamed(configure_lm("openai", model="gpt", base_url=server.openai_url)))
    heard: dict[str, str] = {}
    for piece in said(values):
        heard[piece.predict_name] = heard.get(piece.predict_name, "") + piece.chunk
    assert heard == {"first": "sums", "agent.plan": "Yes."}


def test_a_listener_hears_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijklmnopqrstuvwx")
    agent = MicroAgent([], ScriptedLM([text("It is sk-abcdefghijklmnopqrstuvwx, I say.")]), rules=[])
    heard = "".join(piece.chunk for piece in said(listened(agent)))
    assert heard.startswith("It is ")
    assert heard.endswith(", I say.")
    assert "abcdef" not in heard


def test_an_agents_own_stream_is_what_it_was_beside_a_listener() -> None:
    agent = MicroAgent([], ScriptedLM([text("Yes.")] * 2), rules=[])
    values = listened(agent)
    assert values[-1].answer == "Yes."
    texts = [event.text for event in agent.stream("1+2?") if isinstance(event, AnswerText)]
    assert "".join(texts) == "Yes."
