"""The same call twice in one reply: one of a tool with effects is made once.

Weak models say a call, then say it again. No result of the first was known then, so the second is the same wish.
"""

from micro_agent.rules.same import same
from micro_agent.rules.verdict import BeforeTool, Event, Verdict, Violation
from micro_agent.run import Run


def check(run: Run, event: Event) -> Verdict | None:
    """Refuse a call that was made already for the reply that it stands in.

    Args:
        run: The run so far; the last of its calls is the reply.
        event: Anything but `BeforeTool` of a tool that does not only read gives ``None``.
    """
    if not isinstance(event, BeforeTool) or event.read_only:
        return None
    this = len(run.calls) - 1
    made = (step for step in run.steps if step.is_tool and step.call == this and step.tool == event.tool)
    if not any(same(step.args, event.args) for step in made):
        return None
    return Violation(
        f"{event.tool} stands twice in your reply with these arguments. It was called once, and its result is above. "
        "To call it again, do so in your next reply."
    )
