"""The sets in ``said/``: what a model means to do is done, and what it shows, quotes or refuses is not."""

from collections import Counter
from functools import cache

import pytest

from tests.making.said.play import HALVES, Kind, Played, played

LONG = pytest.mark.torture


@cache
def runs(kind: Kind, half: str) -> list[Played]:
    return list(played(kind, half))


@pytest.mark.parametrize("half", [HALVES[0], *(pytest.param(half, marks=LONG) for half in HALVES[1:])])
def test_nothing_is_done_by_an_answer_that_shows_a_call(half: str) -> None:
    """Not even what only reads, in all but 3 of 100; and the answer stays as it is."""
    verdicts = Counter(run.verdict for run in runs("honest", half))
    assert verdicts["effect"] == 0
    assert verdicts["kept"] >= 0.97 * verdicts.total(), verdicts


@pytest.mark.parametrize(("half", "run", "silent"), [pytest.param("dev", 0.98, 0, marks=LONG), ("held", 0.9, 0.04)])
def test_what_is_meant_in_the_midst_of_words_is_done(half: str, run: float, silent: float) -> None:
    verdicts = Counter(one.verdict for one in runs("meant", half))
    assert verdicts["run"] >= run * verdicts.total(), verdicts
    assert verdicts["silent"] <= silent * verdicts.total(), verdicts
