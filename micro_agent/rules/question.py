"""What a person asks in a run."""

from micro_agent.run import Run

_QUESTION = "question"


def question_in(run: Run) -> str:
    """The input ``question``; nothing where an agent's signature has none: its inputs are then data, not questions."""
    if not run.inputs:  # an older record
        return run.question
    asked = run.inputs.get(_QUESTION)
    return asked if isinstance(asked, str) else ""
