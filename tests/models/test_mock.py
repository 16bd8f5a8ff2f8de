# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The mock: what it understands, that it only says what tools gave, and that it refuses everything else."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import FunctionTool, Message, Request, Response, TextPart, ToolCallPart, ToolResultPart
from hypothesis import given
from hypothesis import strategies as st

from micro_agent import MicroAgent, configure_lm
from micro_agent.models.mock import MockEngine, MockRefused
from micro_agent.models.mock_questions import understood
from micro_agent.models.scope import CallScope, calling
from micro_agent.run import Mode
from tests.each import each

MODES: list[Mode] = ["native", "json"]
NOW = {"iso": "2026-11-21T21:40:05+00:00", "timezone": "UTC"}
SYSTEM = (
    'Reply with ONE JSON object.\nTo call a tool: {"tool": {"name": "<tool name>", "args": {}}}\n'
    'To answer the question: {"final": {"answer": "<your answer>"}}\nTools:\n'
    "- calculator: Computes.\n  args: {}\n- now: Tells the time.\n  args: {}"
)
TOOLS = (FunctionTool(name="calculator"), FunctionTool(name="now"))


def request(messages: Sequence[Message], mode: Mode, tools: tuple[FunctionTool, ...] = TOOLS) -> Request:
    if mode == "native":
        return Request(model="mock/rules", system="You are careful.", messages=tuple(messages), tools=tools)
    return Request(model="mock/rules", system=SYSTEM, messages=tuple(messages))


def decided(response: Response, mode: Mode) -> dict[str, Any]:
    """The decision in the JSON form, whichever the mode."""
    calls = [part for part in response.message.parts if isinstance(part, ToolCallPart)]
    if mode == "json":
        assert calls == []
        return json.loads(response.message.text or "")
    if calls:
        assert response.finish_reason == "tool_call"
        return {"tool": {"name": calls[0].name, "args": calls[0].input}}
    return {"final": {"answer": response.message.text}}


def told(response: Response, observation: str, mode: Mode) -> list[Message]:
    """The messages that the loop adds for a call and what came of it."""
    if mode == "json":
        name = decided(response, mode)["tool"]["name"]
        return [response.message, Message.user(f"Tool [{name}] output:\n{observation}")]
    part = next(part for part in response.message.parts if isinstance(part, ToolCallPart))
    result = ToolResultPart(id=part.id, content=(TextPart(observation),))
    return [response.message, Message(role="tool", parts=(result,))]


def run(question: str, mode: Mode, observe: Callable[[str, dict[str, Any]], Any]) -> tuple[list[Any], str]:
    """Play a run; the calls made and the answer."""
    messages, calls = [Message.user(question)], list[Any]()
    for _ in range(9):
        response = MockEngine().complete(request(messages, mode))
        decision = decided(response, mode)
        if "final" in decision:
            return calls, decision["final"]["answer"]
        call = decision["tool"]
        calls.append((call["name"], *call["args"].values()))
        messages += told(response, json.dumps(observe(call["name"], call["args"])), mode)
    raise AssertionError("no answer in nine steps")


def observed(tool: str, args: dict[str, Any]) -> Any:
    return NOW if tool == "now" else {"result": 999, "expression": args["expression"]}


def always(observation: Any) -> Callable[[str, dict[str, Any]], Any]:
    def observe(tool: str, args: dict[str, Any]) -> Any:
        return observation

    return observe


@pytest.mark.parametrize("mode", MODES)
def test_arithmetic_is_asked_of_the_calculator_and_its_word_is_taken(mode: Mode) -> None:
    calls, answer = run("What is 2*(3+5)?", mode, observed)
    assert calls == [("calculator", "2*(3+5)")]
    assert answer == "The answer is 999."


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("question", "zone", "answer"),
    [
        ("what time is it", "utc", "It is 2026-11-21 21:40 UTC."),
        ("What's the local time?", "local", "It is 2026-11-21 21:40 local time."),
        ("What is the date in Europe/Berlin?", "Europe/Berlin", "It is 2026-11-21 21:40 (Europe/Berlin)."),
        ("Tell me the time in Tokyo please.", "Asia/Tokyo", "It is 2026-11-21 21:40 (Asia/Tokyo)."),
    ],
)
def test_the_time_is_asked_of_the_clock(question: str, zone: str, answer: str, mode: Mode) -> None:
    assert run(question, mode, observed) == ([("now", zone)], answer)


@pytest.mark.parametrize("mode", MODES)
def test_both_in_one_question_are_asked_one_after_the_other(mode: Mode) -> None:
    calls, answer = run("What time is it in UTC, and what is half of 90?", mode, observed)
    assert calls == [("now", "utc"), ("calculator", "90 / 2")]
    assert answer == "It is 2026-11-21 21:40 UTC. The answer is 999."


