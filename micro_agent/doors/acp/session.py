"""One session of an editor: a conversation, of which each turn is a run on record."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from textwrap import shorten
from typing import Any

from acp import RequestError, update_agent_message_text, update_user_message_text
from acp.interfaces import Client
from acp.schema import PromptResponse

from micro_agent.agent import MicroAgent
from micro_agent.cancel import Cancel
from micro_agent.doors.acp.asking import Asking, Turn
from micro_agent.doors.acp.calls import tables
from micro_agent.doors.acp.choices import Approvals, Mode
from micro_agent.doors.acp.keeping import Keeping, Kept
from micro_agent.doors.acp.places import Making, Place
from micro_agent.doors.acp.prompts import Asked
from micro_agent.doors.acp.servers import Sent, Servers
from micro_agent.doors.acp.showing import Outbox, Showing
from micro_agent.models.scope import hearing_thoughts
from micro_agent.run import Run
from micro_agent.run.chain import is_open
from micro_agent.server.events import EventLog
from micro_agent.server.runs import Live
from micro_agent.streaming import CallBegins, Ended, OnEvent, Started, StreamEvent, WithCalls
from micro_agent.text.attached import own_words
from micro_agent.traces import as_it_stands

_TITLE = 80
Work = Callable[..., Awaitable[Run]]
"""Does a run, given ``on_event`` and ``cancel``."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the sessions of one editor share."""

    client: Client
    making: Making
    keeping: Keeping


