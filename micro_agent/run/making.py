"""The question whether calls inside a text shall be made: its words, the step that it becomes, and what follows."""

import re
from collections.abc import Sequence
from typing import Literal

from micro_agent.run import MAKE_ASKED, Run, Step
from micro_agent.run.asking import YesOrNo

MOST = 2
"""So often it is asked about one reply."""
MADE, MEANT = "It is made.", "It is meant, and cannot be made as it is."
TEXT, NOTHING = "The reply is text; nothing in it is run.", "Nothing of the reply is run."
AGAIN = "That says neither: it is asked once more."
_SHALL = 'Shall {} be made now? Reply {{"make": true}} or {{"make": false}}.'
_ASKED = re.compile(
    r'Your reply holds (?:a call|calls) of .* inside text\. Shall (?:it|they) be made now\? Reply \{"make": true\} .*'
)


def whether_to_make(tools: Sequence[str], *, again: bool = False, read: bool = True) -> YesOrNo:
    """The question about the calls of these tools in the last reply, each named as often as it is called.

    ``read`` tells whether they could be read.
    """
    *others, last = dict.fromkeys(tools)
    named = f"{', '.join(others)} and {last}" if others else last
    holds, shall = ("a call", "it") if len(tools) == 1 else ("calls", "they")
    text = f"Your reply holds {holds} of {named} inside text. {_SHALL.format(shall)}"
    comes_of = {True: MADE if read else MEANT, False: TEXT, None: NOTHING if again else AGAIN}
    return YesOrNo(
        "make", text, MAKE_ASKED, "whether a call inside its text shall be made", {"tools": list(tools)}, comes_of,
        NOTHING, again=again,
    )  # fmt: skip


def asks_to_make(text: object) -> bool:
    """Whether a message is this question, whatever the tools."""
    return isinstance(text, str) and _ASKED.fullmatch(text) is not None


def asked_of_last(run: Run) -> list[Step]:
    """The steps which say what the model was asked about its last reply."""
    return [step for step in run.steps if step.tool == MAKE_ASKED and step.call == len(run.calls) - 1]


def says_text(step: Step) -> bool:
    """Whether a step says that the reply is text, with no call to be made in it."""
    return step.tool == MAKE_ASKED and step.args.get("make") is False


def word_on(run: Run) -> Literal["make", "text", "nothing"] | None:
    """What the last reply is by the model's word on the calls inside its text; ``None`` as long as there is none.

    ``make``: the calls are made; ``text``: it is text, and none of them is; ``nothing``: the model was asked in vain,
    or could not be asked, and nothing of the reply is used.
    """
    asked = asked_of_last(run)
    if not asked:
        return None
    said = asked[-1].args
    if said["make"] is not None:
        return "make" if said["make"] else "text"
    return "nothing" if "not_asked" in said or len(asked) >= MOST else None