@pytest.mark.parametrize("mode", MODES)
def test_an_error_is_told_as_one(mode: Mode) -> None:
    errors = {
        "calculator": {"error": "TOOL_EXCEPTION", "message": "division by zero"},
        "now": {"error": "TOOL_TIMEOUT"},
    }

    def failed(tool: str, _: dict[str, Any]) -> Any:
        return errors[tool]

    _, answer = run("What is 1/0 and what time is it?", mode, failed)
    assert answer == "I could not compute that: division by zero I could not tell the time: TOOL_TIMEOUT"


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_was_refused_is_made_again(mode: Mode) -> None:
    refused: list[Any] = [{"error": "VALIDATION_FAILED", "message": "unknown argument 'reason'"}]

    def observe(tool: str, args: dict[str, Any]) -> Any:
        return refused.pop() if refused else {"result": 4}

    assert run("2+2", mode, observe) == ([("calculator", "2+2")] * 2, "The answer is 4.")


@pytest.mark.parametrize(
    ("observation", "answer"),
    [
        (16, "16"),
        (0.5, "0.5"),
        (30.0, "30"),
        (1e300, "1e+300"),
        ("16", "16"),
        ({"result": 10**30}, str(10**30)),
        ([1], "[1]"),
    ],
)
def test_a_number_is_said_as_it_was_observed(observation: Any, answer: str) -> None:
    assert run("2+2", "native", always(observation))[1] == f"The answer is {answer}."


@pytest.mark.parametrize("text", ["sixteen", '{"result": 16'])
def test_an_observation_that_is_no_json_is_said_as_it_is(text: str) -> None:
    first = MockEngine().complete(request([Message.user("2+2")], "native"))
    messages = [Message.user("2+2"), *told(first, text, "native")]
    assert MockEngine().complete(request(messages, "native")).message.text == f"The answer is {text}."


def test_a_clock_of_another_form_is_quoted() -> None:
    assert run("what time is it", "native", always("noon"))[1] == 'It is "noon".'


@pytest.mark.parametrize("mode", MODES)
def test_what_the_loop_says_is_no_question(mode: Mode) -> None:
    messages = [Message.user("2+2")]
    first = MockEngine().complete(request(messages, mode))
    messages += [*told(first, '{"result": 4}\n\nNote: the same again' if mode == "json" else "4", mode)]
    for word in ("Policy: use now first", "Format: one object", "Note: again"):
        messages += [Message.assistant("The answer is 4."), Message.user(word)]
        assert "The answer is 4." in (MockEngine().complete(request(messages, mode)).message.text or "")


@pytest.mark.parametrize("mode", MODES)
def test_demos_before_the_question_are_not_mixed_up_with_it(mode: Mode) -> None:
    demo = [Message.user("3+3")]
    demo += told(MockEngine().complete(request(demo, mode)), "6", mode)
    demo += [Message.assistant("6"), Message.user("3+3")]
    decision = decided(MockEngine().complete(request(demo, mode)), mode)
    assert decision == {"tool": {"name": "calculator", "args": {"expression": "3+3"}}}


def test_call_ids_differ_in_a_run() -> None:
    messages = [Message.user("2+2 and what time is it?")]
    first = MockEngine().complete(request(messages, "native"))
    second = MockEngine().complete(request([*messages, *told(first, "4", "native")], "native"))
    ids = [part.id for reply in (first, second) for part in reply.message.parts if isinstance(part, ToolCallPart)]
    assert len(set(ids)) == 2


@pytest.mark.parametrize("mode", MODES)
def test_anything_else_is_refused(mode: Mode) -> None:
    with pytest.raises(MockRefused, match="is not a model, it knows arithmetic and the time only") as caught:
        MockEngine().complete(request([Message.user("Who painted the Mona Lisa?")], mode))
    assert caught.value.code == "MOCK_REFUSED"
    assert "`ollama pull llama3.2:3b`, then `micro-agent ask --provider ollama --model llama3.2:3b" in str(caught.value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("hello", "Hello. Ask me something like "),
        ("Hi there!", "Hello. Ask me something like "),
        ("What can you do?", "I am not a model but a few rules"),
        ("hey, who are you", "I am not a model but a few rules"),
        ("help", "I am not a model but a few rules"),
    ],
)
def test_a_greeting_and_a_question_about_itself_need_no_tool(question: str, begins: str, mode: Mode) -> None:
    calls, answer = run(question, mode, observed)
    assert calls == []
    assert answer.startswith(begins)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("question", "zone", "answer"),
    [
        ("What weekday is it?", "utc", "It is Saturday, 2026-11-21 21:40 UTC."),
        ("What day is it in Tokyo?", "Asia/Tokyo", "It is Saturday, 2026-11-21 21:40 (Asia/Tokyo)."),
        ("What weekday is tomorrow?", "utc", "Today is Saturday, 2026-11-21 UTC; tomorrow is Sunday, 2026-11-22."),
        ("What day was yesterday", "utc", "Today is Saturday, 2026-11-21 UTC; yesterday was Friday, 2026-11-20."),
        (
            "the day after tomorrow?", "utc",
            "Today is Saturday, 2026-11-21 UTC; the day after tomorrow is Monday, 2026-11-23.",
        ),
    ],
)  # fmt: skip
def test_another_day_is_counted_from_what_the_clock_gave(question: str, zone: str, answer: str, mode: Mode) -> None:
    assert run(question, mode, observed) == ([("now", zone)], answer)


