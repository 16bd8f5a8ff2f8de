"""evals/tasks.yaml and evals/rubrics.yaml: they are whole, and what they expect is right, computed by other means."""

import re
from collections import Counter
from datetime import date, time
from fractions import Fraction
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

import yaml

from micro_agent.evaluation.result import Rubric
from micro_agent.evaluation.task import EXPECTATIONS, ExpectedNumber, Task
from micro_agent.rules.answer_values import holds_number
from micro_agent.tools import load_tools
from micro_agent.tools.clock import now
from tests.each import each

EVALS = Path(__file__).resolve().parents[2] / "evals"
CODING = {"expect_hidden", "expect_changed", "expect_gates"}  # of tasks in repositories: evals/coding/rubrics.yaml
_spec = spec_from_file_location("tasks_solutions", Path(__file__).with_name("tasks_solutions.py"))
assert _spec is not None
assert _spec.loader is not None
solutions: Any = module_from_spec(_spec)
_spec.loader.exec_module(solutions)

FILE: dict[str, Any] = yaml.safe_load((EVALS / "tasks.yaml").read_text(encoding="utf-8"))
TASKS = [Task.model_validate(task) for task in FILE["tasks"]]
BY_ID = {task.id: task for task in TASKS}
LEAST = {
    "arithmetic": 35, "word-problem": 30, "datetime": 25, "mixed": 10, "no-tool": 15, "trap": 20, "unanswerable": 12,
}  # fmt: skip
STEPS = {"1": "one-step", "2": "two-step", "3": "three-step", "4": "four-step", "5": "five-step"}
BUILT_IN = {
    "calculator": {"result", "expression"},
    "now": {"iso", "timezone", "date", "time", "weekday", "unix"},
}
# To sum a text up is to use its words; that task's expression is there for the number it must not contain.
REPEATS_THE_QUESTION = {"trap-sum-up"}


def named(task: Task) -> str:
    return task.id


def tagged(*tags: str) -> list[Task]:
    return [task for task in TASKS if set(tags) <= set(task.tags)]


def with_regex() -> list[Task]:
    return [task for task in TASKS if task.expect_regex is not None]


def shows(text: str, expected: ExpectedNumber) -> bool:
    """Whether a text shows the number; one with a tolerance is compared with each number of the text."""
    if expected.tolerance is None:
        return holds_number(text, expected.value)
    numbers = re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", text))
    return any(abs(float(number) - expected.value) <= expected.tolerance for number in numbers)


def test_the_file_holds_what_it_says() -> None:
    assert FILE.keys() == {"version", "tasks"}
    assert FILE["version"] == 1
    assert len(TASKS) >= 130
    assert len(BY_ID) == len(TASKS)
    assert len({" ".join(task.question.lower().split()) for task in TASKS}) == len(TASKS)


def test_each_task_is_of_one_group_and_each_group_is_large_enough() -> None:
    assert [task.id for task in TASKS if len(LEAST.keys() & set(task.tags)) != 1 or task.tags[0] not in LEAST] == []
    counts = Counter(task.tags[0] for task in TASKS)
    assert {group: counts[group] for group, least in LEAST.items() if counts[group] < least} == {}


def test_the_readme_counts_the_groups_as_they_are() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", (EVALS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {group: int(count) for group, count in rows} == Counter(task.tags[0] for task in TASKS)


def test_names_of_tools_and_keys_are_those_of_the_built_in_tools() -> None:
    for task in TASKS:
        for tool in [*(task.expect_tools or []), *(task.expect_observed or [])]:
            assert tool in BUILT_IN, task.id
        keys = set[str]().union(*(BUILT_IN[tool] for tool in task.expect_tools or []))
        assert set(task.expect_key or []) <= keys, task.id


def test_a_tool_whose_value_is_expected_is_itself_expected() -> None:
    assert [task.id for task in TASKS if not set(task.expect_observed or []) <= set(task.expect_tools or [])] == []


@cache
def zones() -> re.Pattern[str]:
    """The names of time zones: UTC, the local one, IANA's and their cities."""
    cities = {name.rpartition("/")[2].replace("_", " ") for name in available_timezones() if "/" in name}
    words = {
        *available_timezones(), *(city for city in cities if len(city) > 3), "UTC", "GMT", "local clock", "local date",
    }  # fmt: skip
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(words)))})\b")


@each("task", [task for task in TASKS if "now" in (task.expect_tools or [])], ids=named)
def test_a_question_that_names_a_time_zone_expects_the_clock_to_be_asked_for_it(task: Task) -> None:
    """`timezone` is the only argument of a built-in tool that a question can name; none takes a unit."""
    calls = (task.expect_args or {}).get("now", [])
    assert (calls != []) == bool(zones().search(task.question))
    for zone in (
        zone
        for args in calls
        for zone in ([args["timezone"]] if isinstance(args["timezone"], str) else args["timezone"])
    ):
        assert zone is None or now.handler(timezone=zone)["iso"]


