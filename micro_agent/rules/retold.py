"""A call that was made before, told again in prose: a report of what was done is not an order to do it once more.

Weak models answer with "I used this call: {…} The order is booked." The call in it can be read, and it would run again.
So a call from the text that has run before with the same arguments, and worked, is not run when there are words around
it, or a final answer beside it, unless they say that it is about to be made.
"""

import re
from collections.abc import Mapping
from typing import Any

from micro_agent.rules.same import same
from micro_agent.rules.verdict import BeforeTool, Event, Verdict, Violation
from micro_agent.run import Run

_CALL = re.compile(r"[{\[(].*[}\])]", re.DOTALL)
_MARKUP = re.compile(
    r"<[^<>\n]{1,60}>|```\w*|\b(?:Action(?: Input)?|Thought|Observation|Tool(?: call)?|Final Answer)\s?:", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_WILL = (
    r"\b(?:I['’]ll|I will|I['’]m going to|I am going to|let me|let['’]s|I need to|I have to|I must|we need to)"
    r"(?: (?:now|first|then|quickly|also|just|go ahead and|start by))*"
)
_ABOUT_TO = re.compile(rf"{_WILL}|\bagain\b|\bonce more\b|\bnext\b|\bnow I\b", re.IGNORECASE)
_FINAL = re.compile(r'"final(?:_answer)?"\s{0,9}:\s{0,9}["{\[]')
_FEW = 3
"""So many words around a call say something; the name of the tool may be one."""


def check(run: Run, event: Event) -> Verdict | None:
    """Refuse to repeat a call that the model only tells of.

    Args:
        run: The run so far; the last of its calls is the reply that the tool call was read in.
        event: Anything but `BeforeTool` gives ``None``.
    """
    if not isinstance(event, BeforeTool) or not _done(run, event):
        return None
    reply: Mapping[str, Any] = run.calls[-1].reply if run.calls else {}
    text = reply.get("text") or ""
    around = _MARKUP.sub(" ", _CALL.sub(" ", text, count=1))
    says_more = len(_WORD.findall(around)) >= _FEW or _FINAL.search(text)
    if reply.get("tool_calls") or not says_more or _ABOUT_TO.search(around):
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
