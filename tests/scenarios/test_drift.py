"""A model that drifts from form to form over a conversation: 90 runs, of which nearly all end as they should."""

import pytest

from .drift import drifted, rows

_TOLD = "the answer names a call that was made and its arguments: it is read as the call told again, and refused"
KNOWN = {11: _TOLD, 66: _TOLD}
"""Rows that do not end as expected, each with the reason; at most two."""


@pytest.mark.torture
def test_a_drifting_model_is_followed_or_ends_honestly():
    played = {row.id: drifted(row.id) for row in rows()}
    wrong = [
        f"{number}: {run.verdict}, {run.shown}"
        for number, run in played.items()
        if run.verdict != ("not as expected" if number in KNOWN else "right")
    ]
    assert not wrong, "\n".join(wrong)
    for is_dev in (True, False):
        verdicts = [played[row.id].verdict for row in rows() if row.is_dev == is_dev]
        assert len(verdicts) == 45
        assert verdicts.count("right") >= 44