def test_arguments_are_expected_of_tools_that_are_expected_and_have_them() -> None:
    for task in TASKS:
        for tool, calls in (task.expect_args or {}).items():
            assert tool in (task.expect_tools or []), task.id
            taken = load_tools()[tool].parameters["properties"]
            assert all(args.keys() <= taken.keys() for args in calls), task.id


def test_what_each_group_expects() -> None:
    assert [task.id for task in tagged("now") if task.expect_tools != ["now"] or not task.expect_key] == []
    assert [task.id for task in tagged("mixed") if set(task.expect_tools or []) != {"now", "calculator"}] == []
    assert [task.id for task in tagged("no-tool") if task.expect_tools != []] == []
    assert [task.id for task in tagged("unanswerable") if task.expect_regex is None] == []


@each("task", [*tagged("arithmetic"), *tagged("word-problem")], ids=named)
def test_a_calculation_expects_a_number_and_its_steps_are_those_of_its_name(task: Task) -> None:
    assert task.expect_number is not None
    assert STEPS[task.id.split("-")[1]] in task.tags


@each("task", [task for task in TASKS if task.expect_number is not None], ids=named)
def test_the_expected_number_is_the_computed_one(task: Task) -> None:
    expected = task.expect_number
    assert expected is not None
    computed = Fraction(solutions.SOLUTIONS[task.id]())
    given = Fraction(repr(expected.value))
    if expected.tolerance is None:
        assert given == computed
    else:
        # The middle of the tolerated range is the value itself, not a rounded form of it.
        assert abs(given - computed) <= Fraction(repr(expected.tolerance)) / 10
        assert computed not in (given + Fraction(repr(expected.tolerance)), given - Fraction(repr(expected.tolerance)))


@each("task", tagged("datetime", "fixed"), ids=named)
def test_the_expected_day_date_or_time_is_the_computed_one(task: Task) -> None:
    value = solutions.SOLUTIONS[task.id]()
    if isinstance(value, date | time):
        assert task.expect_regex is not None
        assert re.search(task.expect_regex, str(value)), value
    elif value in ("yes", "no"):
        other = {"yes": "no", "no": "yes"}[value]
        assert task.expect_regex is not None
        assert re.search(task.expect_regex, f"{value.title()}.")
        assert not re.search(task.expect_regex, f"{other.title()}.")
    elif isinstance(value, str):
        assert task.expect_contains == [value]
    else:
        assert task.expect_number is not None


def test_the_day_before_in_caracas() -> None:
    assert BY_ID["cal-tokyo-caracas"].expect_contains == ["Monday"]
    assert solutions.local_weekday("2024-01-02T08:00", "Asia/Tokyo", "America/Caracas") == "Monday"


@each("task", with_regex(), ids=named)
def test_an_expression_takes_right_phrasings_and_refuses_wrong_ones(task: Task) -> None:
    assert task.expect_regex is not None
    solved = solutions.SOLUTIONS.get(task.id)
    right, wrong = solutions.PHRASINGS.get(task.id) or solutions.derived(solved() if solved else "")
    assert len(right) >= 2
    assert len(wrong) >= 1
    assert [text for text in right if not re.search(task.expect_regex, text)] == []
    assert [text for text in wrong if re.search(task.expect_regex, text)] == []


@each("task", [task for task in TASKS if task.id not in REPEATS_THE_QUESTION], ids=named)
def test_the_question_repeated_is_no_answer(task: Task) -> None:
    """Where the answer is text or a number; that a tool was used is not seen in the text."""
    checks = [text.lower() in task.question.lower() for text in task.expect_contains or []]
    if task.expect_number is not None:
        checks.append(shows(task.question, task.expect_number))
    if task.expect_regex is not None:
        checks.append(re.search(task.expect_regex, task.question) is not None)
    assert not checks or not all(checks)


@each("task", [task for task in TASKS if task.expect_number is not None], ids=named)
def test_the_computed_number_as_people_write_it_is_an_answer(task: Task) -> None:
    assert task.expect_number is not None
    computed = solutions.SOLUTIONS[task.id]()
    shown = computed if isinstance(computed, int) else round(float(computed), 2)
    assert shows(f"The answer is {shown:,}.", task.expect_number)
    assert not shows(f"The answer is {shown + max(1, abs(shown) // 10):,}.", task.expect_number)


def test_no_answer_is_kept_for_a_task_that_is_gone() -> None:
    assert [name for name in [*solutions.SOLUTIONS, *solutions.PHRASINGS] if name not in BY_ID] == []


def test_the_rubric_weighs_every_check() -> None:
    rubric = Rubric.model_validate(yaml.safe_load((EVALS / "rubrics.yaml").read_text(encoding="utf-8")))
    assert {f"expect_{name}" for name in rubric.weights} == {name for name in EXPECTATIONS if name not in CODING}
    assert all(weight > 0 for weight in rubric.weights.values())
    assert rubric.pass_score == 1.0
