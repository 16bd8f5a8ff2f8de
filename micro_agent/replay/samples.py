"""The replies on record that are not in force, in the order in which a replay comes to them."""

from micro_agent.replay.comparing import diverged
from micro_agent.run import LMCall, Run, Step
from micro_agent.run.sampling import replies, under_way


def recorded_replies(record: Run, run: Run) -> tuple[int, list[LMCall]]:
    """The replies on record from the next one on, to the request of ``run`` under way, and the number of that."""
    there = under_way(run)
    number = len(run.calls) - (there > 0)
    return number, replies(record.calls[number])[there:] if number < len(record.calls) else []


def fault_on_record(record: Run, run: Run) -> Step | None:
    """What the last reply of ``run`` came to, if it was thrown away on record."""
    there = _there(record, run)
    return None if there is None else there.fault


def compare_choice(record: Run, run: Run) -> None:
    """Raises `Diverged` where the last reply of ``run`` is in force and was neither that nor tried on record."""
    there = _there(record, run)
    if there is not None and there.fault is None and there is not (chosen := record.calls[len(run.calls) - 1]):
        raise diverged("decision", f"reply {len(run.calls)}, of several", chosen.chosen, run.calls[-1].chosen)


def missed(record: Run, run: Run) -> bool:
    """Whether no more replies to the request of ``run`` under way came on record, though they were asked for."""
    number = len(run.calls) - 1
    chosen = record.calls[number].chosen if under_way(run) and number < len(record.calls) else None
    return bool(chosen and chosen.get("missed"))


def _there(record: Run, run: Run) -> LMCall | None:
    """The last reply of ``run``, as it is on record."""
    if not run.calls or len(run.calls) > len(record.calls):
        return None
    at = replies(run.calls[-1]).index(run.calls[-1])
    on_record = replies(record.calls[len(run.calls) - 1])
    return on_record[at] if at < len(on_record) else None
