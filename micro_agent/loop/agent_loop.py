"""The loop: a generator of three effects over a `Run`. Everything pure is in here; nothing is read or written.

A driver performs each effect and sends back the answer. All that the loop knows stands in the run, so it goes on from
any run that was folded from a journal, and a replay that answers from a record takes the very same path.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from micro_agent.decoding import ToolCall
from micro_agent.effects import Act, Answer, Approval, Effect, Failure, Plan, Trimmed, refusal
from micro_agent.loop import sampling
from micro_agent.loop.asking import ask
from micro_agent.loop.beside import beside
from micro_agent.loop.finishing import Given, asks_if_final, finish, given_in, not_submitted
from micro_agent.loop.making import as_meant, asks_to_make
from micro_agent.loop.preparing import before, confirmation, only_reads
from micro_agent.loop.steps import add_word, answering, edit, has_word, observed, pause
from micro_agent.loop.unsettled import not_run, said_already, unanswered, unsettled
from micro_agent.rules import AfterStep, Amend, BeforeFinish, BeforePlan, Hint, Rule, Stop, Violation, Warn
from micro_agent.rules.asking_again import ASKING, Row, asked, row_with, stuck
from micro_agent.rules.coach import NO_COACH, Coach
from micro_agent.rules.limits import Limits
from micro_agent.rules.verdict import Event, Verdict, marker_of, verdicts_of
from micro_agent.run import CONTEXT_TRIMMED, WARNING, LMCall, Run, Status, Step
from micro_agent.run.sampling import take_replies, under_way
from micro_agent.run.usage import add_step
from micro_agent.tools import Outcome, Ready, Refused, Tool
from micro_agent.tools.outputs import PLAIN, Outputs

_Steps = Generator[Effect, Answer, None]


@dataclass(frozen=True, slots=True)
class AgentLoop:
    """One run, the tools by name, the rules in the order they are asked, and the limits."""

    run: Run
    tools: Mapping[str, Tool]
    rules: Sequence[Rule]
    limits: Limits
    outputs: Outputs = PLAIN
    coach: Coach = NO_COACH
    """Its rules are among ``rules``."""

    def effects(self) -> _Steps:
        """Take the run from where it stands to its end or a pause, in place; each effect wants an answer."""
        run = self.run
        while run.status == "running":
            if (count := sampling.more_wanted(self)) > 0:
                self._planned(None if self.limits.check(run, BeforePlan()) else (yield Plan(run, count=count)))
                continue
            call = unsettled(run, as_meant(run, self.tools, self.outputs))
            asks = asks_to_make(run, self.tools, self.outputs, self.forbids) if call is not None else None
            if call is not None and call.error is not None and (asks is None or sampling.may_sample_again(run)):
                self._against(ASKING[reason := call.error["reason"]], {"reason": reason}, asked(run, call.error))
            elif call is not None and (given := given_in(call, self.outputs)) is not None:
                yield from self._finish(given)
            elif isinstance(verdict := self.limits.check(run, BeforePlan()), Stop):
                self._stop(verdict)
            elif asks is not None:
                if isinstance(failure := (yield from ask(run, asks)), Failure):
                    self._fail(failure)
            elif call is not None:
                yield from self._call(next(unanswered(run)))
            elif not self._told(self._verdict(BeforePlan())):
                self._planned((yield Plan(run)))
        run.gates = self.coach.status(run)

    def _planned(self, answer: Answer | None) -> None:
        """What came of a request; where it was no reply, one that was there before it is in force."""
        if isinstance(answer, LMCall):
            return take_replies(self.run, answer)
        there = under_way(self.run)
        if (step := sampling.taken_as_it_is(self)) is not None:
            self._take(step)
        if isinstance(answer, Trimmed):
            add_word(self.run, CONTEXT_TRIMMED, answer.args, answer.text)
        elif answer is not None and not (there and sampling.goes_on(self, answer)):
            self._fail(answer)
        return None

    def _call(self, call: ToolCall) -> _Steps:
        told = not_submitted(self.outputs, call, native=self.run.mode != "json")
        ready = told or sampling.agreed(self, call)
        if isinstance(ready, Refused):
            return self._refuse(row_with(ready.error), call, ready.observation)
        verdict = self._verdict(before(ready))
        if isinstance(verdict, Stop):
            return self._stop(verdict)
        if isinstance(verdict, Violation):
            return self._refuse(ASKING["call_against_rule"], call, verdict.text)
        if isinstance(verdict, Warn) and not has_word(self.run, WARNING, call.call_id):
            add_word(self.run, WARNING, {}, verdict.text, call_id=call.call_id)
        if (confirm := confirmation(self.run, ready)) is not None:
            answer = yield confirm
            asked_of, self.run.confirmation = self.run.confirmation or confirm.question, None
            if isinstance(answer, Outcome):
                return self._observe(ready, answer)
            if not isinstance(answer, Approval):
                return self._fail(answer)
            if answer.word == "pause":
                return pause(self.run, asked_of)
            if answer.args is not None:
                return edit(self.run, ready, answer.args)
            if answer.word != "approve":
                return self._observe(ready, refusal(answer))
        others = beside(ready, self.run, self.tools, self.limits, self._verdict)
        answer = yield Act(ready, len(self.run.calls) - 1, others)
        if isinstance(answer, Outcome):
            return self._observe(ready, answer)
        if isinstance(answer, Failure) and answer.outcome is not None:
            self._observe(ready, answer.outcome)
        return self._fail(answer)

    def _observe(self, ready: Ready, outcome: Outcome) -> None:
        step = observed(self.run, ready, outcome)
        add_step(self.run.usage, step)
        if step.ok or not sampling.throws_away(self.run, step, harmless=sampling.repeatable(ready)):
            self._take(step)

    def _take(self, step: Step) -> None:
        """Append what the last reply came to, and do what follows from it."""
        self.run.steps.append(step)
        step.state = self.coach.state(self.run)
        if step.is_tool:
            self._told(self._verdict(AfterStep(step, only_reads(self.tools))))
        elif (verdict := stuck(self.run.steps)) is not None:
            self._stop(verdict)

    def forbids(self, ready: Ready) -> bool:
        """Whether a rule refuses a call."""
        return isinstance(self._verdict(before(ready)), Violation)

    def _told(self, verdict: Verdict | None) -> bool:
        """Whether a rule had a word that was not said since the last reply; it is a step now, or the end as well."""
        if not isinstance(verdict, Stop | Hint | Warn | Violation) or said_already(self.run, verdict.text):
            return False
        add_word(self.run, marker_of(verdict), {}, verdict.text, ok=not isinstance(verdict, Stop))
        if isinstance(verdict, Stop):
            self._stop(verdict)
        return True

    def _verdict(self, event: Event) -> Verdict | None:
        return next(iter(verdicts_of(self.rules, self.run, event)), None)

    def _finish(self, given: Given) -> _Steps:
        event = BeforeFinish(given.text, frozenset(self.tools), given.outputs, only_reads(self.tools))
        verdicts = verdicts_of(self.rules, self.run, event)
        verdict = verdicts[0] if verdicts else None
        if isinstance(verdict, Violation):
            told = {**given.told, **({"wants": verdict.wants} if verdict.wants else {})}
            ident, at_once = given.call and given.call.call_id, verdict.at_once
            return self._against(ASKING["answer_against_rule"], told, verdict.text, ident, at_once=at_once)
        if isinstance(verdict, Stop):
            return self._stop(verdict)
        if (asks := asks_if_final(self.run, given, self.tools, self.limits)) is not None:
            said = yield from ask(self.run, asks)
            if isinstance(said, Failure):
                return self._fail(said)
            if said.call is not None:
                return None
        if isinstance(verdict, Warn):
            add_word(self.run, WARNING, {}, verdict.text)
        amended = [verdict.answer for verdict in verdicts if isinstance(verdict, Amend)]
        return finish(self.run, given, self.outputs.text, amended)

    def _refuse(self, row: Row, call: ToolCall, observation: Any) -> None:
        self._against(row, {"tool": call.name, "args": call.args}, observation, call.call_id)

    def _against(
        self, row: Row, args: dict[str, Any], observation: Any, call_id: str | None = None, *, at_once: bool = False
    ) -> None:
        """Record what came to nothing, and end the run when the model has had its chances."""
        assert row.marker is not None, "the table says what to ask"
        step = answering(self.run, row.marker, args, observation, call_id, row.code)
        if at_once or not sampling.throws_away(self.run, step):
            self._take(step)

    def _stop(self, verdict: Stop) -> None:
        self._end("stopped", verdict.reason, {"code": verdict.reason, "message": verdict.text})

    def _fail(self, answer: Answer) -> None:
        assert isinstance(answer, Failure), f"a driver answered with {answer!r}"
        self._end(answer.status, answer.reason, answer.error)

    def _end(self, status: Status, reason: str, error: dict[str, Any]) -> None:
        """End without an answer. Every call that was asked for and not made gets its ``NOT_RUN`` step."""
        self.run.steps += not_run(self.run, reason)
        self.run.status, self.run.termination_reason, self.run.error = status, reason, error
