"""Who gives the word on a call that wants one: a mode, or a function of the caller's."""

import logging
from collections.abc import Callable
from typing import Any, Literal, cast

from micro_agent.effects import Approval, Question
from micro_agent.errors import StorageError
from micro_agent.run.questions import verified
from micro_agent.storage.journal import Journal
from micro_agent.tools.callbacks import described, ends_the_program

Confirmer = Callable[[Question], Approval]
Confirmation = Literal["pause", "never", "all"] | Confirmer

_log = logging.getLogger("micro_agent")


def word_on(
    question: dict[str, Any], given: Approval | None, confirm: Confirmation, journal: Journal | None
) -> Approval:
    """The word on a call: one that stands in the journal already, one that was ``given``, or the one of `word_of`."""

    def standing() -> Approval | None:
        found = journal.decision(question) if journal is not None else None
        return found and Approval(found.decision, found.feedback)

    if journal is not None:
        journal.asked(question)
    answer = standing() or given or word_of(confirm, Question(**verified(question), elsewhere=standing))
    if journal is not None and answer.word in ("approve", "reject"):
        settled = journal.settle(question, answer.word, answer.feedback)
        journal.decided(settled.decision, settled.feedback)
        return Approval(settled.decision, settled.feedback)
    return answer


def word_of(confirm: Confirmation, question: Question) -> Approval:
    """The word on a call. A function that fails has not approved: the call is not made, and the model is told why."""
    if not callable(confirm):
        return Approval("approve" if confirm == "all" else confirm)
    try:
        answer = cast("object", confirm(question))
    except StorageError:  # of `Question.elsewhere`: what others decide cannot be read
        raise
    except BaseException as error:
        if ends_the_program(error):
            raise
        why = described(error)
    else:
        if isinstance(answer, Approval):
            return answer
        why = f"it returned {type(answer).__name__}, not an Approval"
    _log.warning("the function that confirms calls failed (%s); %s was not run", why, question.tool)
    return Approval("never", f"Asking for confirmation failed: {why}")
