"""Cutting a step's texts, and naming steps in a line."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from micro_agent.context import estimate
from micro_agent.context.views import LEAST_CHARS, NEXT_QUESTION, chars_for, cut, lines_of
from micro_agent.run import POLICY_VIOLATION, Step
from micro_agent.text.encoding import as_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
)


def view(observation: Any, **fields: Any) -> dict[str, Any]:
    return {"tool": "read", "args": {}, "observation": observation, "call": 0, "call_id": "a", "said": "", **fields}


@given(JSON | st.text(max_size=2000), st.integers(1, 400))
def test_what_is_cut_fits_and_what_fits_is_not_cut(observation: Any, tokens: int) -> None:
    whole = view(observation)
    chars = chars_for(whole, tokens)
    shown = cut(whole, chars)["observation"]
    if chars is None:
        assert shown == observation
        return
    assert chars >= LEAST_CHARS
    assert chars == LEAST_CHARS or estimate(shown if isinstance(shown, str) else as_json(shown)) <= tokens
    text = observation if isinstance(observation, str) else as_json(observation)
    if not isinstance(shown, str):
        assert len(as_json(shown)) <= chars
        assert shown["truncated"]
        return
    assert f"[{len(text) - chars} characters cut]" in shown
    assert text.startswith(shown.partition("… [")[0])
    assert cut(whole, chars)["observation"] == shown


def test_an_object_is_cut_by_its_fields() -> None:
    result = {"code": 0, "stdout": "line " * 500}
    shown = cut(view(result), 400)["observation"]
    assert (shown["code"], shown["truncated"]) == (0, ["stdout"])
    assert cut(view(result), 100)["observation"].startswith('{"code": 0, "stdout": "line')


def test_an_answer_that_was_not_taken_and_words_beside_a_call_are_cut_too() -> None:
    refused = view("No.", tool=POLICY_VIOLATION, args={"answer": "word " * 400}, call_id=None, said="word " * 400)
    chars = chars_for(refused, 60)
    assert chars is not None
    shown = cut(refused, chars)
    assert shown["observation"] == "No."
    assert all("characters cut" in text for text in (shown["args"]["answer"], shown["said"]))
    assert refused["args"]["answer"] == "word " * 400


def test_a_question_that_is_asked_now_is_not_cut_only_the_answer_before_it() -> None:
    asks = view("What? " * 400, tool=NEXT_QUESTION, args={"answer": "Yes."}, call_id=None, asks=True)
    assert chars_for(asks, 60) is None
    long = {**asks, "args": {"answer": "Yes. " * 400}}
    chars = chars_for(long, 60)
    assert chars is not None
    shown = cut(long, chars)
    assert shown["observation"] == "What? " * 400
    assert estimate(shown["args"]["answer"]) <= 60


def test_turns_that_are_shown_no_more_are_a_line_each() -> None:
    calls = [Step(tool="look", args={"n": n}, observation=f"found {n}", call=n, call_id=str(n)) for n in range(3)]
    asks = [
        Step(tool=NEXT_QUESTION, args=told, observation=f"And {n}?") for n, told in enumerate([{"answer": "A."}, {}])
    ]
    [told] = lines_of("First?", [calls[0], asks[0], calls[1], asks[1], calls[2]], 9)
    assert told.splitlines()[1:] == [
        "- asked: First? -> answered: A.",
        "- asked: And 0? -> no answer",
        '- look {"n": 2} -> found 2',
    ]
    [fewer] = lines_of("First?", [calls[0], asks[0], calls[1], asks[1], calls[2]], 1)
    assert fewer.splitlines()[1:] == ["- (2 earlier turns are left out)", '- look {"n": 2} -> found 2']


def test_lines_name_the_latest_calls_and_count_the_others() -> None:
    steps = [
        Step(tool="read", args={"n": n}, observation={"text": "long " * 50}, call=n, call_id=str(n)) for n in range(5)
    ]
    steps.insert(2, Step(tool=POLICY_VIOLATION, observation="No.", call=9))
    [told] = lines_of("Which?", steps, 2)
    lines = told.splitlines()
    assert lines[1] == "- (3 earlier calls are left out)"
    assert [
        line.startswith(f'- read {{"n": {n}}} -> {{"text": "long ') for line, n in zip(lines[2:], (3, 4), strict=True)
    ]
    assert all(len(line) < 160 for line in lines)
    assert lines_of("Which?", steps[2:3], 4) == []