@pytest.mark.parametrize("iso", ["9999-12-31T00:00", "2026-13-45 10:00"])
def test_a_moment_that_no_day_can_be_counted_from_is_quoted(iso: str) -> None:
    assert run("What weekday is tomorrow?", "native", always(iso))[1] == f'It is "{iso}".'


def test_the_rules_find_nothing_to_add_to_its_answers() -> None:
    agent = MicroAgent(lm=configure_lm("mock"), traces=None)
    for question in ("What weekday is tomorrow?", "How many minutes are in 3.5 days?", "hello", "What can you do?"):
        answered = agent.ask(question)
        assert (answered.status, answered.answer) == ("completed", answered.model_answer), question


def test_without_its_tool_a_question_is_refused() -> None:
    clock = (FunctionTool(name="now"),)
    with pytest.raises(MockRefused, match="needs the tool 'calculator'"):
        MockEngine().complete(request([Message.user("2+2")], "native", clock))
    with pytest.raises(MockRefused, match="needs the tool 'now'"):
        MockEngine().complete(
            Request(
                model="m", system=(TextPart("Answer now, calculator."),), messages=(Message.user("what time is it"),)
            )
        )
    with pytest.raises(MockRefused, match="needs the tool 'now'"):
        MockEngine().complete(Request(model="m", messages=(Message.user("what time is it"),)))


def test_dspy_takes_it_sync_async_and_streamed() -> None:
    engine = MockEngine()
    lm = dspy.LM("mock/rules", engine=engine, async_engine=engine.twin(), cache=False, num_retries=0)
    asked = request([Message.user("What is 2*(3+5)?")], "json")
    said: list[str] = []
    with calling(CallScope(on_text=said.append)):
        text = lm(asked).message.text
    assert said == [text] == [asyncio.run(lm.acall(asked)).message.text]

    async def streamed() -> list[str]:
        return [event.type async for event in engine.twin().stream(asked)]

    assert [event.type for event in engine.stream(asked)] == asyncio.run(streamed())
    with pytest.raises(dspy.LMError) as caught:
        lm("Who painted the Mona Lisa?")
    assert caught.value.code == "MOCK_REFUSED"


def test_no_tokens_are_made_up() -> None:
    usage = MockEngine().complete(request([Message.user("2+2")], "native")).usage
    assert (usage.input_tokens, usage.output_tokens) == (None, None)


