# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""`FaultyLM`: any model with damaged replies, the same ones every time."""

import asyncio
import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import dspy
import pytest
from dspy.lm15 import FunctionTool, Message, Request, TextPart, ToolCallPart, ToolResultPart

from micro_agent import MicroAgent, configure_lm, tool
from micro_agent.errors import ConfigurationError
from micro_agent.models import scope
from micro_agent.models.identity import mode_of, provider_of, traits_of
from micro_agent.models.reply import reply_of, usage_of
from micro_agent.testing import FaultyLM, ModelServer, Received, Reply, ScriptedLM, call, decision, error, final, text

ADD = FunctionTool(name="add", description="adds", parameters={"type": "object", "properties": {}})


def request(lm: Any, question: str, *, tools: bool = True, more: tuple[Message, ...] = ()) -> Request:
    return Request(model=lm.model, messages=(Message.user(question), *more), tools=(ADD,) if tools else ())


def echo(received: Received) -> Reply:
    """Says the question again."""
    return text(f"You said {received.messages[-1]['content']}.")


def said(lm: Any, *questions: str) -> list[str]:
    return [reply_of(lm(request(lm, question))).text for question in questions]


QUESTIONS = [f"question {n}" for n in range(40)]


def test_so_many_replies_are_damaged_and_all_is_on_record():
    lm = FaultyLM(ScriptedLM(echo), rate=0.5, seed=3)
    heard = said(lm, *QUESTIONS)
    assert lm.damages.replies == 40
    assert 10 <= len(lm.damages) <= 30
    assert sum(lm.damages.by_class.values()) == len(lm.damages)
    for one in lm.damages:
        assert one.before["text"] == f"You said question {one.call}."
        assert heard[one.call] == one.after["text"] != one.before["text"]
    damaged = {one.call for one in lm.damages}
    assert all(heard[n] == f"You said question {n}." for n in range(40) if n not in damaged)


@pytest.mark.parametrize(("rate", "damaged"), [(0, 0), (1, 40)])
def test_none_and_all(rate: float, damaged: int):
    lm = FaultyLM(ScriptedLM(echo), rate=rate)
    said(lm, *QUESTIONS)
    assert len(lm.damages) == damaged


def test_the_same_replies_are_damaged_in_any_order_and_from_many_threads():
    plain = ScriptedLM(echo)
    one, other, third = (FaultyLM(plain, 0.5, seed) for seed in (1, 1, 2))
    alone = dict(zip(QUESTIONS, said(one, *QUESTIONS), strict=True))
    with ThreadPoolExecutor(8) as pool:
        together = [text for (text,) in pool.map(partial(said, other), reversed(QUESTIONS))]
    assert dict(zip(reversed(QUESTIONS), together, strict=True)) == alone
    assert said(third, *QUESTIONS) != list(alone.values())


def test_the_same_request_again_is_another_draw():
    lm = FaultyLM(ScriptedLM(echo), 0.5)
    assert len(set(said(lm, *["again"] * 12))) > 2


def test_what_a_tool_gave_does_not_change_the_draw():
    def after(result: str, *, native: bool) -> list[str]:
        lm = FaultyLM(ScriptedLM([text("It is late.")] * 8), 0.5, 5, ["prose"])
        made = Message.assistant([ToolCallPart(id="1", name="add", input={})])
        seen = Message(role="tool", parts=(ToolResultPart(id="1", content=(TextPart(result),), name="add"),))
        user = Message.user(f"Tool [add] output:\n{result}")
        more = (made, seen) if native else (user,)
        return [reply_of(lm(request(lm, f"{n}", more=more))).text for n in range(8)]

    for native in (True, False):
        assert after("12:00", native=native) == after("13:37", native=native)


def test_another_prompt_meets_the_same_damage():
    def with_prompt(system: str) -> list[str]:
        lm = FaultyLM(ScriptedLM(echo), 0.5)
        said = [Request(model=lm.model, system=system, messages=(Message.user(question),)) for question in QUESTIONS]
        return [str(reply_of(lm(one)).text) for one in said]

    assert with_prompt("Be brief.") == with_prompt("Be kind.")


