"""Weak models end to end: each class of WEAK-MODELS over a real server, once and sticky."""

import pytest

from .play import Played
from .table import PAGE, all_played, on_page, some_played, table, with_table


def wrong(runs: list[Played]) -> str:
    return "\n".join(
        f"{run.scenario.name}, {run.way.mode}, {'sticky' if run.sticky else 'once'}: {run.verdict}, {run.run.status}, "
        f"{run.run.termination_reason}, {run.run.answer!r}, {run.run.error}"
        for run in runs
        if run.verdict != "right"
    )


@pytest.mark.torture
def test_what_can_be_read_is_answered_what_cannot_ends_honestly_and_the_page_shows_it():
    runs = some_played()
    assert wrong(runs) == ""
    page = PAGE.read_text(encoding="utf-8")
    assert [run.scenario.name for run in runs if not on_page(run, page)] == []


@pytest.mark.torture
def test_so_it_is_in_every_way_once_and_sticky():
    runs = all_played()
    assert wrong(runs) == ""
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page, table(runs)) == page, "write it anew: python -m tests.scenarios.table"
