"""The word on a call that wants one: what is asked, who is asked, and whether it is still so when the call is made.

A question is asked again as another one, with a digest of its own, when it has expired, when what its call would do has
changed, and when the arguments that a person gave instead do not fit the tool.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, cast

from micro_agent.effects import Act, Approval, Confirm, Question, expired, interrupted, refusal
from micro_agent.errors import StorageError
from micro_agent.run import Run, utc_now
from micro_agent.run.questions import about, as_approved, digest_of, expiry, preview_in, still_open, verified
from micro_agent.run.questions import expired as has_expired
from micro_agent.run.times import seconds_between
from micro_agent.running.previews import preview_of, rejection_of
from micro_agent.storage.journal import Journal
from micro_agent.tools import Outcome, Ready, Tool
from micro_agent.tools.arguments import Faults, check
from micro_agent.tools.callbacks import described, ends_the_program

Confirmer = Callable[[Question], Approval]
Confirmation = Literal["pause", "never", "all"] | Confirmer
Key = tuple[int, str | None]
"""The reply and the call in it."""
Noted = dict[Key, dict[str, Any]]
"""The word on each call that waits to be made, as ``Step.approval`` has it."""
_LONGEST = 1000
"""Characters of feedback that are noted."""

_MOST_TIMES = 20
"""So often one call is asked about, or edited; then the run pauses: a function may give other arguments for ever."""
_log = logging.getLogger("micro_agent")


class Approvals:
    """The questions of one session of a run, and the answers to them.

    Attributes:
        given: A decision given beforehand, with the digest of the question that a paused run was left with.
        approved: The question that was approved last, until its call is made.
        noted: The word on each call that was approved, until it is made: ``kind`` and ``id`` of what was shown, the
            ``file`` if it is about one, ``requested_by`` which tool, ``granted``, ``feedback``, ``at`` when it was
            asked for first, and the ``seconds`` until the run went on. What is not known is left out.
    """

    def __init__(self, run: Run, confirm: Confirmation, journal: Journal | None, ttl_s: float) -> None:
        self.given: tuple[str, Approval] | None = None
        self.approved: dict[str, Any] | None = None
        self.noted: Noted = {}
        self._since: str | None = None
        self._confirm: Confirmation = confirm
        self._edits = Counter[tuple[int, str | None]]()
        self._run, self._journal, self._ttl_s = run, journal, ttl_s

    def word(self, effect: Confirm) -> Approval | Outcome:
        """The word on a call, or what stands for one that is not made. While it is asked, the question is the run's.

        An approval with arguments has valid ones, other than those that were asked about.
        """
        call, ready = effect.question["call"], effect.ready
        if self._journal is not None and not ready.tool.read_only and self._journal.began(call, ready.call_id):
            return interrupted()
        question, fault = still_open(self._run.confirmation, effect.question), None
        self._since = self._journal.asked_at if self._journal is not None and question is not None else None
        answer, stands = self._standing(question), False
        for _ in range(_MOST_TIMES):
            if question is None or answer is None:
                made = self._question(effect, question, fault)
                if isinstance(made, Outcome):
                    return made
                question = self._run.confirmation = made
                answer = self._asked(question)
            answer, fault = _edited(ready.tool, question, answer)
            late = answer.word == "approve" and answer.args is None and has_expired(question)
            if fault is not None or late:
                answer = None
            elif not stands and self._edited_too_often(question, answer):
                break
            elif stands or (theirs := self._settled(question, answer)) is None:
                return self._taken(ready, question, answer)
            else:
                answer, stands = theirs, True
        return Approval("pause")

    def changed(self, effect: Act) -> Outcome | None:
        """What stands for a call that would not do any more what was approved; ``None`` for one that may be made.

        Raises:
            QuestionChanged: It is not the call that was approved.
        """
        approved, self.approved = self.approved, None
        if approved is None:
            return None
        as_approved(approved, effect.call, effect.ready)
        shown = preview_of(effect.ready)
        if not isinstance(shown, Outcome) and _same(shown, approved.get("shown")):
            return None
        why = f"{shown.error}: {shown.observation.get('message')}" if isinstance(shown, Outcome) else None
        return replace(expired(why), approval=self.noted.pop((effect.call, effect.ready.call_id), None))

    def _standing(self, question: dict[str, Any] | None) -> Approval | None:
        """The decision about a question that there is already: on record, or given beforehand."""
        if question is None:
            return None
        answer, given = self._elsewhere(question), self.given
        if answer is None and given is not None and given[0] == question["sha256"]:
            answer, self.given = given[1], None
        return answer

    def _elsewhere(self, question: dict[str, Any]) -> Approval | None:
        found = self._journal.decision(question) if self._journal is not None else None
        return found and Approval(found.decision, found.feedback, found.args)

    def _question(self, effect: Confirm, before: dict[str, Any] | None, fault: str | None) -> dict[str, Any] | Outcome:
        """What is asked: the question ``before`` if nothing has changed, else a new one."""
        shown = preview_of(effect.ready)
        if isinstance(shown, Outcome):
            return shown
        if before is not None and fault is None and not has_expired(before) and _same(shown, before.get("shown")):
            return before
        looked_up: dict[str, Any] = {} if shown is None else {"shown": shown}
        looked_up["expires"] = expiry(self._ttl_s, None if before is None else before.get("expires"))
        known = {name: value for name, value in effect.question.items() if name != "sha256"}
        made = {**known, **looked_up, **({} if fault is None else {"fault": fault})}
        return {**made, "sha256": digest_of(made)}

    def _asked(self, question: dict[str, Any]) -> Approval:
        """The answer to a question, of whoever is asked here or has decided elsewhere."""

        def elsewhere() -> Approval | None:
            return self._elsewhere(question)

        self._since = self._since or utc_now()
        if self._journal is not None:
            self._journal.asked(question)
        return elsewhere() or word_of(self._confirm, Question(**verified(question), elsewhere=elsewhere))

    def _edited_too_often(self, question: dict[str, Any], answer: Approval) -> bool:
        call = question["call"], question["call_id"]
        self._edits[call] += answer.args is not None
        return self._edits[call] > _MOST_TIMES

    def _settled(self, question: dict[str, Any], answer: Approval) -> Approval | None:
        """Put an answer on record, where there is one; gives the decision of somebody who was first."""
        if self._journal is None or answer.word not in ("approve", "reject"):
            return None
        settled = self._journal.settle(question, answer.word, answer.feedback, answer.args)
        theirs = Approval(settled.decision, settled.feedback, settled.args)
        return None if theirs == answer else theirs

    def _taken(self, ready: Ready, question: dict[str, Any], answer: Approval) -> Approval | Outcome:
        if answer.word == "never":
            return replace(refusal(answer, question.get("shown")), approval=self._note(question, answer))
        if answer.word == "pause":
            return answer
        if self._journal is not None:
            self._journal.decided(answer.word, answer.feedback, answer.args)
        if answer.word == "reject":
            return replace(rejection_of(ready, answer), approval=self._note(question, answer))
        self.approved = question if answer.args is None else None
        if answer.args is None:
            self.noted[question["call"], question["call_id"]] = self._note(question, answer)
        return answer

    def _note(self, question: Mapping[str, Any], answer: Approval) -> dict[str, Any]:
        kind, ident = about(question)
        now = utc_now()
        note: dict[str, Any] = {
            "kind": kind, "id": ident, "file": _only_file(preview_in(question).get("files")),
            "requested_by": question["tool"], "granted": answer.word == "approve",
            "feedback": answer.feedback and answer.feedback[:_LONGEST], "at": self._since,
            "seconds": seconds_between(self._since, now),
        }  # fmt: skip
        return {name: value for name, value in note.items() if value is not None}


def _edited(tool: Tool, question: Mapping[str, Any], answer: Approval) -> tuple[Approval, str | None]:
    """An answer with the arguments as the tool takes them, none if they are those asked about; or what is wrong."""
    if answer.args is None or answer.word != "approve":
        return replace(answer, args=None), None
    checked = check(tool, answer.args)
    if isinstance(checked, Faults):
        return answer, checked.message
    return replace(answer, args=None if _same(checked.args, question["args"]) else checked.args), None


def _only_file(files: object) -> str | None:
    named = cast("list[object]", files) if isinstance(files, list) else []
    return named[0] if len(named) == 1 and isinstance(named[0], str) else None


def _same(one: object, other: object) -> bool:
    """Whether two values are written down the same."""
    return digest_of({"value": one}) == digest_of({"value": other})


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
