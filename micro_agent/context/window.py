"""What a model is shown of a run and the turns before it: all while it fits, then less, decided before it is sent.

A function of the conversation alone: a session that resumes the run, a replay, and the next turn show the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import ceil
from typing import TYPE_CHECKING, Any

from micro_agent.context.budget import Budget, Calibration, reserve_in
from micro_agent.context.conversation import Conversation
from micro_agent.context.trimming import Cutting, Turns, cutting_of, largest_part, planned_after
from micro_agent.context.views import NEXT_QUESTION, View, chars_for, cut, lines_of, tokens_of, view_of
from micro_agent.effects import Failure, Trimmed
from micro_agent.run import CONFIRMATION_REQUIRED, CONTEXT_TRIMMED, EDITED, MAKE_ASKED, WARNING, Run, Step
from micro_agent.run.images import Image

if TYPE_CHECKING:
    from micro_agent.wires import Page

TURN_TOKENS = 80
"""What a turn takes beside its results."""
LEAST_SHARE = 48
"""Tokens of a result that are shown in any case."""
SCHEMA_PART = 0.4
"""A schema that is more of a request than that would be seen in the server's count, if it was counted."""
REFUSED_PART = 0.75
"""What is left of a request that the server found too long although we thought that it would fit."""
MOST_REFUSALS = 2
"""So often in a row a request that was found too long is trimmed and made again."""
TOLD = "Earlier results were cut here to fit the context. Call a tool again if you need one of them in full."
TOLD_LATER = "Earlier turns were cut here to fit the context. Call a tool again if you need a result of theirs in full."

_NO_RESULTS = (WARNING, CONFIRMATION_REQUIRED, EDITED, MAKE_ASKED, NEXT_QUESTION)


