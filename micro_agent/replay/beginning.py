"""The beginning of a run that another one goes on from."""

from micro_agent.run import Run
from micro_agent.run.sampling import requests
from micro_agent.run.usage import add_call, add_step


def with_beginning(run: Run, source: Run, steps: int) -> Run:
    """``run``, which has nothing yet, with the first ``steps`` of ``source``, their replies, and what both took."""
    run.steps = [step.model_copy(deep=True) for step in source.steps[:steps]]
    run.calls = [call.model_copy(deep=True) for call in source.calls[: replies_behind(source, steps)]]
    for call in requests(run):
        add_call(run.usage, call)
        if call.fault is not None:
            add_step(run.usage, call.fault)
    for step in run.steps:
        add_step(run.usage, step)
    return run


def replies_behind(run: Run, steps: int) -> int:
    """How many replies the first ``steps`` of a run came of."""
    return max((step.call + 1 for step in run.steps[:steps] if step.call is not None), default=0)
