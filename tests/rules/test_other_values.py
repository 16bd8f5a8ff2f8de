"""An answer that states another value than the calculator gave is asked about once; right ones are not."""

import json
from pathlib import Path
from typing import Any

from micro_agent.rules import Amend, BeforeFinish, Violation
from micro_agent.rules.other_values import other_value
from micro_agent.rules.required_tools import check
from micro_agent.run import POLICY_VIOLATION, Run, Step
from tests.each import each

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("other_values.jsonl").read_text(encoding="utf-8").splitlines()
]
QUESTION = "How many eggs are 17 boxes of 24 eggs each?"


def computed(*values: float) -> list[Step]:
    return [Step(tool="calculator", args={"expression": "17*24"}, observation={"result": value}) for value in values]


def finish(answer: str, *steps: Step) -> object:
    event = BeforeFinish(answer, frozenset({"calculator"}))
    return check(Run(question=QUESTION, steps=list(steps)), event)


@each("row", [row for row in ROWS if not row["wrong"]], ids=lambda row: row["question"][:40])
def test_no_right_answer_is_asked_about(row: dict[str, Any]) -> None:
    assert other_value(row["question"], row["answer"], row["values"]) is None


def test_wrong_values_are_found() -> None:
    wrong = [row for row in ROWS if row["wrong"]]
    found = [row for row in wrong if other_value(row["question"], row["answer"], row["values"]) is not None]
    assert len(found) >= 69
    assert len(wrong) == 70


def test_both_values_are_named_and_it_is_asked_once() -> None:
    verdict = finish("The result is 418.", *computed(408))
    assert isinstance(verdict, Violation)
    assert "408" in verdict.text
    assert "418" in verdict.text
    again = Step(tool=POLICY_VIOLATION, args={"answer": "The result is 418."}, observation=verdict.text, ok=False)
    assert finish("The result is 418.", *computed(408), again) == Amend("The result is 418. (calculator: 408)")


def test_a_value_that_is_missing_is_appended() -> None:
    assert finish("There are enough eggs.", *computed(408)) == Amend("There are enough eggs. (calculator: 408)")


def test_a_step_of_the_calculation_is_no_other_value() -> None:
    assert finish("17 * 24: 340 first.", *computed(340, 408)) == Amend("17 * 24: 340 first. (calculator: 408)")


def test_a_value_in_two_units_is_not_another_one() -> None:
    assert other_value("From 9:40 to 11:15, how long?", "It takes 1 hour and 35 minutes.", [95]) is None
    assert other_value("From 9:40 to 11:15, how long?", "It takes 1 hour and 45 minutes.", [95]) is not None


def test_without_a_value_there_is_no_other_one() -> None:
    assert other_value("How many?", "About 12.", []) is None