class Session:
    """A session. Belongs to one event loop.

    Args:
        shared: What it shares with others.
        place: Where it works.
        kept: What is kept of it.
        approvals: What becomes of calls that want a word.
        mode: Which agent is asked.
        sent: The MCP servers that the editor sent.
    """

    def __init__(
        self, shared: Surroundings, place: Place, kept: Kept, *, approvals: Approvals, mode: Mode, sent: Sent
    ) -> None:  # fmt: skip
        self.place, self.kept = place, replace(kept, mode=mode, approvals=approvals)
        self.mode: Mode = mode
        self.run: Run | None = None
        """The run that came last."""
        self._shared = shared
        self._asking = Asking(shared.client, kept.id, approvals)
        self._agents: dict[tuple[Mode, bool], MicroAgent] = {}
        self._live: Live | None = None
        self._busy, self._cancelled = False, asyncio.Event()
        self._servers = Servers(sent, partial(shared.making.servers, place))

    @property
    def approvals(self) -> Approvals:
        """What becomes of calls that want a word."""
        return self._asking.approvals

    def choose(self, *, mode: Mode | None = None, approvals: Approvals | None = None) -> None:
        """Take another mode or policy, from the next turn or question on."""
        self.mode = mode or self.mode
        self._asking.approvals = approvals or self.approvals
        self._keep(mode=self.mode, approvals=self.approvals)

    async def show(self) -> None:
        """Show the conversation so far."""
        turns = [] if self.run is None else [*self.run.earlier, self.run]
        async with Outbox(self._shared.client, self.kept.id) as outbox:
            for run in turns:
                outbox.put(update_user_message_text(self.place.store.mask().text(run.question)))
                Showing(self.place, outbox, self.place.store.mask()).recorded(run)

    async def prompt(self, asked: Asked) -> PromptResponse:
        """Do a turn, after the one before it, if that has not ended.

        Raises:
            RequestError: A turn is under way, or this one came to nothing.
            MicroAgentError: It could not begin.
        """
        if self._busy:
            raise RequestError(-32600, "a turn is under way in this session: cancel it, or wait for its end")
        self._busy = True
        self._cancelled.clear()
        try:
            if not await self._servers.waited_for(unless=self._cancelled):
                return PromptResponse(stop_reason="cancelled")
            last = await self._last()
            if last is not None and is_open(last):
                mode: Mode = "code" if last.coach is not None else "chat"
                left = await self._turn(mode, bool(last.images), _resuming(last.id))
                if self._cancelled.is_set() or left.status != "completed":
                    return self._response(left)
            if self.kept.title is None:
                title = self.place.store.mask().text(own_words(asked.question))
                self._keep(title=shorten(title, _TITLE, placeholder="…"))
            run = await self._turn(self.mode, bool(asked.images), _asking(asked, self.run))
            return self._response(run)
        finally:
            self._busy = False

    def cancel(self) -> None:
        """End the turn under way, if there is one."""
        self._cancelled.set()
        if self._live is not None:
            self._live.cancel()
            self._asking.stop()

    async def suspend(self) -> None:
        """Leave the run under way as it is, to be resumed, and wait until nothing of it is under way any more."""
        if self._live is not None:
            suspended = asyncio.ensure_future(self._live.suspend())
            self._asking.stop()
            await suspended

    async def _last(self) -> Run | None:
        """The run that came last. One that was left open may have been resumed elsewhere."""
        if self.run is not None and is_open(self.run):
            self.run = await asyncio.to_thread(as_it_stands, self.place.store, self.run.id)
        return self.run

    async def _turn(self, mode: Mode, images: bool, begin: Callable[[MicroAgent], Work]) -> Run:
        """A run, shown as it goes."""
        agent = await self._agent(mode, images=images)
        async with Outbox(self._shared.client, self.kept.id) as outbox:
            if told := self._servers.news():
                outbox.put(update_agent_message_text(self.place.store.mask().text(told)))
            showing = Showing(self.place, outbox, self.place.store.mask())
            work = partial(self._work, begin(agent), showing, outbox)
            live = self._live = Live(EventLog(), work, _ignore)
            if self._cancelled.is_set():
                live.cancel()
            try:
                self.run = run = await live.ended()
                await asyncio.wait({live.task})  # until then the run is held
            finally:
                self._live = None
            if (told := self._unanswered(run)) is not None:
                outbox.put(update_agent_message_text(told))
        return run

    async def _work(self, work: Work, showing: Showing, outbox: Outbox, emit: OnEvent, cancel: Cancel) -> Run:
        """The run itself; `Live` is told of its beginning and of its end."""
        live = self._live
        assert live is not None, "who does the work has been made"
        self._asking.turn = Turn(showing, outbox, lambda: cancel.is_set() or cancel.suspended, live.cancel)

        def heard(event: StreamEvent | CallBegins) -> None:
            if isinstance(event, Started | Ended):
                emit(event)
            if isinstance(event, Started):
                self._keep(run=event.run_id)
            showing.take(event)

        with hearing_thoughts(showing.thought):
            return await work(on_event=WithCalls(heard), cancel=cancel)

    async def _agent(self, mode: Mode, *, images: bool) -> MicroAgent:
        if (mode, images) not in self._agents:
            make = partial(
                self._shared.making.agent,
                self.place,
                mode,
                images=images,
                confirm=self._asking,
                connected=self._servers.tools(),
            )
            self._agents[mode, images] = await asyncio.to_thread(make)
        return self._agents[mode, images]

    def _keep(self, **changed: Any) -> None:
        self.kept = replace(self.kept, **changed)
        if self.kept.run is not None:
            self._shared.keeping.keep(self.kept)

    def _unanswered(self, run: Run) -> str | None:
        """What is said in the place of an answer; nothing of a run that was cancelled, or whose error is told."""
        if run.status != "stopped" or run.termination_reason == "cancelled":
            return None
        return f"\n\nStopped ({run.termination_reason}): {self._words(run)}"

    def _words(self, run: Run) -> str:
        return self.place.store.mask().text(str((run.error or {}).get("message") or run.termination_reason))

    def _response(self, run: Run) -> PromptResponse:
        """How a turn ended. Raises `RequestError` for one that failed."""
        reason = run.termination_reason or ""
        if run.status == "failed":
            raise RequestError(-32603, self._words(run), {"reason": reason, "run": run.id})
        stop: Any = tables()["stops"].get(reason, "end_turn")
        told = {"run": run.id, "reason": reason, "mcp_left_out": self._servers.left_out()}
        return PromptResponse(stop_reason=stop, field_meta={"micro-agent": told})


def _asking(asked: Asked, history: Run | None) -> Callable[[MicroAgent], Work]:
    inputs: dict[str, Any] = {"images": asked.images} if asked.images else {}
    return lambda agent: partial(agent.aask, asked.question, history=history, **inputs)


def _resuming(run_id: str) -> Callable[[MicroAgent], Work]:
    return lambda agent: partial(agent.aresume, run_id)


def _ignore(live: Live) -> None:
    """Nobody else waits for this run."""
