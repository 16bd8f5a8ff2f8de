"""What is known of a file is kept on the disk, and looks like a set."""

from math import nan

import pytest

from micro_agent.evaluation.counting import Quantity, Shares
from micro_agent.evaluation.on_disk import KnownTrials
from micro_agent.evaluation.statistics import clustered_standard_error, quantile


def test_trials_are_sets_of_whatever_keys_a_file_has():
    known = KnownTrials()
    keys = [("t1", 0), ("a:b", 3), ("\ud800", -1), ("", 10**30)]
    for key in keys:
        known.add(key, failed=key[1] == 3, success=False)
    assert (known.done, len(known.errors), known.solved) == (set(keys), 1, set())
    assert repr(known.errors) == "{('a:b', 3)}"
    assert known.done - known.errors == set(keys) - {("a:b", 3)}
    assert ("t1" in known.done, ("t1", 1) in known.done, ("t1", 0) in known.done) == (False, False, True)


def test_trials_are_counted_by_the_ids_of_their_tasks():
    seconds, hits = Quantity(), Shares()
    for task, value in (("a", 1.0), ("b", 5.0), ("a", 3.0), ("c", None), ("c", nan)):
        seconds.add(task, value)
        hits.add(task, value == 1)
    assert list(hits.per_task()) == [(1, 2), (0, 1), (0, 2)]
    found = seconds.distribution()
    assert (found.n, found.unknown, found.total, found.median, found.max) == (3, 2, None, 3, 5)


def test_many_values_have_the_quantiles_and_the_error_that_a_list_of_them_has():
    values = [(7919 * n) % 1201 / 8 for n in range(1201)]
    seconds = Quantity()
    for number, value in enumerate(values):
        seconds.add(f"t{number % 300}", value)
    found = seconds.distribution()
    assert (found.n, found.median, found.max, found.total) == (1201, 75, 150, sum(values))
    assert found.p90 == quantile(values, 0.9)
    sums = [(sum(values[task::300]), len(values[task::300])) for task in range(300)]
    assert found.sem == pytest.approx(clustered_standard_error(sums))
