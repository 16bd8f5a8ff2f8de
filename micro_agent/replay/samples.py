"""The replies on record that were thrown away, in the order in which a replay comes to them."""

from micro_agent.run import LMCall, Run, Step
from micro_agent.run.sampling import thrown_away


def recorded_reply(record: Run, run: Run) -> tuple[int, LMCall | None]:
    """The reply on record that comes next in ``run``, with its number; ``None``: there is none."""
    tried = thrown_away(run)
    number = len(run.calls) - (tried > 0)
    found = record.calls[number] if number < len(record.calls) else None
    replies = [] if found is None else [*found.samples, found]
    return number, replies[tried] if tried < len(replies) else None


def fault_on_record(record: Run, run: Run) -> Step | None:
    """What the last reply of ``run`` came to, if it was thrown away on record."""
    if not run.calls or len(run.calls) > len(record.calls):
        return None
    samples, tried = record.calls[len(run.calls) - 1].samples, len(run.calls[-1].samples)
    return samples[tried].fault if tried < len(samples) else None
