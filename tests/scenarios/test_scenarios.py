"""Weak models end to end: each class of WEAK-MODELS over a real server, once and sticky."""

import pytest

from .play import SCENARIOS, played
from .scenario import Scenario, Way
from .table import PAGE, all_played, table, with_table

CASES = [
    pytest.param(scenario, way, sticky, id=f"{scenario.name}-{way.mode}-{'sticky' if sticky else 'once'}")
    for scenario in SCENARIOS
    for way in scenario.ways
    for sticky in (False, True)
]


@pytest.mark.parametrize(("scenario", "way", "sticky"), CASES)
def test_what_can_be_read_is_answered_and_what_cannot_ends_honestly(scenario: Scenario, way: Way, sticky: bool):
    run = played(scenario, way, sticky)
    assert run.verdict == "right", (run.run.status, run.run.termination_reason, run.run.answer, run.run.error)


def test_none_is_silently_wrong_and_nearly_all_are_right():
    verdicts = [run.verdict for run in all_played()]
    assert "silently wrong" not in verdicts
    assert verdicts.count("right") >= 0.95 * len(verdicts)


def test_the_page_shows_what_the_scenarios_give():
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page, table(all_played())) == page, "write it anew: python -m tests.scenarios.table"
