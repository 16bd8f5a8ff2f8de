"""Weak models end to end: each class of WEAK-MODELS over a real server, once and sticky."""

from .table import PAGE, all_played, table, with_table


def test_what_can_be_read_is_answered_what_cannot_ends_honestly_and_the_page_shows_it():
    runs = all_played()
    wrong = [
        f"{run.scenario.name}, {run.way.mode}, {'sticky' if run.sticky else 'once'}: {run.verdict}, {run.run.status}, "
        f"{run.run.termination_reason}, {run.run.answer!r}, {run.run.error}"
        for run in runs
        if run.verdict != "right"
    ]
    assert not wrong, "\n".join(wrong)
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page, table(runs)) == page, "write it anew: python -m tests.scenarios.table"
