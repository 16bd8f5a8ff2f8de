# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""`ScriptedLM` through DSPy's typed path, as the planner uses it."""

import asyncio
import copy
import json
from time import monotonic
from typing import Any

import dspy
import pytest
from dspy.lm15 import Config, FunctionTool, Message, Request, TextPart, ToolCallPart, ToolResultPart

from micro_agent.models import scope
from micro_agent.testing import (
    ModelServer,
    Received,
    Reply,
    ScriptedLM,
    call,
    calls,
    cut,
    error,
    hang,
    malformed,
    raw,
    text,
)

ADD = FunctionTool(name="add", description="adds", parameters={"type": "object", "properties": {}})


def ask(lm: Any, question: str = "1+2?") -> Any:
    return lm(Request(model=lm.model, messages=(Message.user(question),), tools=(ADD,)))


def test_text_comes_back_with_its_usage_and_the_body_of_a_server(post: Any):
    reply = text("It is 3.", reasoning="1 + 2", usage=(7, 4))
    response = ask(ScriptedLM([reply]))
    assert response.text == "It is 3."
    assert (response.usage.input_tokens, response.usage.output_tokens) == (7, 4)
    with ModelServer([reply]) as server:
        _, _, body = post(f"{server.openai_url}/chat/completions", model="scripted")
    assert response.provider_data == json.loads(body)


def test_calls_come_back_as_parts():
    response = ask(ScriptedLM([calls(("add", {"a": 1}), ("add", {"a": 2}))]))
    made = [part for part in response.message.parts if isinstance(part, ToolCallPart)]
    assert [(part.name, part.input) for part in made] == [("add", {"a": 1}), ("add", {"a": 2})]
    assert made[0].id != made[1].id


@pytest.mark.parametrize("reply", [call("", {"a": 1}), call("add", '{"a": '), call("add", None), raw({"choices": []})])
def test_odd_replies_reach_the_reader(reply: Reply, post: Any):
    with ModelServer([reply]) as server:
        _, _, body = post(f"{server.openai_url}/chat/completions", model="scripted")
    assert ask(ScriptedLM([reply])).provider_data == json.loads(body)


def test_requests_are_recorded_typed_and_as_messages():
    lm = ScriptedLM([call("add", {"a": 1}), text("3")])
    warm = Config(temperature=0.5)
    response = lm(Request(model=lm.model, system="Be brief.", messages=(Message.user("1+2?"),), config=warm))
    result = ToolResultPart(id="c1", content=(TextPart("3"),), name="add")
    lm(Request(model=lm.model, messages=(Message.user("q"), response.message, Message(role="tool", parts=(result,)))))
    assert [len(request.messages) for request in lm.requests] == [1, 3]
    assert lm.requests[0].config.temperature == 0.5
    assert lm.messages(0) == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "1+2?"}]
    assert [message["role"] for message in lm.messages(-1)] == ["user", "assistant", "tool"]


def test_copies_go_on_in_the_same_script():
    lm = ScriptedLM([text("one"), text("two"), text("three")])
    said = [ask(each).message.text for each in (lm.copy(temperature=1.0), copy.deepcopy(lm), lm)]
    assert said == ["one", "two", "three"]
    assert len(lm.requests) == 3


def test_a_function_sees_the_request_as_openai_writes_it():
    def echo(request: Received) -> Reply:
        assert request.body is not None
        return text(f"{request.path} {request.body['tools'][0]['function']['name']} {request.messages[0]['content']}")

    assert ask(ScriptedLM(echo)).message.text == "/v1/chat/completions add 1+2?"


