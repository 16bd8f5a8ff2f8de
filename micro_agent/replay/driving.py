"""The driver that answers the loop's effects from a record, and compares what comes of it."""

from typing import Any

from micro_agent.effects import Act, Answer, Approval, Asked, Confirm, Effect, Failure, Plan, Trimmed
from micro_agent.loop.agent_loop import AgentLoop
from micro_agent.replay.beginning import replies_behind, with_beginning
from micro_agent.replay.comparing import compare_ends, compare_reading, compare_step, diverged, ended
from micro_agent.replay.divergence import Diverged, Divergence, differ, step_text, text_of
from micro_agent.replay.parts import Parts
from micro_agent.replay.planning import NoReply, RecordedPlanner
from micro_agent.replay.requests import request_divergence, said
from micro_agent.replay.samples import compare_choice, fault_on_record, missed, recorded_replies
from micro_agent.rules.limits import Limits
from micro_agent.rules.same import same
from micro_agent.run import CONFIRMATION_REQUIRED, CONTEXT_TRIMMED, EDITED, LMCall, Run, Step, Usage
from micro_agent.run.sampling import under_way
from micro_agent.tools import Outcome, Ready, execute

_FROM_OUTSIDE = frozenset({"cancelled", "lm_error", "context_overflow", "storage_error"})
"""Termination reasons that a driver gives: the loop alone cannot come to them."""
_PAUSED = "confirmation_required"
_WORDS = ("APPROVAL_REJECTED", "APPROVAL_REQUIRED")
_MASKED = ("[env:", "[secret:")


class _RecordEnds(Exception):
    """All that is on record has been replayed, and the record does not say what came then."""


