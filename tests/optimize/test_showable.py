"""What of a run may become a demo: nothing of the clock, no failure, no answer that could be one to anything."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from micro_agent import MicroAgent, Run
from micro_agent.demos import load_demos
from micro_agent.evaluation.task import Task
from micro_agent.optimize.showable import showable
from micro_agent.testing import Received, Reply, ScriptedLM, call, text

NOW = datetime.now(UTC)


def asked(question: str, *script: Reply, **agent: Any) -> Run:
    return MicroAgent(lm=ScriptedLM(script), rules=[], **agent).ask(question)


def kinds(task: Task, run: Run) -> list[str]:
    """What the decisions that may be shown decide."""
    return [next(iter(found["decision"])) for found in showable(task, run)]


def task(question: str = "?", **expected: Any) -> Task:
    return Task.model_validate({"id": "t", "question": question, **expected})


def test_a_run_without_a_clock_is_shown_whole() -> None:
    run = asked("What is 17*3?", call("calculator", {"expression": "17*3"}), text("That makes 51."))
    assert kinds(task(expect_number=51), run) == ["tool", "final"]


def test_the_call_of_the_clock_is_shown_and_nothing_after_it() -> None:
    script = [call("now", {}), call("calculator", {"expression": "14*60"}), text("840 minutes.")]
    assert kinds(task(expect_number=840), asked("How many?", *script)) == ["tool"]


@pytest.mark.parametrize(
    "told",
    [
        f"{NOW:%H:%M:%S}",
        {"city": "Tokyo", "local": f"{NOW:%I:%M %p}"},
        {"when": f"It is {NOW:%d %B %Y}."},
        [{"date": f"{NOW + timedelta(hours=9):%Y-%m-%d}"}],
        {"stamp": int(NOW.timestamp())},
        NOW.timestamp() * 1000,
        f"{NOW:%A}",
    ],
    ids=["time", "12 hours", "date in words", "date elsewhere", "timestamp", "milliseconds", "weekday"],
)
def test_what_an_own_tool_says_of_the_moment_is_not_shown(told: Any) -> None:
    def world_clock(city: str) -> Any:
        """The time there."""
        return told

    script = [call("world_clock", {"city": "Tokyo"}), text("It is time for tea.")]
    run = asked("What time is it in Tokyo?", *script, tools=[world_clock])
    assert kinds(task(expect_contains="tea"), run) == ["tool"]


@pytest.mark.parametrize(
    "told", [{"founded": "1889-03-31"}, {"rows": [1, 2.5, None, True, 10**400]}, "09:30", {"height": 330.5}]
)
def test_other_dates_and_numbers_and_times_that_the_question_names_are_shown(told: Any) -> None:
    def look(what: str) -> Any:
        """Look it up."""
        return told

    run = asked("What is due at 09:30?", call("look", {"what": "tea"}), text("Tea."), tools=[look])
    assert kinds(task(expect_contains="tea"), run) == ["tool", "final"]


def test_the_date_of_today_is_shown_only_where_the_question_says_it() -> None:
    today = f"{NOW:%Y-%m-%d}"
    answer = text(f"{today} is a fine day.")
    expected = task(expect_contains="a fine day")
    assert kinds(expected, asked("Which day?", answer)) == []
    assert kinds(expected, asked(f"How is {today}?", answer)) == ["final"]


def fails(what: str) -> Any:
    """Fail."""
    raise ValueError("no")


def refuses(what: str) -> Any:
    """Say that it failed."""
    return {"error": "not found"}


@pytest.mark.parametrize("tool", [fails, refuses])
def test_nothing_is_shown_of_a_run_in_which_a_tool_failed(tool: Callable[[str], Any]) -> None:
    run = asked("Tea?", call(tool.__name__, {"what": "tea"}), text("Tea."), tools=[tool])
    assert run.status == "completed"
    assert kinds(task(expect_contains="tea"), run) == []


def test_nothing_is_shown_of_a_run_that_had_to_be_told_something() -> None:
    run = asked("Tea?", text(""), text("Tea."), tools=[])
    assert kinds(task(expect_contains="tea"), run) == []


@pytest.mark.parametrize(
    ("expected", "answer", "shown"),
    [
        ({"expect_contains": "Canberra", "expect_tools": []}, "Canberra.", ["final"]),
        ({"expect_regex": r"(?i)\b(?:can(?:no|')t|do not know|do not have)\b"}, "I don't have that.", []),
        ({"expect_regex": "(?i)unknown|please"}, "That is unknown.", []),
        ({"expect_regex": "(?i)no largest|infinite"}, "There is no largest prime.", ["final"]),
        ({"expect_tools": []}, "I do not know.", []),
    ],
)
def test_an_answer_is_shown_where_the_check_would_not_take_any(
    expected: dict[str, Any], answer: str, shown: list[str]
) -> None:
    assert kinds(task(**expected), asked("What?", text(answer))) == shown


def test_the_call_is_shown_where_the_answer_behind_it_is_not_proved() -> None:
    def look(what: str) -> str:
        """Look it up."""
        return "A long text."

    run = asked("What is tea?", call("look", {"what": "tea"}), text("I do not know."), tools=[look])
    assert kinds(task(expect_tools="look"), run) == ["tool"]


def test_saved_demos_hold_nothing_of_the_clock(shop: Any) -> None:
    zones = ("Asia/Tokyo", "UTC", "Europe/Berlin", "America/Lima")
    Path("tasks.yaml").write_text(
        "".join(
            f"- {{id: {zone[-4:]}, question: What time is it in {zone}?, expect_observed: now}}\n" for zone in zones
        )
    )

    def play(request: Received) -> Reply:
        seen = next((one for one in map(str, request.messages) if "weekday" in one), None)
        return call("now", {"timezone": "UTC"}) if seen is None else text(f"It is {seen}.")

    shop.optimize(shop.bench(shop.server(play)), n=4, force=True)
    demos = load_demos(shop.demos).demos
    assert [(demo.steps, demo.decision.final) for demo in demos] == [([], None)] * 2
