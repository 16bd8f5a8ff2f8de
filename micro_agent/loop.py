"""The loop: a generator of three effects over a `Run`. Everything pure is in here; nothing is read or written.

A driver performs each effect and sends back the answer. All that the loop knows stands in the run, so it goes on from
any run that was folded from a journal, and a replay that answers from a record takes the very same path.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

from micro_agent.decoding import ToolCall
from micro_agent.effects import Act, Answer, Approval, Confirm, Effect, Failure, Plan, question_of, refusal
from micro_agent.rules import AfterStep, Amend, BeforeFinish, BeforePlan, BeforeTool, Rule, Stop, Violation, Warn
from micro_agent.rules.limits import Limits
from micro_agent.rules.verdict import Event, Verdict
from micro_agent.run import (
    CONFIRMATION_REQUIRED,
    MALFORMED_DECISION,
    NO_ACTION,
    POLICY_VIOLATION,
    REPETITION,
    VALIDATION_ERROR,
    WARNING,
    LMCall,
    Run,
    Status,
    Step,
)
from micro_agent.tools import Outcome, Ready, Refused, Tool, prepare
from micro_agent.unsettled import unanswered, unsettled
from micro_agent.usage import add_call, add_tool

IN_A_ROW = 3
"""So many replies, all against a rule or all unreadable or bad calls, with no tool step between end the run."""

_FORBIDDEN = frozenset({POLICY_VIOLATION})
_BAD = frozenset({VALIDATION_ERROR, MALFORMED_DECISION, NO_ACTION})
_BAD_CALL = {"unknown_tool": "UNKNOWN_TOOL", "bad_arguments": "VALIDATION_FAILED"}
"""The codes of a call in text that is a bad one, as it would have on the wire."""
_WEIGHT = (Stop, Violation, Warn, Amend)
_Steps = Generator[Effect, Answer, None]


@dataclass(frozen=True, slots=True)
class AgentLoop:
    """One run, the tools by name, the rules in the order they are asked, and the limits."""

    run: Run
    tools: Mapping[str, Tool]
    rules: Sequence[Rule]
    limits: Limits

    def effects(self) -> _Steps:
        """Take the run from where it stands to its end or a pause, in place; each effect wants an answer."""
        run = self.run
        while run.status == "running":
            call = unsettled(run)
            if call is not None and call.error is not None:
                self._unreadable(call.error)
            elif call is not None and call.decision is not None and "final" in call.decision:
                self._finish(call.decision["final"])
            elif isinstance(verdict := self.limits.check(run, BeforePlan()), Stop):
                self._stop(verdict)
            elif call is not None:
                yield from self._call(next(unanswered(run)))
            else:
                answer = yield Plan(run)
                if isinstance(answer, LMCall):
                    run.calls.append(answer)
                    add_call(run.usage, answer)
                else:
                    self._fail(answer)

    def _call(self, call: ToolCall) -> _Steps:
        ready = prepare(self.tools, call)
        if isinstance(ready, Refused):
            return self._refuse(VALIDATION_ERROR, call, ready.observation, ready.error)
        verdict = self._verdict(BeforeTool(ready.tool.name, ready.args))
        if isinstance(verdict, Stop):
            return self._stop(verdict)
        if isinstance(verdict, Violation):
            return self._refuse(POLICY_VIOLATION, call, verdict.text, "POLICY")
        if isinstance(verdict, Warn) and not self._has(WARNING, call.call_id):
            self._step(WARNING, {}, verdict.text, call_id=call.call_id)
        if (why := self._why_confirm(ready)) is not None:
            question = question_of(self.run, ready, why)
            answer = yield Confirm(question)
            self.run.confirmation = None
            if not isinstance(answer, Approval):
                return self._fail(answer)
            if answer.word == "pause":
                return self._pause(question)
            if answer.word != "approve":
                return self._observe(ready, refusal(answer))
        answer = yield Act(ready, len(self.run.calls) - 1)
        if isinstance(answer, Outcome):
            return self._observe(ready, answer)
        if isinstance(answer, Failure) and answer.outcome is not None:
            self._observe(ready, answer.outcome)
        return self._fail(answer)

    def _observe(self, ready: Ready, outcome: Outcome) -> None:
        step = self._step(ready.tool.name, ready.args, outcome.observation, call_id=ready.call_id, error=outcome.error)
        step.ok, step.latency_s, step.coercions = outcome.ok, outcome.latency_s, list(ready.coercions)
        add_tool(self.run.usage, step)
        verdict = self._verdict(AfterStep(step))
        if isinstance(verdict, Stop):
            self._step(REPETITION if verdict.reason == "repetition" else POLICY_VIOLATION, {}, verdict.text)
            self._stop(verdict)
        elif isinstance(verdict, Warn | Violation):
            self._step(WARNING, {}, verdict.text)

    def _verdict(self, event: Event) -> Verdict | None:
        return next(iter(self._verdicts(event)), None)

    def _verdicts(self, event: Event) -> list[Verdict]:
        """What the rules say, each asked once: what stops first, then what forbids, warns, amends."""
        verdicts = [verdict for rule in self.rules if (verdict := rule(self.run, event)) is not None]
        return sorted(verdicts, key=lambda verdict: _WEIGHT.index(type(verdict)))

    def _finish(self, answer: str) -> None:
        verdicts = self._verdicts(BeforeFinish(answer, frozenset(self.tools)))
        verdict = verdicts[0] if verdicts else None
        if isinstance(verdict, Violation):
            self._step(POLICY_VIOLATION, {"answer": answer}, verdict.text, error="POLICY", settles=True)
            return self._stop_when_stuck()
        if isinstance(verdict, Stop):
            return self._stop(verdict)
        if isinstance(verdict, Warn):
            self._step(WARNING, {}, verdict.text)
        amended = [verdict.answer for verdict in verdicts if isinstance(verdict, Amend)]
        self.run.answer, self.run.model_answer = [answer, *amended][-1], answer
        self.run.status, self.run.termination_reason = "completed", "final"
        return None

    def _unreadable(self, error: Mapping[str, Any]) -> None:
        reason, said = error["reason"], f"{error['seen']} {error['expected']}".strip()
        marker = VALIDATION_ERROR if reason in _BAD_CALL else NO_ACTION if reason == "empty" else MALFORMED_DECISION
        self._step(marker, {"reason": reason}, said, error=_BAD_CALL.get(reason, reason.upper()), settles=True)
        self._stop_when_stuck()

    def _refuse(self, marker: str, call: ToolCall, observation: Any, error: str) -> None:
        self._step(marker, {"tool": call.name, "args": call.args}, observation, call_id=call.call_id, error=error)
        self._stop_when_stuck()

    def _stop_when_stuck(self) -> None:
        """Replies are counted, not steps: three bad calls made at once left no chance to correct any."""
        steps = [step for step in self.run.steps if step.is_tool or step.tool in _FORBIDDEN | _BAD]
        replies = [{step.tool for step in group} for _, group in groupby(steps, key=attrgetter("call"))][-IN_A_ROW:]
        for kinds, reason in ((_FORBIDDEN, "policy"), (_BAD, "malformed")):
            if len(replies) == IN_A_ROW and kinds.issuperset(chain(*replies)):
                self._stop(Stop(reason, f"{IN_A_ROW} decisions in a row; the last: {steps[-1].observation}"))

    def _why_confirm(self, ready: Ready) -> str | None:
        name, args = ready.tool.name, ready.args
        if any(step.error == "INTERRUPTED" and step.tool == name and step.args == args for step in self.run.steps):
            return "The same call was interrupted before; it may have happened already."
        return "This tool asks for confirmation." if ready.tool.needs_confirmation(args) else None

    def _pause(self, question: dict[str, Any]) -> None:
        ident, asked = question["call_id"], {"tool": question["tool"], "args": question["args"]}
        if not self._has(CONFIRMATION_REQUIRED, ident):
            self._step(CONFIRMATION_REQUIRED, asked, question["reason"], call_id=ident)
        self.run.status, self.run.termination_reason = "confirmation_required", "confirmation_required"
        self.run.confirmation = question

    def _has(self, marker: str, call_id: str | None) -> bool:
        return any(step.tool == marker and step.call_id == call_id for step in self.run.steps)

    def _step(
        self, tool: str, args: dict[str, Any], observation: Any, *, call_id: str | None = None,
        error: str | None = None, settles: bool = False,
    ) -> Step:  # fmt: skip
        """Append a step; it belongs to the last reply if it answers one of its calls or ``settles`` it whole."""
        call = len(self.run.calls) - 1 if call_id is not None or settles else None
        ok = error is None and tool not in _FORBIDDEN | _BAD
        self.run.steps.append(
            Step(tool=tool, args=args, observation=observation, call=call, call_id=call_id, ok=ok, error=error)
        )
        return self.run.steps[-1]

    def _stop(self, verdict: Stop) -> None:
        self._end("stopped", verdict.reason, {"code": verdict.reason, "message": verdict.text})

    def _fail(self, answer: Answer) -> None:
        assert isinstance(answer, Failure), f"a driver answered with {answer!r}"
        self._end(answer.status, answer.reason, answer.error)

    def _end(self, status: Status, reason: str, error: dict[str, Any]) -> None:
        """End without an answer. Every call that was asked for and not made gets its ``NOT_RUN`` step."""
        for call in list(unanswered(self.run)):
            observation = {"error": "NOT_RUN", "message": f"The run ended ({reason}) before this call."}
            self._step(call.name, call.args, observation, call_id=call.call_id, error="NOT_RUN")
        self.run.status, self.run.termination_reason, self.run.error = status, reason, error
