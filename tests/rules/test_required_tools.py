"""Required tools: which ones a question implies, that they were used, and that their value is in the answer."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent import MicroAgent
from micro_agent.errors import ConfigurationError
from micro_agent.rules.required_tools import check, implied, with_words
from micro_agent.rules.verdict import Amend, BeforeFinish, BeforePlan, Verdict, Violation
from micro_agent.rules.words import words
from micro_agent.run import POLICY_VIOLATION, VALIDATION_ERROR, Run, Step
from micro_agent.testing import ScriptedLM, call, text
from tests.each import each

QUESTIONS = Path(__file__).with_name("required_tools_questions.jsonl")
UNSEEN = [Path(__file__).with_name(f"required_tools_{name}.jsonl") for name in ("unseen", "judge", "sealed", "fresh")]
"""Labelled questions that neither the words nor the weights of the rule were made from; keep it so."""
OWN_TOOLS = Path(__file__).with_name("own_tools.jsonl")
BOTH = frozenset({"calculator", "now"})
NOW_SEEN = {
    "iso": "2026-11-21T21:40:33+00:00",
    "timezone": "UTC",
    "date": "2026-11-21",
    "time": "21:40:33",
    "weekday": "Saturday",
    "unix": 1795297233,
}


asked = cache(implied)


def figures(rows: list[dict[str, Any]], tools: frozenset[str]) -> tuple[float, float]:
    """Precision and recall over these tools, micro-averaged."""
    wanted = [(at, tool) for at, row in enumerate(rows) for tool in row["tools"] if tool in tools]
    named = [(at, tool) for at, row in enumerate(rows) for tool in asked(row["question"]) if tool in tools]
    right = len(set(wanted) & set(named))
    return right / len(named), right / len(wanted)


def rows_of(*paths: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.torture
def test_the_labelled_questions() -> None:
    rows = rows_of(QUESTIONS)
    for row in rows:
        if sorted(asked(row["question"])) != sorted(row["tools"]):
            print(sorted(row["tools"]), sorted(asked(row["question"])), row["question"])  # noqa: T201 - the misses
    for tools in (BOTH, frozenset({"calculator"}), frozenset({"now"})):
        precision, recall = figures(rows, tools)
        assert precision >= 0.97, sorted(tools)
        assert recall >= 0.97, sorted(tools)


def test_the_unseen_questions() -> None:
    for paths in ([path] for path in UNSEEN):
        report(paths)
    precision, recall = report(UNSEEN)
    assert precision >= 0.97
    assert recall >= 0.97


def report(paths: list[Path]) -> tuple[float, float]:
    rows = rows_of(*paths)
    precision, recall = figures(rows, BOTH)
    names = " and ".join(path.stem for path in paths)
    print(f"{names}, {len(rows)} questions: precision {precision:.3f}, recall {recall:.3f}")  # noqa: T201 - for the docs
    return precision, recall


def test_what_the_weights_were_learned_from_is_not_what_they_are_judged_on() -> None:
    assert {row["question"] for row in rows_of(QUESTIONS)}.isdisjoint(row["question"] for row in rows_of(*UNSEEN))


GERMAN = """
number: zwei, drei, fünf, zwölf
article: ein, eine, einen
percent: "%, prozent"
units: {length: "km, meter, meilen", time: "minuten, stunden, tage, tagen, wochen"}
operator: plus, minus, mal, geteilt durch
of: von
convert_to: in
how_many: wie viel, wie viele, wie weit
quantity: kostet, kosten, summe
refers: sie, er, das, noch
what: was, welcher
be: ist, sind
it: es, wir
place: tag, datum, uhrzeit
now: heute, jetzt, aktuelle
feast: weihnachten, ostern
until: bis
clock_phrase: wie spät ist es
explain: warum, wie funktioniert
text_task: übersetze, kürze
"""


@pytest.mark.parametrize(
    ("question", "tools"),
    [
        ("Was ist fünf mal zwölf?", {"calculator"}),
        ("Wie viel ist 19 % von 250?", {"calculator"}),
        ("Wie viele km sind 26,2 Meilen?", {"calculator"}),
        ("Anna hat 12 Äpfel und kauft 7. Wie viele hat sie?", {"calculator"}),
        ("Wie spät ist es?", {"now"}),
        ("Welcher Tag ist heute?", {"now"}),
        ("Wie viele Tage bis Weihnachten?", {"calculator", "now"}),
        ("Warum ist 2 + 2 vier?", set[str]()),
        ("Übersetze: Wie spät ist es?", set[str]()),
        ("Wie funktioniert eine Uhr?", set[str]()),
        ("What time is it?", set[str]()),
    ],
)
def test_words_of_another_language(tmp_path: Path, question: str, tools: set[str]) -> None:
    path = tmp_path / "de.yaml"
    path.write_text(GERMAN, encoding="utf-8")
    verdict = with_words(path)(Run(question=question), BeforeFinish("?", BOTH))
    assert (verdict.wants if isinstance(verdict, Violation) else None) == max(tools, default=None)
    assert implied(question, words(path)) == tools


def test_the_environment_names_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "de.yaml"
    path.write_text(GERMAN, encoding="utf-8")
    monkeypatch.setenv("REQUIRED_TOOLS_WORDS", str(path))
    lm = ScriptedLM([text("Halb acht."), call("now", {"timezone": "utc"}), text("So spät.")])
    run = MicroAgent(lm=lm).ask("Wie spät ist es?")
    assert [step.tool for step in run.steps] == [POLICY_VIOLATION, "now"]


@pytest.mark.parametrize(
    "content", [None, "- a", "when: 3", "when: {a: b}", "nowish: jetzt", "units: a", "short: a", "when: [", "\xff"]
)
def test_a_file_that_is_none_is_refused_with_its_path(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "de.yaml"
    if content is not None:
        path.write_text(content, encoding="latin-1")
    with pytest.raises(ConfigurationError) as refused:
        with_words(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@each(
    "question",
    [
        "2*(3+5)",
        "12% of 80",
        "9!/(3!*3!)",
        "2^10",
        "5²+1",
        'What is "12*34"?',
        "what is twenty-five minus nine",
        "2½ times 4",
        "100 € - 35 €",
        "I have two and a half litres and three glasses. How much is that per glass?",
        "Explain what a prime number is and calculate 7*13.",
        "If it is 3 pm now, what time will it be in 45 minutes?",
        "A train leaves at 3:15 pm and takes 95 minutes. What time does it arrive?",
        "How many days are there between 2024-02-01 and 2024-03-15?",
        "If someone was born in 1962, how old were they in 1999?",
        "Ben is 4 years older than Ida. Ida is 9. How old is Ben?",
        "My car needs 7 litres for 100 km. How far can I go with 42 litres?",
        "Paul had 25 marbles, lost 7 and won 12. How many now?",
        "3 bottles cost 5.97, what about 7 bottles?",
        "convert 5 miles to km",
        "whats 144 dividd by 12",
        "What is 17! divided by 15!?",
        "How much is 2024 times 3?",
        "How many days after 2024-03-05 is 2024-04-01?",
        "Ada was born in 1985. How old did she become in 2021?",
        "We drove 640 km and used 44 l. consumption per 100?",
        "gross 3,850, deductions 31.5%. net?",
        "I make 23.50 an hour and worked 37.5 hours. paycheck?",
        "price for 3 kilos at 4.20 a kilo",
        "nap from 14:10 till 15:05, minutes?",
        "heart rate 72 per minute, how many beats in a day?",
        "My son was born in 2012. In which year will he be 18?",
        "It opens at 9 o'clock and closes at 17:30. How many hours is that?",
        "kg to stone: 81",
        "6'2 in metres",
        "how many tiles 30x30 cm for a 12 sqm floor",
        "3 km in 14:30 - pace?",
        "is 2/3 cup more than 150 ml?",
        "what's cheaper, 6 x 330ml at 4.50 or 1.5 l at 2.20",
        "A nap starts at 13:40 and lasts 25 minutes, over when?",
        "the concert in 2019 and the one in 2003: how many years apart",
        "shop is open mon to fri 9 to 17, how many hours a week",
        "slept from eleven last night till seven this morning, how many hours",
        "300 requests at 250 ms each on 8 workers, how long until all are done?",
        "In our shop we took 12,480 in March and 13,104 in April. I wonder by what percentage we grew.",
    ],
)
def test_arithmetic_needs_the_calculator_only(question: str) -> None:
    assert implied(question) == {"calculator"}


@each(
    "question",
    [
        "What time is it?",
        "current time in Tokyo",
        "Is it past noon?",
        "Is it past 5 pm?",
        "what day is it 2day",
        "waht tiem is it",
        "I live in room 12 at 221 Baker Street, version 3.12.1. What's today's date?",
        "Write a letter with today's date.",
        "Put today's date in the first line.",
        "Is the supermarket still open? It shuts at 20:00.",
        "My passport expires on 2026-04-30. Is it still valid?",
        "are we already in daylight saving time",
        "Month and year, please",
        "what's today",
        "are we in an odd or an even calendar week",
        "Is the stock exchange in London open at the moment?",
        "The sign says parking is allowed from 18:00. May I park here at this moment?",
    ],
)
def test_the_clock_needs_now_only(question: str) -> None:
    assert implied(question) == {"now"}


@each(
    "question",
    [
        "What time will it be in 45 minutes?",
        "how old am I if born in 1990",
        "days until Christmas",
        "how many years ago was 1969",
        "What time is it, and what is 17 * 23?",
        "hrs until 9 pm?",
        "I was born 7.7.1977, am I over 50 yet",
        "Our wedding was on 8 August 2015. How many years are we married?",
        "weeks between today and 1 october",
        "what percentage of the current year is already over",
        "how many days are we into 2026",
        "today plus 14 days",
    ],
)
def test_a_sum_from_now_needs_both(question: str) -> None:
    assert implied(question) == BOTH


@each(
    "question",
    [
        "",
        "What do you know about snow?",
        "What is the address of the White House?",
        "What is the time complexity of binary search?",
        "My diary is the sum of my fears.",
        "How tall is a date palm?",
        "What time is it in UTC when it is 23:50 in India?",
        "What is 2FA?",
        "What does John 3:16 say?",
        "Is a 4x4 better than 24/7 service?",
        "Who won 3-1 in 1998?",
        "What is 192.168.0.1 in version 1.2.3 of report_2024-01.pdf?",
        "What does `x += 1` do?",
        "What does this print?\n```\nprint(2 + 2)\n```",
        "Translate 'what time is it' into French.",
        "Translate into German: I have 3 apples and buys 5. How many are that?",
        "I have 3 apples and 5 pears.\nCorrect the sentence above.",
        "Why does 1 + 1 = 2?",
        "I have 3 cats, what should I name them?",
        "We have 2 kids aged 4 and 7. How much sun do monstera plants need?",
        "Write a Python function that returns the current time.",
        "show the current time in the status bar",
        "mock the current date in the tests",
        "is issue #12 still open",
        "increase the retry limit from 3 to 5 and the delay from 100 to 250 ms",
        "our tests take 12 minutes on 4 cores, how do I make them faster?",
        "split the 800 line file into 3 modules",
        "which 3 countries have more than 200 million people?",
        "upgrade from 4.2 to 5.0, what breaks?",
        "I slept 5 hours and had 3 coffees. Any ideas?",
        "is 12 bigger than 7",
        "we lost 3 -1 on Saturday, bad luck",
        "resize the image to 800x600",
        "Is 1920x1080 enough?",
        "What is 5 - 3 in the 4-4-2 system called",
        "What's the difference between 32 bit and 64 bit?",
    ],
)
def test_words_and_numbers_in_context_need_nothing(question: str) -> None:
    assert implied(question) == frozenset()


@pytest.mark.parametrize(
    "question", ["Translate: What time is it?", "Please proofread this: How much is 3 * 4? What is 2+2?"]
)
def test_a_text_to_work_on_asks_nothing(question: str) -> None:
    assert implied(question) == frozenset()


def test_a_request_after_a_long_document_is_read() -> None:
    assert implied("Lorem ipsum dolor. " * 5000 + "What is 12*7?") == {"calculator"}


def test_the_middle_of_a_long_document_asks_nothing() -> None:
    filler = "Lorem ipsum dolor. " * 5000
    assert implied(f"{filler} What is 12*7? {filler}") == frozenset()


@given(st.text() | st.text("0123456789+-*/()!?. what timeis now'\"`"))
def test_any_question_can_be_read(question: str) -> None:
    assert implied(question) <= BOTH


@pytest.mark.parametrize(
    "part",
    [
        "1",
        "1+",
        "'",
        "12 ",
        "how many ",
        "please ",
        "1,",
        "5'11 ",
        "$ 1,",
        "a.b@",
        "1 day ",
        "km to ",
        ", price",
        "(",
        "\ud800",
    ],
)
def test_a_hundred_kilobytes_of_anything_are_read(part: str) -> None:
    assert implied(part * (100_000 // len(part))) <= BOTH


def finish(
    question: str, answer: str, *steps: Step, tools: frozenset[str] = BOTH, read_only: frozenset[str] = BOTH
) -> Verdict | None:
    return check(Run(question=question, steps=list(steps)), BeforeFinish(answer, tools, read_only=read_only))


def computed(value: object) -> Step:
    return Step(tool="calculator", args={"expression": "…"}, observation={"result": value, "expression": "…"})


def failed(tool: str, code: str = "TOOL_EXCEPTION") -> Step:
    return Step(tool=tool, ok=False, error=code, observation={"error": code})


SEEN = Step(tool="now", args={"timezone": "utc"}, observation=NOW_SEEN)
SUM = "What is 2*(3+5)?"


def test_an_answer_without_the_calculator_is_refused() -> None:
    verdict = finish(SUM, "16")
    assert isinstance(verdict, Violation)
    assert verdict.text == (
        "this question needs the calculator tool. Call calculator with the expression, for example "
        '{"expression": "2*(3+5)"}, before you answer.'
    )


def test_an_answer_without_the_clock_is_refused() -> None:
    verdict = finish("What time is it?", "21:40")
    assert isinstance(verdict, Violation)
    assert "needs the now tool" in verdict.text
    assert '{"timezone": "utc"}' in verdict.text


def test_the_clock_is_asked_for_before_the_calculator() -> None:
    first = finish("How many days until Christmas?", "34")
    second = finish("How many days until Christmas?", "34", SEEN)
    assert isinstance(first, Violation)
    assert isinstance(second, Violation)
    assert "now tool" in first.text
    assert "calculator tool" in second.text


def test_a_tool_that_the_agent_does_not_have_is_not_asked_for() -> None:
    assert finish(SUM, "16", tools=frozenset({"now", "search"})) is None


def test_a_question_that_implies_nothing_is_answered() -> None:
    assert finish("Who wrote 1984?", "George Orwell") is None


def test_other_events_are_left_alone() -> None:
    assert check(Run(question=SUM), BeforePlan()) is None


def test_one_failed_call_is_not_enough_and_two_are() -> None:
    assert isinstance(finish(SUM, "no idea", failed("calculator")), Violation)
    assert finish(SUM, "it cannot be computed", failed("calculator"), failed("calculator")) is None


def test_that_there_is_no_result_may_be_said_at_once() -> None:
    assert finish("What is 1/0?", "It is undefined.", failed("calculator", "DIVISION_BY_ZERO")) is None


@pytest.mark.parametrize("code", ["NOT_RUN", "APPROVAL_REJECTED", "INTERRUPTED"])
def test_calls_that_were_not_executed_do_not_count(code: str) -> None:
    assert isinstance(finish(SUM, "16", failed("calculator", code), failed("calculator", code)), Violation)


def test_refused_arguments_do_not_count() -> None:
    refused = Step(tool=VALIDATION_ERROR, ok=False, error="VALIDATION_FAILED")
    assert isinstance(finish(SUM, "16", refused, refused), Violation)


def test_an_answer_with_the_value_is_taken_as_it_is() -> None:
    assert finish(SUM, "That makes 16.", computed(16)) is None


@pytest.mark.parametrize(
    ("observation", "shown"),
    [
        ({"result": 1234567, "expression": "…"}, "1234567"),
        ({"value": 0.1}, "0.1"),
        ({"result": 2.5e-7}, "2.5e-07"),
        (-12, "-12"),
        ({"result": 10**60}, str(10**60)),
    ],
)
def test_a_value_that_is_left_out_is_appended(observation: object, shown: str) -> None:
    verdict = finish(SUM, "Done.", Step(tool="calculator", observation=observation))
    assert verdict == Amend(f"Done. (calculator: {shown})")


@pytest.mark.parametrize("answer", ["", " \n"])
def test_an_empty_answer_becomes_the_value(answer: str) -> None:
    assert finish(SUM, answer, computed(16)) == Amend("(calculator: 16)")


def test_the_last_good_value_counts() -> None:
    steps = (computed(8), computed(16), failed("calculator"))
    assert finish(SUM, "8", *steps) == Amend("8 (calculator: 16)")
    assert finish(SUM, "16", *steps) is None


@pytest.mark.parametrize(
    "odd", [None, "16", True, {"text": "16"}, {"result": float("inf")}, {"result": 10**5000}, [16]]
)
def test_an_observation_without_a_number_appends_nothing(odd: object) -> None:
    assert finish(SUM, "Done.", Step(tool="calculator", observation=odd)) is None


def test_a_moment_that_is_left_out_is_appended() -> None:
    assert finish("What time is it?", "Late.", SEEN) == Amend("Late. (now: 2026-11-21 21:40 UTC)")
    assert finish("What time is it?", "", SEEN) == Amend("(now: 2026-11-21 21:40 UTC)")


@pytest.mark.parametrize("answer", ["It is 9:40 pm.", "21 November 2026", "1795297233"])
def test_an_answer_with_the_moment_is_taken_as_it_is(answer: str) -> None:
    assert finish("What time is it?", answer, SEEN) is None


def test_a_weekday_is_an_answer_when_it_was_asked_for() -> None:
    assert finish("What day of the week is it?", "It is Saturday.", SEEN) is None
    assert finish("What day of the week is it?", "It is Friday.", SEEN) is not None
    assert finish("What time is it?", "It is Saturday.", SEEN) is not None


@pytest.mark.parametrize(
    ("observation", "shown"),
    [
        ("2026-11-21T21:40:33Z", "2026-11-21 21:40 UTC"),
        ("2026-11-21T21:40:33+02:00", "2026-11-21 21:40 +0200"),
        ({"date": "2026-11-21", "time": "21:40:33"}, "2026-11-21 21:40 UTC"),
        ({**NOW_SEEN, "timezone": "Europe/Berlin"}, "2026-11-21 21:40 Europe/Berlin"),
    ],
)
def test_other_forms_of_the_moment_are_read(observation: object, shown: str) -> None:
    assert finish("What time is it?", "", Step(tool="now", observation=observation)) == Amend(f"(now: {shown})")


@pytest.mark.parametrize("odd", [None, "late", {"error": "?"}, 7])
def test_an_observation_without_a_moment_appends_nothing(odd: object) -> None:
    assert finish("What time is it?", "Late.", Step(tool="now", observation=odd)) is None


def test_both_values_are_appended() -> None:
    verdict = finish("How many days until Christmas?", "Soon.", SEEN, computed(34))
    assert verdict == Amend("Soon. (calculator: 34) (now: 2026-11-21 21:40 UTC)")


@given(st.text(), st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_the_value_is_in_the_answer_in_the_end(answer: str, value: float) -> None:
    verdict, steps = finish(SUM, answer, computed(value)), [computed(value)]
    if isinstance(verdict, Violation):  # another value: that is asked about once
        steps.append(Step(tool=POLICY_VIOLATION, args={"answer": answer}, observation=verdict.text, ok=False))
        verdict = finish(SUM, answer, *steps)
    final = verdict.answer if isinstance(verdict, Amend) else answer
    assert finish(SUM, final, *steps) is None


def own(observation: object, *, tool: str = "convert_miles", ok: bool = True, **args: object) -> Step:
    return Step(tool=tool, args=args, observation=observation, ok=ok, error=None if ok else "TOOL_EXCEPTION")


def labelled(row: dict[str, Any]) -> tuple[list[Step], list[str]]:
    steps = [own(s["observation"], tool=s["tool"], ok=s["ok"], **s["args"]) for s in row["steps"]]
    return steps, [tool for tool in ("now", "calculator") if row["satisfied"].get(tool) is False]


def test_values_of_own_tools_count_as_labelled() -> None:
    rows = [json.loads(line) for line in OWN_TOOLS.read_text(encoding="utf-8").splitlines()]
    judged = [row for row in rows if implied(row["question"]) >= set(row["implied"])]
    assert len(judged) >= 107, "of the 120; the words of the other questions imply no tool to the rule yet"
    wrong: list[str] = []
    for row in judged:
        steps, missing = labelled(row)
        read_only = BOTH | {step.tool for step in steps}
        verdict = finish(row["question"], row["answer"], *steps, read_only=read_only)
        wanted = verdict.wants if isinstance(verdict, Violation) else None
        if wanted != next(iter(missing), None):
            wrong.append(row["id"])
    assert wrong == []


MILES = "How many km are 26.2 miles?"


@pytest.mark.parametrize(
    "observation",
    [42.1648, {"result": 42.1648}, {"value": 42.16, "unit": "km"}, "42.1648", {"result": "42.1648"}],
)
def test_a_number_of_an_own_tool_stands_for_the_calculator(observation: object) -> None:
    assert finish(MILES, "26.2 miles are 42.16 km.", own(observation)) is None


@pytest.mark.parametrize(
    ("observation", "answer"),
    [
        (42.1648, "26.2 miles are 43 km."),
        (26.2, "26.2 miles are 42.16 km."),
        ({"line": 42, "text": "x"}, "It is 42 km."),
        ([42.16], "It is 42.16 km."),
        (True, "It is 1 km."),
        ("42.16 km", "It is 42.16 km."),
        ("4" * 500, "It is 42.16 km."),
    ],
)
def test_what_is_no_value_or_is_not_told_does_not(observation: object, answer: str) -> None:
    assert isinstance(finish(MILES, answer, own(observation)), Violation)


def test_a_failed_tool_and_the_clock_do_not_stand_for_the_calculator() -> None:
    answer = "26.2 miles are 42.16 km."
    assert isinstance(finish(MILES, answer, own(42.1648, ok=False)), Violation)
    assert isinstance(finish(MILES, answer, own(42.1648, tool="now")), Violation)


@pytest.mark.parametrize(
    ("observation", "answer"),
    [
        ("14:05", "It is 14:05 in Tokyo."),
        ("2:05 p.m.", "It is 2:05 pm."),
        ({"city": "Tokyo", "local_time": "2026-11-22T14:05:09+09:00"}, "In Tokyo it is 14:05."),
        ({"date": "2026-11-22"}, "It is 22 November 2026."),
        ("2026-11-22", "22 November."),
    ],
)
def test_a_moment_of_an_own_clock_stands_for_now(observation: object, answer: str) -> None:
    assert finish("What time is it in Tokyo?", answer, own(observation, tool="world_clock")) is None


@pytest.mark.parametrize(
    ("observation", "answer"),
    [
        ("14:05", "It is 15:05 in Tokyo."),
        ("2 pm", "It is 3 pm."),
        ({"start_time": "14:05"}, "It is 14:05."),
        ({"time": 1405}, "It is 14:05."),
        ("soon", "It is 14:05."),
        ("1" * 500, "It is 14:05."),
        (14, "It is 14:05."),
    ],
)
def test_another_time_or_none_does_not(observation: object, answer: str) -> None:
    verdict = finish("What time is it in Tokyo?", answer, own(observation, tool="world_clock"))
    assert isinstance(verdict, Violation)
    assert verdict.wants == "now"


RAIN = "Does it rain in Quito today?"
QUITO = own({"place": ["Quito", "Ecuador"], "sky": "rain", "degrees": 1}, tool="weather", city="Quito")


@pytest.mark.parametrize("answer", ["In Quito there is rain at 1 degree.", "It is 1 degree.", "Rain, yes, in Ecuador."])
def test_an_answer_of_what_an_own_tool_gave_needs_no_other(answer: str) -> None:
    """The question alone would need the clock."""
    assert finish(RAIN, answer, QUITO) is None
    assert isinstance(finish(RAIN, answer), Violation)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (RAIN, "It rains, and it is 14:05."),
        (RAIN, "In Quito the sun shines."),
        (RAIN, "Quito."),
        ("Does it rain in Quito today, or on the 2nd of May?", "In Quito there is rain at 1 degree."),
        ("Is it raining in Quito? Also what time is it?", "In Quito there is rain at 1 degree."),
    ],
)
def test_but_a_number_from_nowhere_does_and_what_is_plainly_asked(question: str, answer: str) -> None:
    assert isinstance(finish(question, answer, QUITO), Violation)


def test_what_is_counted_from_now_is_one_value() -> None:
    assert finish("days until Christmas", "33 days.", own(33, tool="days_until", date="12-25")) is None
    date = own("2027-01-06", tool="add_days", days=45)
    assert finish("What date is it 45 days from today?", "6 January 2027.", date) is None
    verdict = finish("days until Christmas", "It is 22 November, so 33 days.", own("2026-11-22", tool="today"))
    assert isinstance(verdict, Violation)
    assert verdict.wants == "calculator"