def test_copies_share_the_record_and_keep_what_is_known_of_the_model():
    plain = ScriptedLM(echo, mode="json")
    lm: Any = FaultyLM(plain, 1)
    said(lm.copy(temperature=0.5), "a")
    said(copy.deepcopy(lm), "b")
    assert [one.before["text"] for one in lm.damages] == ["You said a.", "You said b."]
    assert copy.deepcopy(lm.damages) is lm.damages
    assert (provider_of(lm), mode_of(lm)) == ("scripted", "json")
    assert traits_of(lm) is lm.engine
    assert lm.engine.supports_function_calling is True
    assert not hasattr(lm.engine, "_nothing")
    assert len(plain.requests) == 2
    assert said(plain, "c") == ["You said c."]


def test_a_model_of_a_server_stays_what_it_is():
    with ModelServer([text("The answer is 7.")], models=["m"]) as server:
        lm: Any = FaultyLM(configure_lm("ollama", "m", server.url), 1, classes=["code_fences"])
        assert (provider_of(lm), lm.engine.base_url, lm.engine.num_ctx) == ("ollama", server.url, 8192)
        response = lm(request(lm, "?", tools=False))
    assert response.provider_data["message"]["content"].endswith("```\nThe answer is 7.\n```")
    assert (response.provider_data["done"], usage_of(response)) == (True, (10, 5))


def test_arguments_have_the_form_of_the_wire():
    script = [call("add", {"a": 1}, id="x")]
    with ModelServer(script, models=["m"], repeat=True) as server:
        for provider, url, arguments in (
            ("openai", server.openai_url, '{"a": 1}'),
            ("ollama", server.url, {"a": 1}),
        ):
            lm = FaultyLM(configure_lm(provider, "m", url, "none"), 1, classes=["tool_name"])
            (made,) = reply_of(lm(request(lm, "?"))).calls
            assert made.name != "add"
            assert (made.arguments, made.id) == (arguments, "x")


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_thoughts_in_a_field_of_their_own_stay_there(provider: str):
    with ModelServer([text("It is 7.", reasoning="3 + 4")], models=["m"]) as server:
        url = server.openai_url if provider == "openai" else server.url
        lm: Any = FaultyLM(configure_lm(provider, "m", url, "none"), 1, classes=["prose"])
        reply = reply_of(lm(request(lm, "?")))
    assert reply.reasoning == "3 + 4"


def test_a_model_that_dspy_makes_from_its_name():
    with ModelServer(echo) as server:
        lm = dspy.LM("openai/m", api_base=server.openai_url, api_key="none", cache=False, num_retries=0)
        faulty = FaultyLM(lm, 1, classes=["in_a_string"])
        with dspy.track_usage() as usage:
            assert said(faulty, "a") == ['"You said a."']
        assert asyncio.run(answers(faulty, "b")) == ['"You said b."']
        assert FaultyLM(lm, 0).supports_function_calling == lm.supports_function_calling
        assert not hasattr(faulty.engine, "refuses_tools")
        assert said(lm, "c") == ["You said c."]
    assert [use["prompt_tokens"] for use in usage.usage_data["openai/m"]] == [10]
    assert len(faulty.history) == 2


async def answers(lm: Any, *questions: str) -> list[str]:
    return [reply_of(await lm.acall(request(lm, question))).text for question in questions]


def test_awaited_it_says_the_same():
    one, other = FaultyLM(ScriptedLM(echo), 0.5), FaultyLM(ScriptedLM(echo), 0.5)
    assert asyncio.run(answers(one, *QUESTIONS)) == said(other, *QUESTIONS)
    assert one.damages == other.damages
    engine = dspy.LM("x", engine=ScriptedLM(echo).engine)
    with pytest.raises(dspy.LMUnsupportedFeatureError, match="no async counterpart"):
        asyncio.run(answers(FaultyLM(engine), "a"))


