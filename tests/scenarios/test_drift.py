"""A model that drifts from form to form over a conversation: 90 runs, of which nearly all end as they should."""

import pytest

from .drift import drifted, rows

_TOLD = "the answer names a call that was made and its arguments: it is read as the call told again, and refused"
KNOWN = {11: _TOLD, 66: _TOLD}
"""Rows that do not end as expected, each with the reason; at most two."""


@pytest.mark.parametrize("number", [row.id for row in rows()])
def test_a_drifting_model_is_followed_or_ends_honestly(number: int):
    played = drifted(number)
    assert played.verdict == ("not as expected" if number in KNOWN else "right"), played.shown


@pytest.mark.parametrize("is_dev", [True, False], ids=["dev", "held"])
def test_nearly_all_end_as_expected_and_none_is_silently_wrong(is_dev: bool):
    verdicts = [drifted(row.id).verdict for row in rows() if row.is_dev == is_dev]
    assert len(verdicts) == 45
    assert verdicts.count("right") >= 44
    assert "silently wrong" not in verdicts
