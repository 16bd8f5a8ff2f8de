"""When two replies say the same: data by value, texts by the values of results that they tell, or by their words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent import Run, Step
from micro_agent.sampling.agreement import of_data, of_text, values_told


def run_of(question: str, *observations: Any, **more: Any) -> Run:
    return Run(question=question, steps=[Step(tool="look", observation=one, **more) for one in observations])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def as_floats(value: Any) -> Any:
    """The same, with 2.0 in the place of 2, and keys in another order."""
    if isinstance(value, dict):
        return {key: as_floats(part) for key, part in reversed(value.items())}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list):
        return [as_floats(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53 else value


@given(JSON)
def test_the_same_data_say_the_same(value: Any) -> None:
    assert of_data(value) == of_data(as_floats(value))


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, "1"), (1, 2), (True, 1), (None, False), ([1, 2], [2, 1]), ({"a": 1}, {"b": 1}), (0.5, 0), ("a", "A")],
)
def test_other_data_say_something_else(one: Any, other: Any) -> None:
    assert of_data(one) != of_data(other)
    assert of_data({"x": [one]}) != of_data({"x": [other]})


@pytest.mark.parametrize(
    ("question", "observation", "same", "another"),
    [
        ("How warm is it?", {"degrees": 16}, ["It is 16.", "16 °C, as I see!", "The answer: 16"], "It is 17."),
        ("Wie warm ist es?", {"grad": 16.5}, ["Es sind 16,5 Grad.", "16.5"], "Es sind 16 Grad."),
        ("How many?", "1200", ["There are 1,200.", "1200 of them"], "There are 1,300."),
        ("Who is it?", {"name": "Dubemo Ade"}, ["It is Dubemo Ade.", "dubemo ade!"], "It is Ade."),
        ("Wer ist es?", ["Müller"], ["Es ist Müller.", "MÜLLER"], "Es ist Möller."),
        ("Кто это?", "Орёл", ["Это Орёл.", "орел"], "Это Омск."),
        ("那是哪里？", {"city": "北京"}, ["北京 是首都。", "答案是 北京"], "南京 是首都。"),
        ("どこですか", "東京", ["「東京」です", "東京"], "「大阪」です"),
        ("أين هو؟", "القاهرة", ["هو في القاهرة", "القَاهِرة"], "هو في بيروت"),
        ("कितने हैं?", {"count": "२५"}, ["२५ हैं", "25"], "२६ हैं"),
        ("Was it sold?", {"sold": True, "price": 40}, ["Yes, for 40.", "Sold at 40"], "Yes, for 50."),
    ],
)
def test_texts_that_tell_the_same_values_agree(question: str, observation: Any, same: list[str], another: str) -> None:
    run = run_of(question, observation)
    assert len({of_text(text, run) for text in same}) == 1
    assert of_text(another, run) != of_text(same[0], run)


@pytest.mark.parametrize("texts", [["Blue.", "blue", "  BLUE!  "], ["Ja, gewiß.", "ja gewiss"], ["青い。", "青い"]])
def test_other_texts_agree_by_their_words(texts: list[str]) -> None:
    for run in (Run(question="Which?"), run_of("Which?", {"degrees": 16})):
        assert len({of_text(text, run) for text in texts}) == 1
        assert of_text(f"{texts[0]} {texts[0]}", run) != of_text(texts[0], run)


def test_what_the_question_has_is_no_value_of_a_result() -> None:
    run = run_of("Is it 16 in Oslo?", {"degrees": 16, "city": "Oslo"})
    assert values_told("It is 16 in Oslo.", run) is None
    assert of_text("It is 16.", run) != of_text("16 it is.", run)


def test_what_is_told_is_known_from_nothing_to_tell() -> None:
    run = run_of("How warm?", {"degrees": 16, "sky": "overcast"})
    assert values_told("I looked.", run) == set()
    assert values_told("Overcast at 16.", run) == {"16", "overcast"}
    assert values_told("Sixteen.", Run(question="How warm?")) is None


@pytest.mark.parametrize(
    "step",
    [
        Step(tool="look", observation={"degrees": 16}, ok=False, error="TOOL_EXCEPTION"),
        Step(tool="⛔️policy_violation", observation="16"),
        Step(tool="look", observation="Of all the days of this year it was the one with 16 degrees and some rain."),
        Step(tool="look", observation={"16": None}),
        Step(tool="look", observation=None),
    ],
)
def test_a_failure_a_word_of_the_loop_a_long_text_and_a_key_are_no_values(step: Step) -> None:
    assert values_told("It is 16.", Run(question="How warm?", steps=[step])) is None


def test_of_very_many_values_not_all_are_compared() -> None:
    numbers = list(range(1000, 6000))
    told = values_told(" ".join(map(str, numbers)), run_of("Which?", numbers))
    assert told is not None
    assert len(told) == 1000


@given(st.text(max_size=50), JSON)
def test_any_text_says_something_and_the_same_again(answer: str, observation: Any) -> None:
    run = run_of("Which?", observation)
    assert of_text(answer, run) == of_text(answer.upper().lower(), run) or not answer.isascii()
    assert of_text(answer, run) == of_text(answer, run.model_copy(deep=True))
