"""What a person asks in a run."""

import re

from micro_agent.run import Run

_QUESTION = "question"
_WORD = re.compile(r"\w+")
_LEAST_WORDS = 2
"""Of a text that was passed on, and of what has to be left of the question for it to be the request."""


def question_in(run: Run) -> str:
    """The input ``question``; nothing where an agent's signature has none: its inputs are then data, not questions."""
    if not run.inputs:  # an older record
        return run.question
    asked = run.inputs.get(_QUESTION)
    return asked if isinstance(asked, str) else ""


def left_to_answer(run: Run, read_only: frozenset[str]) -> str:
    """The question without the texts in it that were passed on to a tool that changes something.

    "Remind me at 10:46 that the report is tomorrow" does not ask for the date, once the reminder is set.
    """
    question = question_in(run)
    for step in run.steps:
        passed_on = step.args.values() if step.is_tool and step.ok and step.tool not in read_only else ()
        for text in passed_on:
            at = question.casefold().find(text.casefold()) if isinstance(text, str) else -1
            if at >= 0 and len(_WORD.findall(text)) >= _LEAST_WORDS:
                rest = f"{question[:at]} {question[at + len(text) :]}"
                question = rest if len(_WORD.findall(rest)) >= _LEAST_WORDS else question
    return question
