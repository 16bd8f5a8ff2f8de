"""One turn of a conversation: a run that begins, goes on or has ended by now, for what a request asks."""

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from micro_agent.errors import AlreadyDecided, ApprovalExpired, ConfigurationError, NotWaiting, RunBusy, RunNotFound
from micro_agent.run import Run, Step, Usage
from micro_agent.run.chain import following
from micro_agent.run.images import image_at
from micro_agent.server.errors import Refused
from micro_agent.server.openai.asked import Asked
from micro_agent.server.openai.errors import NotTaken
from micro_agent.server.openai.questions import Named, decision_in, in_words, named_in
from micro_agent.server.openai.threads import Threads
from micro_agent.server.runs import Live, RunPool
from micro_agent.traces import OpenRun, TraceStore, read_records

_RESPONSE = re.compile("resp_([0-9a-f]{32})[0-9a-f]{32}")
_PREVIOUS = "previous_response_id"
_STATES = 3
"""A run asks, goes on, and has ended: so often it can be another one by the time that it is to be decided."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a request gets its answer from.

    Attributes:
        asked: What was asked.
        store: Where the run is on record.
        live: The run under way; ``None``: it is not, and stands as ``stands`` says.
        stands: See ``live``.
        before: The run as it stood when it was taken up again.
        after: The number of the last event before this turn.
        text_is_answer: Whether the text of the model is the answer as it comes: no rule and no tool is there to object.
        is_ours: Whether the run ends with the client; not so one that somebody else has going on.
    """

    asked: Asked
    store: TraceStore
    live: Live | None = None
    stands: Run | None = None
    before: Run | None = None
    after: int = 0
    text_is_answer: bool = False
    is_ours: bool = True

    async def ended(self) -> Run:
        """The run, once it has ended or asks. Raises what `Live.ended` does."""
        if self.live is not None:
            return await self.live.ended()
        assert self.stands is not None, "a turn has a run, under way or not"
        return self.stands

    async def run_id(self) -> str:
        """The id of the run, once it has one."""
        return (await self.ended()).id if self.live is None else await self.live.started()

    def cancel(self) -> None:
        """End the run, if it is under way: nobody is there to read the answer."""
        if self.live is not None and self.is_ours:
            self.live.cancel()

    def steps(self, run: Run) -> list[tuple[int, Step]]:
        """The steps of this turn, each with its number in the run."""
        first = len(self.before.steps) if self.before is not None else 0
        return list(enumerate(run.steps))[first:]

    def usage(self, run: Run) -> tuple[int, int] | None:
        """Input and output tokens of this turn, ``None`` where either is not known."""
        before = self.before.usage if self.before is not None else Usage()
        known = (run.usage.input_tokens, run.usage.output_tokens, before.input_tokens, before.output_tokens)
        came, said, came_before, said_before = known
        if came is None or said is None or came_before is None or said_before is None:
            return None
        return came - came_before, said - said_before

    def answer(self, run: Run) -> str | None:
        """What the assistant says at the end: the answer, or what the run asks; ``None``: the run failed."""
        if run.status == "confirmation_required" and run.confirmation is not None:
            return in_words(run.confirmation, self.store.mask())
        return run.answer if run.status == "completed" else None