class Replay:
    """One recorded run on its way through today's loop."""

    def __init__(self, record: Run, parts: Parts, limits: Limits, *, live_tools: bool = False) -> None:
        self.notes: list[str] = []
        self._record, self._parts, self._live_tools = record, parts, live_tools
        self._run = _begun(record)
        coach = parts.coach_of(record)
        rules = [*parts.rules, *coach.rules]
        self._loop = AgentLoop(self._run, parts.tools, rules, limits, parts.outputs_of(record), coach)
        self._planner = RecordedPlanner(parts, self._run)
        self._first: Divergence | None = None
        self._compares_requests = True
        self._keeps_to_cuts = False
        self._broken_off = False
        self._seen = len(self._run.steps)
        """So many steps are compared, or taken as given."""

    def diverges(self) -> tuple[Divergence | None, Divergence | None]:
        """The first divergence; behind one that leaves the rest of the record usable, also the next."""
        try:
            self._drive()
            self._end()
        except _RecordEnds:
            pass
        except Diverged as found:
            return (found.divergence, None) if self._first is None else (self._first, found.divergence)
        return self._first, None

    def _drive(self) -> None:
        effects, answer = self._loop.effects(), None
        while True:
            try:
                effect: Effect = effects.send(answer)  # pyright: ignore[reportArgumentType]
            except StopIteration:
                self._compare_steps()
                if not self._was_resumed():
                    return
                run, self._broken_off = self._run, False
                run.status, run.termination_reason, run.error = "running", None, None
                effects, answer = self._loop.effects(), None
                continue
            self._compare_steps()
            answer = self._answer(effect)

    def _answer(self, effect: Effect) -> Answer:
        if isinstance(effect, Plan) and effect.asks is None:
            return self._planned(effect.count)
        compare_choice(self._record, self._run)
        step = self._next()
        if step is None and self._cut_short:
            raise _RecordEnds
        if isinstance(effect, Plan):
            return self._asked(effect, step)
        return self._approval(effect, step) if isinstance(effect, Confirm) else self._observed(effect, step)

    def _asked(self, effect: Plan, step: Step | None) -> Asked | Failure:
        asks = effect.asks
        assert asks is not None, "it is a question"
        if step is None or step.tool != asks.marker:
            if (step is None and self._from_outside) or (step is not None and _never_ran(step, "NOT_RUN")):
                return self._failure()
            raise self._other_step(step, f"the model is asked {asks.about}")
        told, usage = step.args, step.usage or Usage()
        if "not_asked" in told:
            return Failure("lm_error", {"message": told["not_asked"]})
        return Asked(told.get(asks.key), str(told.get("reply", "")), usage, step.latency_s)

    def _planned(self, count: int) -> Answer:
        number, there = recorded_replies(self._record, self._run)
        recorded, step = next(iter(there), None), self._next()
        if recorded is None and missed(self._record, self._run):
            return Failure("lm_error", {})
        if recorded is None and under_way(self._run) and (fault := self._run.calls[-1].fault) is not None:
            raise self._other_step(step, step_text(fault))
        if recorded is None and step is None and self._cut_short:
            raise _RecordEnds
        if step is not None and _precedes(step, number, recorded):
            raise self._other_step(step, "no step: the model is asked next")
        trimmed = step if step is not None and step.tool == CONTEXT_TRIMMED else None
        if trimmed is not None and (trimmed.args.get("refused") or self._keeps_to_cuts):
            return Trimmed(trimmed.args, trimmed.observation)  # what the server refused is not on record
        try:
            answer = self._planner.answered(self._run, recorded)
            if self._cuts_otherwise(answer, trimmed):
                return self._planned(count)
        except NoReply:
            if self._cuts_otherwise(None, trimmed):
                return self._planned(count)
            if self._from_outside:
                return self._failure()
            asked = f"the model is asked again: {said(self._planner.sent.messages[-1])}"
            raise diverged("status", f"request {number + 1}", ended(self._record), asked) from None
        if isinstance(answer, Failure) and recorded is not None:
            raise diverged("status", f"request {number + 1}", "it was sent", f"not sent: {answer.error.get('message')}")
        if isinstance(answer, Failure) and answer.reason == self._record.termination_reason:
            return self._failure()  # the same end, whatever words a person is told it in
        if isinstance(answer, LMCall) and recorded is not None:
            self._compare_reply(answer, recorded, step)
            self._compare_fault()
            for other in there[1:count]:
                today = self._planner.answered(self._run, other)
                assert isinstance(today, LMCall), "the request is the same"
                answer.samples.append(today)
                self.notes += compare_reading(number + 1, other, today)
        return answer

    def _compare_fault(self) -> None:
        """What the last reply came to, for which it was thrown away."""
        if under_way(self._run) and (fault := self._run.calls[-1].fault) is not None:
            self.notes += compare_step(self._seen + 1, fault_on_record(self._record, self._run), fault)

    def _cuts_otherwise(self, today: Answer | None, recorded: Step | None) -> bool:
        """Whether something else is cut before this request than on record; from here on, what is cut there is cut."""
        cut = today.args if isinstance(today, Trimmed) else None
        if isinstance(today, Failure) or cut == (None if recorded is None else recorded.args):
            return False
        where, nothing = f"request {len(self._run.calls) + 1}: what is cut to fit the context", "nothing"
        was, now = nothing if recorded is None else recorded.args, nothing if cut is None else cut
        self._first = self._first or differ("request", where, was, now)
        self._compares_requests, self._keeps_to_cuts = False, True
        self._planner.keep_to_the_cuts_on_record()
        return True

    def _compare_reply(self, today: LMCall, recorded: LMCall, step: Step | None) -> None:
        """``step`` is the next one on record."""
        other = self._compares_requests and today.request["sha256"] != recorded.request.get("sha256")
        if step is not None and other and step.call is None:
            raise self._other_step(step, "no step: the model is asked next")
        if other:
            self._compare_request(today, recorded)
        self.notes += compare_reading(recorded_replies(self._record, self._run)[0] + 1, recorded, today)

    def _approval(self, effect: Confirm, step: Step | None) -> Answer:
        if not effect.needed():
            return Approval("approve")
        question = effect.question
        if step is None and self._record.status == _PAUSED:
            return Approval("pause")
        mine = step is not None and step.call_id == question["call_id"]
        if step is None or not mine or not (step.is_tool or step.tool in (CONFIRMATION_REQUIRED, EDITED)):
            raise self._other_step(step, f"confirmation is asked for {question['tool']} {text_of(question['args'])}")
        if step.tool == CONFIRMATION_REQUIRED:
            return Approval("pause")
        if step.tool == EDITED:
            return Approval("approve", args=step.args.get("args"))
        if _never_ran(step, *_WORDS):
            return _came_of(step)
        return self._failure() if _never_ran(step, "NOT_RUN") else Approval("approve")

    def _observed(self, effect: Act, step: Step | None) -> Answer:
        ready = effect.ready
        step = fault_on_record(self._record, self._run) or step
        if step is None or not step.is_tool or step.call_id != ready.call_id or _never_ran(step, *_WORDS):
            raise self._other_step(step, f"{ready.tool.name} {text_of(ready.args)} is run")
        if _never_ran(step, "NOT_RUN"):
            return self._failure()
        outcome = _came_of(step)
        if self._cancelled_in(step):
            return self._failure(outcome)
        if self._live_tools and ready.tool.read_only and step.latency_s is not None:
            self._compare_live(ready, outcome)
        return outcome

    def _cancelled_in(self, step: Step) -> bool:
        """Whether the run was cancelled while this tool ran: nothing but words of the loop and ``NOT_RUN`` follows."""
        if not _never_ran(step, "INTERRUPTED") or self._record.termination_reason != "cancelled":
            return False
        rest = self._record.steps[self._seen + 1 :]
        return all(later.call_id is None or _never_ran(later, "NOT_RUN") for later in rest)

    def _failure(self, outcome: Outcome | None = None) -> Failure:
        """What ended the recorded run from outside; or one session of it, where a kill came before its end."""
        record, self._broken_off = self._record, True
        if not self._from_outside:
            return Failure("cancelled", {}, "stopped", outcome)
        return Failure(record.termination_reason or "", record.error or {}, record.status, outcome)

    def _compare_live(self, ready: Ready, recorded: Outcome) -> None:
        today = execute(ready.tool, ready.args)
        if not same(today.observation, recorded.observation):
            where = f"step {self._seen + 1} ({ready.tool.name}), run for real: observation"
            self._first = self._first or differ("tool", where, recorded.observation, today.observation)

    def _compare_request(self, call: LMCall, recorded: LMCall) -> None:
        self._compares_requests = False
        number = recorded_replies(self._record, self._run)[0] + 1
        if not recorded.request.get("chain"):
            self.notes.append(f"request {number} has no digests on record; requests are not compared from there on")
            return
        calls = [*self._run.calls[: number - 1], call]
        found = request_divergence(self._record, calls, self._run, self._planner, self._parts)
        sent = text_of([said(message) for message in self._planner.sent.messages])
        if any(mark in sent for mark in _MASKED):
            self.notes.append(f"{found.where}: a secret is masked on record; requests are not compared from there on")
            return
        self._first = self._first or found

    def _compare_steps(self) -> None:
        for step in self._run.steps[self._seen :]:
            recorded = self._next()
            if recorded is None and self._cut_short:
                raise _RecordEnds
            self.notes += compare_step(self._seen + 1, recorded, step)
            self._seen += 1

    def _end(self) -> None:
        step = self._next()
        if step is None and self._cut_short:
            return
        if step is not None:
            raise self._other_step(step, ended(self._run))
        compare_choice(self._record, self._run)
        compare_ends(self._record, self._run)

    def _was_resumed(self) -> bool:
        """Whether the loop has paused or broken off here, and the record goes on."""
        more = self._next() is not None or len(self._run.calls) < len(self._record.calls)
        if self._run.status == _PAUSED:
            return more or self._record.status not in (_PAUSED, "running")
        return self._broken_off and more

    @property
    def _cut_short(self) -> bool:
        """Whether the record breaks off where nothing could be written any more."""
        return self._record.status == "running" or self._record.termination_reason == "storage_error"

    @property
    def _from_outside(self) -> bool:
        """Whether it was the driver that ended the recorded run; only it counts retries."""
        return self._record.termination_reason in _FROM_OUTSIDE or "retries" in (self._record.error or {})

    def _next(self) -> Step | None:
        steps = self._record.steps
        return steps[self._seen] if self._seen < len(steps) else None

    def _other_step(self, recorded: Step | None, today: str) -> Diverged:
        expected = step_text(recorded) if recorded is not None else ended(self._record)
        return diverged("step", f"step {self._seen + 1}", expected, today)


