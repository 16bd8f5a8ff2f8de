"""An answer that announces a call or repeats the question is refused; nothing else is."""

import pytest

from micro_agent.rules.no_answer import check
from micro_agent.rules.verdict import BeforeFinish, BeforePlan, Violation
from micro_agent.run import Run, Step

TOOLS = frozenset({"search_docs", "weather", "book"})
QUESTION = "What does the manual say about filters?"


def verdict(answer: str, *, steps: tuple[Step, ...] = (), tools: frozenset[str] = TOOLS) -> Violation | None:
    found = check(Run(question=QUESTION, steps=list(steps)), BeforeFinish(answer, tools))
    assert found is None or isinstance(found, Violation)
    return found


@pytest.mark.parametrize(
    ("answer", "tool"),
    [
        ("Sure! Let me use the search_docs tool to do that.", "search_docs"),
        ("I will now call search_docs:", "search_docs"),
        ("I'll use `weather` for this.", "weather"),
        ("To answer this I need to call the book tool.", "book"),
        ("The manual is long.\n\nI'm going to run search_docs now...", "search_docs"),
        ("Let’s start by using the function weather", "weather"),
        ("I have to look at the manual by calling search_docs", "search_docs"),
        ("Calling search_docs...", "search_docs"),
        ("Okay, using the weather tool.", "weather"),
        ("search_docs", "search_docs"),
        ("[weather]", "weather"),
        ("`book`", "book"),
    ],
)
def test_an_announced_call_is_wanted(answer: str, tool: str) -> None:
    done = Step(tool="weather", call_id="1")
    for steps in ((), (done,)):
        found = verdict(answer, steps=steps)
        assert found is not None
        assert found.wants == tool
        assert found.text == f"you said that you would use {tool}, and made no call. Call it now."


@pytest.mark.parametrize(
    "answer",
    [
        "I'll look that up.",
        "Let me check the manual for you:",
        "Okay, I will search for it...",
        "Let me find out.",
        "Please wait while I look that up.",
        "One moment...",
        "Thought: I look it up.\nAction:",
    ],
)
def test_an_answer_that_only_announces_is_none(answer: str) -> None:
    found = verdict(answer)
    assert found is not None
    assert found.wants is None
    assert verdict(answer, steps=(Step(tool="weather", call_id="1"),)) == found
    assert verdict(answer, tools=frozenset()) is None


@pytest.mark.parametrize(
    "answer", ["!" * 300, "GG" * 200, "<unk>" * 100, "\ufffd" * 100, 'Tool [weather] output:\n{"sky": "clear"}']
)
def test_noise_and_a_result_as_it_came_are_no_answers(answer: str) -> None:
    found = verdict(answer)
    assert found is not None
    assert found.text.startswith("that ")
    assert verdict(answer, tools=frozenset()) is not None


@pytest.mark.parametrize("answer", [QUESTION, f"  {QUESTION.lower()} ", f"**{QUESTION}**"])
def test_the_question_is_no_answer(answer: str) -> None:
    found = verdict(answer)
    assert found is not None
    assert found.text == "that is the question again and no answer."


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Filters are changed every month.",
        "Let me know if you need more.",
        "Let me know what the weather is like.",
        "I'll call you back.",
        "I called search_docs, and it says nothing about filters.",
        "I will use the weather tool if you name a city.",
        "Would you like me to call search_docs?",
        "Shall I let you use search_docs?",
        "You can use search_docs to find out.",
        "I'll book it once you confirm: call book then.",
        "Let me use search_docs. It says: every month.",
        "I'll keep that in mind.",
        "I will check the filters every month from now on, since the manual says so. They are in the lid.",
        "Let me check: 2+2 is 4. So the answer is 4.",
        "I need to use a screwdriver and a cloth.",
        "book",
        "Using a book is best.",
        "Hold on to the railing. It is 3 m high.",
        "!!!",
        "ha " * 20,
        "=" * 80 + "\nA heading\n" + "=" * 80,
    ],
)
def test_anything_else_is_an_answer(answer: str) -> None:
    assert verdict(answer) is None


def test_other_events_are_none_of_its_business() -> None:
    assert check(Run(question=QUESTION), BeforePlan()) is None