@dataclass(frozen=True, slots=True)
class Desk:
    """What turns are made of: one for each app."""

    pool: RunPool
    store: TraceStore
    threads: Threads

    async def turn(self, asked: Asked, *, text: bool, own_task: bool) -> Turn:
        """Begin a turn, or go on with what waits for it.

        Args:
            asked: What is asked.
            text: Whether the text is told as it comes.
            own_task: Whether a front end asks for itself.

        Raises:
            NotTaken: The response that it follows is none, or cannot be followed; or the model takes no images.
            MicroAgentError: What keeps a run from starting.
        """
        if own_task:
            agent = self.pool.agent().bare(asked.system, images=bool(asked.images))
            return await self._begun(agent, asked, asked.history, text=text, text_is_answer=True)
        named = self._named(asked)
        if named is not None and not await asyncio.to_thread(self._was_asked, named):
            named = None  # a model can write anything
        if named is not None and (turn := await self._decided(asked, named)) is not None:
            return turn
        history = await self._history(asked, named)
        agent = self.pool.agent().layered(asked.system, images=bool(asked.images))
        return await self._begun(agent, asked, history, text=text)

    def note(self, turn: Turn, run: Run, response_id: str | None = None) -> None:
        """Keep in mind how a turn ended, for the next one."""
        if run.confirmation is not None and run.status == "confirmation_required":
            if response_id is not None:
                self.threads.asked(response_id, run.confirmation["sha256"])
        elif run.answer is not None and turn.asked.is_plain and not turn.text_is_answer:
            said = {"role": "assistant", "content": self.store.mask().text(run.answer)}
            question = {"role": "user", "content": turn.asked.question}
            self.threads.answered([*turn.asked.history, question, said], run.id)

    async def _begun(self, agent: Any, asked: Asked, history: Any, *, text: bool, text_is_answer: bool = False) -> Turn:
        given: dict[str, Any] = {"images": [{"url": url} for url in asked.images]} if asked.images else {}
        live = self.pool.begin(agent, asked.question, text=text, history=history or None, **given)
        try:
            await live.started()
        except ConfigurationError as error:
            if not asked.images and not isinstance(history, Run):
                raise
            raise NotTaken(_PREVIOUS if asked.previous else "messages", str(error), "bad_request") from error
        return Turn(asked, self.store, live, text_is_answer=text_is_answer)

    def _named(self, asked: Asked) -> Named | None:
        """The question, if it is one, that the message before ended with."""
        if asked.previous is not None:
            found = _RESPONSE.fullmatch(asked.previous)
            if found is None:
                raise NotTaken(_PREVIOUS, "there is no such response here", "run_not_found")
            return Named(found[1], self.threads.question_of(asked.previous) or "?")
        last = asked.history[-1] if asked.history else {"role": "user"}
        return named_in(last["content"]) if last["role"] == "assistant" else None

    async def _decided(self, asked: Asked, named: Named) -> Turn | None:
        """The turn of a run that asked; ``None`` where that has ended and the message is no word on its question."""
        looks = 0
        while True:
            try:
                return await self._as_seen(asked, named)
            except (NotWaiting, RunBusy, RunNotFound):  # it went on elsewhere between the look and the decision
                if (looks := looks + 1) > _STATES:
                    raise

    async def _as_seen(self, asked: Asked, named: Named) -> Turn | None:
        word, live = decision_in(asked.question), self.pool.live(named.run_id)
        known = await asyncio.to_thread(_open, self.store, named.run_id)
        if known is None:
            ended = await asyncio.to_thread(self._ended, named.run_id)
            return Turn(asked, self.store, stands=ended) if word is not None and ended is not None else None
        if live is not None and live.until is None and word is not None:
            return Turn(asked, self.store, live, is_ours=False)  # somebody else decided
        if known.status != "confirmation_required" or known.confirmation is None:
            if word is None:
                raise Refused("run_busy", f"run {known.id} has not ended yet: ask when it has, or cancel it")
        elif word is None or not named.is_about(known.confirmation, self.store.mask()):
            return Turn(asked, self.store, stands=await asyncio.to_thread(self._waiting, known))
        else:
            self.pool.admit()  # before anything is written: who cannot go on now can decide again later
            choice, feedback = word
            with suppress(AlreadyDecided, ApprovalExpired):  # by somebody else; or the run asks anew
                await asyncio.to_thread(
                    self.store.decide, known.id, choice, feedback=feedback, question=known.confirmation["sha256"]
                )
        before = await asyncio.to_thread(self.store.peek, known.id)
        live = self.pool.resume(known.id, images=[image_at(url) for url in asked.images])
        after = live.log.last
        await live.started()
        return Turn(asked, self.store, live, before=before, after=after)

    async def _history(self, asked: Asked, named: Named | None) -> Run | list[dict[str, Any]]:
        """What the question follows: a run, where it is known which, else the messages."""
        run_id = named.run_id if named is not None else None
        if run_id is None and asked.is_plain and asked.history:
            run_id = self.threads.run_at(asked.history)
        run = None if run_id is None else await asyncio.to_thread(self._ended, run_id)
        if asked.previous is not None:
            if run is None:
                raise NotTaken(_PREVIOUS, "the run of this response is not on record", "run_not_found")
            return run
        if run is None or any(turn.images for turn in (*run.earlier, run)):  # no record keeps images
            return asked.history
        with suppress(ConfigurationError):  # runs before it are gone
            following(run)
            return run
        return asked.history

    def _was_asked(self, named: Named) -> bool:
        """Whether the run that a message names is open, or has asked what that message says it did."""
        if named.words is None or named.run_id in self.store.open_ids():
            return True
        path, mask = self.store.path(named.run_id), self.store.mask()
        runs = [record.run for record in read_records(path) if record.run is not None] if path.exists() else []
        questions = [run.confirmation for run in runs if run.confirmation is not None]
        # Where a secret is masked, a record has no digest. The words are as they were shown all the same.
        return any(named.is_about({**one, "sha256": one["sha256"] or named.digest}, mask) for one in questions)

    def _ended(self, run_id: str) -> Run | None:
        try:
            return self.store.load(run_id)
        except RunNotFound:
            return None

    def _waiting(self, known: OpenRun) -> Run:
        run = self.store.peek(known.id)
        run.status, run.confirmation = "confirmation_required", known.confirmation
        return run


def _open(store: TraceStore, run_id: str) -> OpenRun | None:
    found = (run for run in store.open_runs() if run.id == run_id)
    return next(found, None)


def response_id(run_id: str) -> str:
    """A new id of a response that comes of this run."""
    return f"resp_{run_id}{uuid4().hex}"


def why_unanswered(run: Run) -> tuple[str, str]:
    """The code and the message of a run that ended without an answer."""
    error = run.error or {}
    code = str(error.get("code") or run.termination_reason)
    return code, f"run {run.id} {run.status} ({run.termination_reason}): {error.get('message', '')}".rstrip(": ")