@each(
    ("question", "expression"),
    [
        ("2*(3+5)", "2*(3+5)"),
        ("What is 2^10?", "2^10"),
        ("What is 9!/(3!*3!)?", "9!/(3!*3!)"),
        ("17 * 23 = ?", "17 * 23"),
        ("6 × 7 − 2 ÷ 2", "6 * 7 - 2 / 2"),
        ("what's 1,250 + 3,499", "1250 + 3499"),
        ("$19.99 * 3", "19.99 * 3"),
        ("5 x 19", "5 * 19"),
        ("Use the calculator tool to compute 12 * 7.", "12 * 7"),
        ("What is 12 plus 7 times 3?", "12 + 7 * 3"),
        ("HOW MUCH IS 300 DIVIDED BY 12", "300 / 12"),
        ("twenty-one minus two", "21 - 2"),
        ("a hundred plus nine hundred and fifty one", "100 + 951"),
        ("two thousand three hundred minus a million", "2300 - 1000000"),
        ("What is the sum of 12, 45 and 88?", "12 + 45 + 88"),
        ("find the product of 13 and 17", "13 * 17"),
        ("what's the difference between 1024 and 768", "1024 - 768"),
        ("average of 4, 8 and -15", "(4 + 8 + (-15)) / 3"),
        ("add 3 and 4", "3 + 4"),
        ("add 3 to 4", "3 + 4"),
        ("subtract 19 from 63", "63 - 19"),
        ("multiply 36 by 14 please", "36 * 14"),
        ("divide 1,000 by 8", "1000 / 8"),
        ("half of the sum of 10 and 20", "(10 + 20) / 2"),
        ("double 375", "2 * 375"),
        ("twice 4 plus 1", "(2 * 4) + 1"),
        ("17.5% of 640", "17.5 * 640 / 100"),
        ("12 percent of 80", "12 * 80 / 100"),
        ("3/4 of 60", "(3/4) * 60"),
        ("7 squared plus 2 cubed", "(7 ^ 2) + (2 ^ 3)"),
        ("two to the power of sixteen", "2 ^ 16"),
        ("square root of 144", "144 ^ 0.5"),
        ("Compute the factorial of 8", "8!"),
        ("17 mod 5", "17 % 5"),
        ("remainder when 17 is divided by 5", "17 % 5"),
        ("Now, what is 15 times 4?", "15 * 4"),
        ("How many minutes are in 3.5 days?", "3.5 * 1440"),
        ("How many seconds are there in a week?", "1 * 604800"),
        ("90 minutes in hours", "90 / 60"),
        ("Convert 36 hours into days", "36 / 24"),
        ("ten days in weeks", "10 / 7"),
        ("What is a 15% tip on 48.50?", "15 * 48.50 / 100"),
        ("How much is a 20 percent tip on a $60 bill?", "20 * 60 / 100"),
        ("tip of 18% on 1,200 euros", "18 * 1200 / 100"),
        ("What is 20% off 80 dollars?", "80 * (100 - 20) / 100"),
        ("Split 126 dollars among 4 people", "126 / 4"),
        ("Split a bill of 126 evenly between three friends", "126 / 3"),
        ("share 90 by 4", "90 / 4"),
        ("days between 2026-03-01 and 2026-05-10", "739746 - 739676"),
        ("How many days are there between 2026-05-10 and 2026-03-01?", "739746 - 739676"),
        ("the number of days from 2024-02-28 to 2024-03-01", "738946 - 738944"),
    ],
)
def test_arithmetic_is_understood(question: str, expression: str) -> None:
    assert [(call.tool, call.args) for call in understood(question)] == [("calculator", {"expression": expression})]


def test_several_expressions_are_several_calls() -> None:
    assert [call.args["expression"] for call in understood("Compute 2+2 and 3*3, and also 2+2")] == ["2+2", "3*3"]


@pytest.mark.parametrize(
    ("question", "zones"),
    [
        ("what is today", ["utc"]),
        ("now?", ["utc"]),
        ("now in New York", ["America/New_York"]),
        ("time in London and in Paris", ["Europe/London", "Europe/Paris"]),
        ("What's the date and time in asia/kolkata?", ["Asia/Kolkata"]),
    ],
)
def test_time_is_understood(question: str, zones: list[str]) -> None:
    assert [(call.tool, call.args) for call in understood(question)] == [("now", {"timezone": zone}) for zone in zones]


@each(
    "question",
    [
        "", "?", "7", "What is 7?", "hello", "What is the derivative of x^2 + 3*x?", "2(3+4)", "2+", "(2+3", "007 + 1",
        "What is the time complexity of quicksort?", "What does 24/7 mean?", "Which standard describes 2024-05-01?",
        "What is @ + 1?", "What is in Paris?", "time in Mordor/Doom", "2 + 2 = 5", "1+" * 300 + "1", "1, 2",
        "How many minutes are in days?", "days between 2026-02-30 and 2026-03-01", "Is tomorrow a holiday?",
        "How do I split a string by 4 characters?", "Is a 15% tip on 48.50 polite?", "How many days until 2026-12-24?",
    ],
)  # fmt: skip
def test_what_is_not_understood_as_a_whole_is_not_understood(question: str) -> None:
    assert understood(question) == []


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.torture)])
def test_traps_call_no_tool_that_they_do_not_need(step: int) -> None:
    path = Path(__file__).parents[1] / "rules" / "required_tools_questions.jsonl"
    cases = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    # The mock knows nothing by heart, so this one is a sum.
    cases = [case for case in cases if case["question"] != "How many days are in a week?"]
    cases = cases[::step]
    called = [{call.tool for call in understood(case["question"])} for case in cases]
    wrong = [case["question"] for case, tools in zip(cases, called, strict=True) if not tools <= set(case["tools"])]
    assert wrong == []
    assert sum(map(bool, called)) >= 60 // step


@given(st.text(max_size=80) | st.text("0123456789+-*/()!%^ .,x@", max_size=80))
def test_no_question_makes_it_fail_otherwise(question: str) -> None:
    for call in understood(question):
        assert call.tool in {"calculator", "now"}