def _begun(record: Run) -> Run:
    """The recorded run as it was before its first request; a fork with what it has from its parent."""
    copied = record.forked_at or 0
    live = record.calls[replies_behind(record, copied) :]
    mode = live[0].mode if live else record.mode
    nothing = dict.fromkeys(
        ("answer", "model_answer", "outputs", "finished_by", "termination_reason", "confirmation", "error")
    )
    fresh: dict[str, Any] = {
        "steps": [],
        "calls": [],
        "usage": Usage(recorded_bytes=0),
        "status": "running",
        "mode": mode,
    }
    return with_beginning(record.model_copy(update={**nothing, **fresh}), record, copied)


def _precedes(step: Step, number: int, recorded: LMCall | None) -> bool:
    """Whether a step on record comes before the reply ``number``."""
    if step.tool == CONTEXT_TRIMMED:
        return False
    if recorded is None or step.call is not None:
        return step.call is None or step.call < number
    return "final" not in (recorded.decision or {})  # only a final answer is followed by words of no reply


def _never_ran(step: Step, *errors: str) -> bool:
    """Whether a tool step is one that the loop made; a tool may name its own errors the same."""
    return step.latency_s is None and step.error in errors


def _came_of(step: Step) -> Outcome:
    """What came of a call: the words for one that was refused are those of its time, and of its tool."""
    return Outcome(
        step.observation, ok=step.ok, error=step.error, latency_s=step.latency_s, result=step.result, usage=step.usage
    )
