"""Whether a reply that came to nothing is thrown away and sampled again, unseen, before the model is told of it."""

from micro_agent.run import Run, Step
from micro_agent.tools import Ready

_TOLD = frozenset({"CUT_OFF", "INTERRUPTED"})
"""Codes of what another sample would come to again: the same limit, the same end of the process."""


def may_sample_again(run: Run) -> bool:
    """Whether the last reply may be thrown away: nothing was done for it, and there were not too many before it."""
    latest = len(run.calls) - 1
    tried = len(run.calls[latest].samples)
    return tried < run.sampling.get("resamples", 0) and not any(step.call == latest for step in run.steps)


def throws_away(run: Run, step: Step, *, harmless: bool = True) -> bool:
    """Throw the last reply away, if it may be; ``step`` is what it came to, and ``harmless`` that it changed nothing.

    Of several calls none is tried again: others may have run beside it.
    """
    several = step.is_tool and len((run.calls[-1].decision or {}).get("tool_calls", ())) > 1
    if not harmless or several or step.error in _TOLD or not may_sample_again(run):
        return False
    run.calls[-1].fault = step
    return True


def repeatable(ready: Ready) -> bool:
    """Whether a call may be made again for another sample: it only reads, and nobody has to be asked."""
    return ready.tool.read_only and ready.tool.requires_confirmation is False


def told_after_all(run: Run) -> Step | None:
    """What the last reply came to, if it was thrown away and no other came: it is in force, and the model is told."""
    fault = run.calls[-1].fault if run.calls else None
    if fault is not None:
        run.calls[-1].fault = None
    return fault