@pytest.mark.parametrize("rate", [0, 1])
def test_whoever_listens_hears_what_is_told(rate: float):
    heard: list[str] = []
    lm = FaultyLM(ScriptedLM([text("It is half past nine."), text("It is ten.")]), rate, classes=["prose"])
    with scope.calling(scope.CallScope(on_text=heard.append)):
        first = said(lm, "a")[0]
        second = asyncio.run(answers(lm, "b"))[0]
    assert "".join(heard) == first + second
    assert (first == "It is half past nine.") == (rate == 0)


def test_dspy_streams_it_when_it_is_there():
    async def of_twin(engine: Any, asked: Request) -> list[Any]:
        return [event async for event in engine.stream(asked)]

    for rate in (0, 1):
        lm: Any = FaultyLM(ScriptedLM(echo), rate, classes=["prose"])
        events = list(lm.engine.stream(request(lm, "a")))
        assert events[-1].type == "end"
        twin = getattr(lm, "_async_engine_spec", None)
        assert [event.type for event in asyncio.run(of_twin(twin, request(lm, "a")))] == [
            event.type for event in events
        ]


def test_a_fault_of_the_server_is_its_own():
    lm = FaultyLM(ScriptedLM([error(400, "no"), text("yes")]), 1, classes=["prose"])
    with pytest.raises(dspy.LMError, match="no"):
        said(lm, "a")
    assert lm.damages.replies == 0
    assert "yes" in said(lm, "a")[0]


def test_an_engine_whose_reply_is_not_kept_gets_a_body():
    class Plain:
        def complete(self, asked: Request) -> Any:
            parts = (ToolCallPart(id="c", name="add", input={"a": 1}),)
            return dspy.lm15.Response(
                id="x", model="m", message=Message(role="assistant", parts=parts), finish_reason="tool_call",
                usage=dspy.lm15.Usage(input_tokens=3, output_tokens=2),
            )  # fmt: skip

    lm = FaultyLM(dspy.LM("x", engine=Plain()), 1, classes=["extra_arguments"])
    response = lm(request(lm, "?"))
    assert (usage_of(response), response.provider_data["model"]) == ((3, 2), "m")
    assert len(response.message.parts[0].input) == 2


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: FaultyLM(ScriptedLM([]), 1.5), "the rate of faults must be a share from 0 to 1, such as 0.3, not 1.5"),
        (lambda: FaultyLM(ScriptedLM([]), float("nan")), "not nan"),
        (lambda: FaultyLM(ScriptedLM([]), classes=["salt"]), "there is no class of damage 'salt'"),
    ],
)
def test_wrong_options_are_refused(make: Callable[[], object], told: str):
    with pytest.raises(ConfigurationError, match=told):
        make()


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match=r"FaultyLM takes a dspy\.LM"):
        FaultyLM("openai/gpt-4o-mini")


@tool(read_only=True)
def stock(part: str) -> int:
    """How many of a part are in store."""
    return {"nut": 7}[part]


@pytest.mark.parametrize("mode", ["native", "json"])
def test_an_agent_gets_over_it_and_its_calls_are_what_was_told(mode: Any):
    def clerk(received: Received) -> Reply:
        if received.asks_to_make:
            return text('{"make": true}')
        seen = any("7" in str(message["content"]) for message in received.messages[1:] if message["role"] != "system")
        if mode == "json":
            return final("There are 7.") if seen else decision("stock", {"part": "nut"})
        return text("There are 7.") if seen else call("stock", {"part": "nut"})

    lm = FaultyLM(ScriptedLM(clerk, mode=mode), 1, classes=["prose", "code_fences"])
    run = MicroAgent([stock], lm, demos=[]).ask("How many nuts are in store?")
    assert (run.status, [step.tool for step in run.steps if step.is_tool]) == ("completed", ["stock"])
    assert [call.reply["text"] for call in run.calls] == [
        one.after["text"] for one in lm.damages if '{"make"' not in one.before["text"]
    ]