@dataclass
class Window:
    """What one run's model is shown. ``question`` and ``views`` are what its next request is made of."""

    max_tokens: int | None = None
    """The bound of a reply, for a run that has no reserve on record."""
    remedy: str = "give the model a longer context, shorten the question or offer fewer tools"
    """What to do when nothing helps."""
    server: Any = None
    """Where it is noted what the model's server counts (``schema_in_prompt``)."""
    fixed: bool = False
    """Whether nothing more is cut than the run's steps say: a replay keeps to its record."""
    question: str = ""
    views: list[View] = field(default_factory=list[View])
    tokens: int = 0
    """The estimate of the next request."""
    _budget: Budget | None = None
    _learned: Calibration = field(default_factory=Calibration)
    _now: Cutting = field(default_factory=Cutting)
    _taken: tuple[int, int] = (0, 0)
    _head: int = 0
    _trims: int = 0
    _turns: int = 0
    _planned: int = 0
    _refusals: int = 0
    _begun: bool = False
    _talk: Conversation | None = None

    @property
    def room(self) -> int | None:
        """The tokens that the context leaves for the reply; ``None`` while its length is not known."""
        return None if self._budget is None else self._budget.room(self.tokens)

    def bounded(self, changed: Mapping[str, Any], held: Mapping[str, Any]) -> dict[str, Any]:
        """The settings that a request changes, with a reply no longer than the context leaves room for."""
        most, room = changed.get("max_tokens", held.get("max_tokens")), self.room
        return {**changed, "max_tokens": room} if room is not None and most is not None and most > room else {**changed}

    def conversation(self, run: Run) -> Conversation:
        """The turns up to this run, with all that has happened in it."""
        if self._talk is None:
            self._talk = Conversation(run)
        self._talk.take()
        return self._talk

    def fit(self, run: Run, page: "Page") -> Trimmed | Failure | None:
        """Take in what has happened in the run; what has to happen before it goes on, if anything."""
        self._follow(run, page)
        budget = self._budget
        if budget is None or self.fixed or self.tokens <= budget.most:
            return None
        if trimmed := self._trim(run, page, budget):
            return trimmed
        return None if budget.may_fit(self.tokens) else _overflow(budget, self.tokens, page, self.remedy)

    def takes(self, view: View) -> bool:
        """Whether one more turn would fit behind the next request."""
        more = tokens_of(view) + TURN_TOKENS
        return self._budget is None or self._budget.may_fit(self.tokens + more)

    def answered(self) -> None:
        """There is a reply: refusals are counted anew."""
        self._refusals = 0

    def refused(self, run: Run, page: "Page", limit: int | None) -> Trimmed | None:
        """The request was too long for the server, which may have named its ``limit``: what to cut, if that can help.

        Where we thought that it would fit, it is cut to a part of itself: the server counts otherwise than we do.
        """
        self._refusals += 1
        if self._refusals > MOST_REFUSALS:
            return None
        needed = self._learned.needed(self.tokens)
        length = limit or (self._budget.length if self._budget else needed)
        reserve = reserve_in(run, length, self.max_tokens)
        guessed = limit is None or needed <= length - reserve
        if guessed:
            length = int(REFUSED_PART * needed) + reserve
        return self._trim(run, page, Budget(length, reserve, self._learned), refused=True, guessed=guessed)

    def _follow(self, run: Run, page: "Page") -> None:
        if not self._begun:
            self._begin(run, page)
        talk = self.conversation(run)
        self.tokens = page.render(self.question, self.views)
        for first, end in _batches(talk.steps, self._taken[1]):
            self._learn(talk, _replies(talk.steps[first:end]), page)
            if talk.steps[first].tool == CONTEXT_TRIMMED:
                self._apply(talk, first, page)
            else:
                self._show(talk, first, end, page)
            self._taken = self._taken[0], end
            self.tokens = page.render(self.question, self.views)

    def _begin(self, run: Run, page: "Page") -> None:
        talk = self.conversation(run)
        self._begun, self.question, page.images = True, talk.question, talk.images_at(0)
        page.restart()
        self._head, self._learned.schema_tokens = page.measure(self.question, (), page.images), page.schema_tokens
        if run.context_length is not None:
            reserve = reserve_in(run, run.context_length, self.max_tokens)
            self._budget = Budget(run.context_length, reserve, self._learned)
            self._learned.generous = self._head > self._budget.most

    def _learn(self, talk: Conversation, calls: int, page: "Page") -> None:
        """Take in the count of the latest of so many calls, whose request is the one that was rendered last."""
        if calls <= self._taken[0]:
            return
        self._taken, call = (calls, self._taken[1]), talk.calls[calls - 1]
        if call.input_tokens is None or call.mode != page.wire.mode:
            return
        believed = self._learned.take(self.tokens, call.input_tokens, first=not self.views)
        schema = page.schema_tokens
        if believed and self.server is not None and schema > SCHEMA_PART * self.tokens and not self.views:
            self.server.schema_in_prompt = call.input_tokens >= self.tokens - schema

    def _show(self, talk: Conversation, first: int, end: int, page: "Page") -> None:
        views = [talk.view(step, end) for step in range(first, end)]
        results = [view for view in views if view.get("call") is not None and view["tool"] not in _NO_RESULTS]
        share = self._share(results, views, page)
        for index, view in enumerate(views, first):
            chars = None if share is None or view.get("call") is None else chars_for(view, share)
            if chars is not None:
                self._now.chars[index] = chars
            self.views.append(cut(view, chars))
        self._turns += bool(results)

    def _share(self, results: Sequence[View], views: Sequence[View], page: "Page") -> int | None:
        """Tokens for each of a turn's results; ``None``: they are shown whole, in the place of older ones if need be.

        Those that are planned for after a trim share what it has left free. The one for which the next trim is made
        may be longer, but leave room for those that are planned for then.
        """
        if self._budget is None or not results:
            return None
        most = self._budget.most
        bare = [{**view, "observation": ""} if view in results else view for view in views]
        beside = page.measure("", bare) - page.measure("", ())
        if self._turns < self._planned:
            turn = max(0, most - self.tokens) // (self._planned - self._turns)
            return max(LEAST_SHARE, (turn - beside) // len(results))
        room = max(0, most - self._head)
        part = largest_part(self._planned)
        most = int(part * room) if self._planned else room
        fits = sum(map(tokens_of, results)) + beside <= most
        return None if fits else max(LEAST_SHARE, int(part * room) // len(results))

    def _apply(self, talk: Conversation, index: int, page: "Page") -> None:
        """From here on the conversation is shown as its step ``index`` says."""
        args = talk.steps[index].args
        if args.get("refused"):  # what a server taught; any other limit is the one that the run began with
            self._budget = Budget(args["limit"], args["reserve"], self._learned)
        self._now = cutting_of(args)
        self.question, self.views, page.images = _shown(talk, self._now, index, talk.steps[index])
        if not self.views:
            self._now = Cutting(index + 1, self._now.lines)
        self._learned.latest = None
        self._trims, self._turns = self._trims + 1, 0
        self._planned = planned_after(self._trims, talk.left(index, self._taken[0]))
        page.restart()

    def _trim(
        self, run: Run, page: "Page", budget: Budget, *, refused: bool = False, guessed: bool = False
    ) -> Trimmed | None:
        """What to cut so that the next request has room to grow; ``None`` if nothing helps or nothing need be cut."""
        talk = self.conversation(run)
        end, text = len(talk.steps), TOLD_LATER if talk.own else TOLD
        told = Step(tool=CONTEXT_TRIMMED, observation=text)
        anew = replace(budget, learned=self._learned.trimmed())

        @cache
        def measured(start: int, lines: int, chars: tuple[tuple[int, int], ...]) -> int:
            return page.measure(*_shown(talk, Cutting(start, lines, dict(chars)), end, told))

        def size(level: Cutting) -> int:
            return measured(level.start, level.lines, tuple(level.chars.items()))

        head = page.measure(talk.asked, (), talk.images_at(end))
        room = max(0, anew.most - head)
        start = self._now.start
        views = [talk.view(step, end) for step in range(start, end)]
        planned = planned_after(self._trims + 1, talk.left(end, self._taken[0]))
        turns = Turns(views, _turn_starts(talk.steps, start), self._now, room, largest_part(planned))
        found = turns.fitting(size, anew, planned=planned, exact=not guessed)
        if found is None or (size(found) >= self.tokens and not refused):
            return None
        before, after = self._learned.needed(self.tokens), anew.learned.needed(size(found))
        figures = {"limit": budget.length, "reserve": budget.reserve, "tokens_before": before, "tokens_after": after}
        return Trimmed({**found.args(), **figures, **({"refused": True} if refused else {})}, text)


def _overflow(budget: Budget, tokens: int, page: "Page", remedy: str) -> Failure:
    needed, head = (ceil(budget.learned.least(size)) for size in (tokens, page.measure("", ())))
    over = needed + budget.least_reply - budget.length
    message = (
        f"the prompt needs at least {needed} tokens ({head} of them for instructions, tools and demos) and a reply "
        f"{budget.least_reply}: {over} more than the context of {budget.length} has: {remedy}"
    )
    return Failure("context_overflow", {"code": "CONTEXT_OVERFLOW", "message": message, "retries": 0}, "stopped")


def _shown(talk: Conversation, cutting: Cutting, end: int, told: Step) -> tuple[str, list[View], list[Image]]:
    """The question and the views of the steps before ``end`` as ``cutting`` has them, and then the word about it."""
    left_out = lines_of(talk.question, talk.steps[: cutting.start], cutting.lines)
    question = "\n\n".join([talk.question_at(cutting.start), *left_out])
    views = [cut(talk.view(step, end), cutting.chars.get(step)) for step in range(cutting.start, end)]
    for view in [view for view in views if "state" in view][:-1]:
        del view["state"]  # how the run stood then tells nothing any more
    shown: list[View] = [*views, view_of(told, talk.calls)] if views else []
    return question, shown, talk.images_at(cutting.start)


def _batches(steps: Sequence[Step], start: int) -> Iterator[tuple[int, int]]:
    """From where to where the steps go that were new to one request: a turn with its notes, or a trim."""
    first, turn = start, None
    for index in range(start, len(steps)):
        step, before = steps[index], steps[index - 1]
        ends = CONTEXT_TRIMMED in (step.tool, before.tool) or (turn is not None and step.call not in (None, turn))
        if index > first and ends:
            yield first, index
            first = index
        turn = turn if step.call is None else step.call
    if first < len(steps):
        yield first, len(steps)


def _turn_starts(steps: Sequence[Step], start: int) -> list[int]:
    calls = [(index, steps[index].call) for index in range(start, len(steps)) if steps[index].call is not None]
    return [index for number, (index, call) in enumerate(calls) if not number or calls[number - 1][1] != call]


def _replies(steps: Sequence[Step]) -> int:
    """How many replies there had been after these steps; 0 if no reply asked for them."""
    return 1 + max((step.call for step in steps if step.call is not None), default=-1)
