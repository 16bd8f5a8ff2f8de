"""What no language is needed for to see that it is not an answer is refused; nothing else is."""

import pytest

from micro_agent.rules.no_answer import check
from micro_agent.rules.verdict import BeforeFinish, BeforePlan, Violation
from micro_agent.run import FINISH_ASKED, Run, Step

TOOLS = frozenset({"search_docs", "weather", "book"})
QUESTION = "What does the manual say about filters?"


def verdict(
    answer: str, *, steps: tuple[Step, ...] = (), tools: frozenset[str] = TOOLS, question: str = QUESTION
) -> Violation | None:
    found = check(Run(question=question, steps=list(steps)), BeforeFinish(answer, tools))
    assert found is None or isinstance(found, Violation)
    return found


@pytest.mark.parametrize(
    ("answer", "tool"), [("search_docs", "search_docs"), ("[weather]", "weather"), ("`book`", "book")]
)
def test_the_bare_name_of_a_tool_wants_its_call(answer: str, tool: str) -> None:
    found = verdict(answer)
    assert found is not None
    assert found.wants == tool
    assert found.text == f"that is the name of the tool {tool}, and no call was made. Call it now."
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


def test_a_question_of_a_few_words_may_be_its_own_answer() -> None:
    assert verdict("Echo: hello world", question="echo hello world") is None
    assert verdict("hello world", question="Hello world!") is None


def test_what_the_model_has_called_not_final_is_no_answer_the_next_time() -> None:
    said = "Ich lese jetzt die Datei."
    step = Step(tool=FINISH_ASKED, args={"answer": said, "done": False}, observation="Then go on.", call=0)
    found = verdict("Ich lese jetzt die Datei", steps=(step,))
    assert found is not None
    assert found.wants is None
    assert found.text.startswith("you said that this is not your final answer")
    assert verdict("Die Datei ist leer.", steps=(step,)) is None


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Filters are changed every month.",
        "I'll look that up.",  # whether that is an answer, the model is asked
        "I will open at 9 and close at 17.",
        "Let me list the three largest planets: Jupiter, Saturn, Uranus.",
        "I called search_docs, and it says nothing about filters.",
        "Would you like me to call search_docs?",
        "book",
        "!!!",
        "ha " * 20,
        "=" * 80 + "\nA heading\n" + "=" * 80,
    ],
)
def test_anything_else_is_an_answer(answer: str) -> None:
    assert verdict(answer) is None


def test_other_events_are_none_of_its_business() -> None:
    assert check(Run(question=QUESTION), BeforePlan()) is None
