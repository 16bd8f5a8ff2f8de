"""The question whether what a model said is its final answer: its words, and the step that it becomes."""

from micro_agent.run import FINISH_ASKED, Step
from micro_agent.run.asking import YesOrNo

QUESTION = 'Is that your final answer? Reply {"done": true}, or {"done": false} if you still have to call a tool.'
GO_ON = "Then go on."
"""What the model reads where it said that it is not done."""
DONE = "The answer stands."
"""What came of any other answer: nobody can say that it is not one."""


def whether_final(answer: str, *, announces: bool = False) -> YesOrNo:
    """The question about this answer. Of one that ``announces`` a call only a clear yes makes the final one."""
    return YesOrNo(
        "done", QUESTION, FINISH_ASKED, "whether its answer is final", {"answer": answer},
        {True: DONE, False: GO_ON, None: GO_ON if announces else DONE}, DONE,
        loose=(True,) if announces else (True, None), a_call_says=False,
    )  # fmt: skip


def stands(step: Step) -> bool:
    """Whether a step says that the answer before it stands: the model was asked, and did not say to go on."""
    return step.tool == FINISH_ASKED and step.call is None