def test_what_a_function_raises_is_not_hidden():
    def wrong(request: Received) -> Reply:
        raise LookupError("no such question")

    with pytest.raises(dspy.LMError, match="no such question"):
        ask(ScriptedLM(wrong))


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (error(429, "slow down", retry_after=2), dspy.LMRateLimitError, "slow down"),
        (error(503, "busy"), dspy.LMServerError, "busy"),
        (error(200, "upstream failed"), dspy.LMServerError, "upstream failed"),
        (error(400, "too long", code="context_length_exceeded"), dspy.ContextWindowExceededError, "too long"),
        (cut(9), dspy.LMTransportError, "after 9 bytes"),
        (hang(0), dspy.LMTransportError, "without an answer"),
        (malformed(), dspy.LMProviderError, "no JSON"),
    ],
)
def test_faults_are_the_errors_of_their_kind(fault: Reply, kind: type[Exception], words: str):
    lm = ScriptedLM([fault, text("3")])
    with pytest.raises(kind, match=words):
        ask(lm)
    assert ask(lm).message.text == "3"


def test_the_wait_that_a_server_asks_for_is_on_the_error():
    with pytest.raises(dspy.LMRateLimitError) as caught:
        ask(ScriptedLM([error(429, "slow down", retry_after=2)]))
    assert (caught.value.retry_after, caught.value.status) == (2, 429)


def test_an_exhausted_script_says_so():
    lm = ScriptedLM([text("3")])
    ask(lm)
    with pytest.raises(dspy.LMServerError, match=r"exhausted after 1 replies.*4\+5"):
        ask(lm, "4+5?")


def test_it_answers_asynchronously_from_the_same_script():
    lm = ScriptedLM([text("one", delay_s=0.01), text("two"), error(503, "busy")])

    async def both() -> list[str]:
        request = Request(model=lm.model, messages=(Message.user("q"),))
        replies = await asyncio.gather(lm.acall(request), lm.acall(request))
        with pytest.raises(dspy.LMServerError):
            await lm.acall(request)
        return [reply.message.text for reply in replies]

    assert asyncio.run(both()) == ["one", "two"]
    assert len(lm.requests) == 3


def test_a_delay_ends_at_the_deadline_of_the_call():
    lm = ScriptedLM([text("3", delay_s=600), text("3", delay_s=0.01)])
    with scope.calling(scope.CallScope(deadline=monotonic() + 0.02)), pytest.raises(dspy.LMTimeoutError):
        ask(lm)
    with scope.calling(scope.CallScope(deadline=monotonic() + 60)):
        assert ask(lm).message.text == "3"


def test_text_is_told_in_pieces_to_who_listens():
    pieces: list[str] = []
    with scope.calling(scope.CallScope(on_text=pieces.append)):
        ask(ScriptedLM([text("The answer is 3.")]))
        ask(ScriptedLM([call("add", {})]))
    assert "".join(pieces) == "The answer is 3."
    assert len(pieces) > 1


@pytest.mark.parametrize("asynchronous", [False, True])
def test_dspy_streams_it(asynchronous: bool):
    lm = ScriptedLM([text("[[ ## answer ## ]]\n3\n\n[[ ## completed ## ]]")])
    program: Any = dspy.streamify(dspy.Predict("question -> answer"), is_async_program=asynchronous)

    async def streamed() -> list[Any]:
        return [event async for event in program(question="1+2?")]

    with dspy.context(lm=lm):
        events = asyncio.run(streamed())
    assert len(events) > 1
    assert events[-1].answer == "3"


@pytest.mark.parametrize(("mode", "default"), [(None, "native"), ("json", "json")])
def test_it_says_what_it_can(mode: Any, default: str):
    lm = ScriptedLM([], mode=mode)
    engine: Any = lm.engine
    assert (engine.provider, engine.default_mode) == ("scripted", default)
    assert lm.supports_function_calling
    assert lm.supports_response_schema
    assert {"tools", "tool_choice", "response_format"} <= lm.supported_params
    assert not engine.refuses_tools
    assert not engine.refuses_schema


def test_plain_dspy_modules_run_on_it():
    lm = ScriptedLM([text("[[ ## answer ## ]]\n3\n\n[[ ## completed ## ]]")])
    with dspy.context(lm=lm):
        assert dspy.Predict("question -> answer")(question="1+2?").answer == "3"
