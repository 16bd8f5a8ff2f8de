"""Replies that are thrown away and sampled again, from the same request, before the model is told what is wrong.

A model that is shown its own mistake repeats it more often than one that never sees it. So what it was would fill the
context and mislead; it stands in the record alone, in the reply that took its place.
"""

from collections.abc import Iterator

from micro_agent.run import LMCall, Run
from micro_agent.run.usage import add_call, add_step


def thrown_away(run: Run) -> int:
    """How many replies to the request under way were thrown away so far; 0 where the last reply is in force."""
    last = run.calls[-1] if run.calls else None
    return 0 if last is None or last.fault is None else len(last.samples) + 1


def take_reply(run: Run, reply: LMCall) -> None:
    """Add a reply, in the place of the last one if that was thrown away, and count what it took."""
    if not thrown_away(run):
        run.calls.append(reply)
        return add_call(run.usage, reply)
    replaced = run.calls[-1]
    reply.samples = [*replaced.samples, replaced.model_copy(update={"samples": []})]
    run.calls[-1] = reply
    return count_sample(run, reply)


def count_sample(run: Run, reply: LMCall) -> None:
    """Count a reply that took the place of another one, and what came of that."""
    add_call(run.usage, reply)
    if (fault := reply.samples[-1].fault) is not None:
        add_step(run.usage, fault)


def requests(run: Run) -> Iterator[LMCall]:
    """Every request to the model, those whose replies were thrown away included, in order."""
    for call in run.calls:
        yield from call.samples
        yield call
