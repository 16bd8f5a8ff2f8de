"""A call that was made before, told again in prose: a report of what was done is not an order to do it once more.

Weak models answer with "I used this call: {…} The order is booked." The call in it can be read, and it would run again.
So a call that has run before with the same arguments, and worked, is not run when other text stands around it.
"""

from micro_agent.rules.same import same
from micro_agent.rules.verdict import BeforeTool, Event, Verdict, Violation
from micro_agent.run import Run


def check(run: Run, event: Event) -> Verdict | None:
    """Refuse to repeat a call that the model only tells of.

    Args:
        run: The run so far; the last of its calls is the reply that the tool call was read in.
        event: Anything but `BeforeTool` gives ``None``.
    """
    if not isinstance(event, BeforeTool) or not run.calls or not _done(run, event):
        return None
    made = (run.calls[-1].decision or {}).get("tool_calls", ())
    if not any(one.get("standing") == "embedded" for one in made):
        return None
    return Violation(
        f"{event.tool} was called with these arguments before, and its result is above. If you report that, answer in "
        "words and without the call. To call it again, reply with the call and nothing else."
    )


def _done(run: Run, event: BeforeTool) -> bool:
    """Whether the same call has worked before this reply."""
    this = len(run.calls) - 1
    earlier = (step for step in run.steps if step.is_tool and step.ok and step.tool == event.tool and step.call != this)
    return any(same(step.args, event.args) for step in earlier)
