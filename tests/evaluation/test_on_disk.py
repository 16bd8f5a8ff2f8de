"""What is known of a file is kept on the disk, and looks like a set."""

from micro_agent.evaluation.counting import Quantity, Shares
from micro_agent.evaluation.on_disk import KnownTrials


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
    for task, value in (("a", 1.0), ("b", 5.0), ("a", 3.0), ("c", None)):
        seconds.add(task, value)
        hits.add(task, value == 1)
    assert list(hits.per_task()) == [(1, 2), (0, 1), (0, 1)]
    found = seconds.distribution()
    assert (found.n, found.unknown, found.total, found.median, found.max) == (3, 1, None, 3, 5)
