"""What happens in a run, as updates of the protocol, in the order in which it happens."""

import asyncio
import json
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from acp import (
    plan_entry,
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
)
from acp.interfaces import Client
from acp.schema import FileEditToolCallContent, ToolCallUpdate

from micro_agent.coding.gates import GATES, get_gate_status
from micro_agent.doors.acp.calls import Content, applied, kind_of, locations, outcome, question_in, tables
from micro_agent.doors.acp.places import Place
from micro_agent.effects import Question
from micro_agent.files.masking import Mask
from micro_agent.replay import step_line
from micro_agent.run import Run, Step
from micro_agent.streaming import CallBegins, Ended, Started, StepTaken, StreamEvent
from micro_agent.streaming.masked_text import MaskedText
from micro_agent.streaming.said import SaidSoFar, breaks_off


class Outbox:
    """The updates of a session on their way, in a ``with`` block. Those for an editor that has gone are lost."""

    def __init__(self, client: Client, session_id: str) -> None:
        self._client, self._session_id = client, session_id
        self._queue = asyncio.Queue[Any]()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._send())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.put_nowait(None)
        await self._task

    def put(self, update: Any) -> None:
        """Send an update after those before it."""
        self._queue.put_nowait(update)

    async def sent(self) -> None:
        """Wait until all of them are sent."""
        await self._queue.join()

    async def _send(self) -> None:
        gone = False
        while (update := await self._queue.get()) is not None:
            try:
                if not gone:
                    await self._client.session_update(self._session_id, update)
            except ConnectionError:
                gone = True
            self._queue.task_done()


class Showing:
    """Shows one run. It belongs to the event loop on which the run is.

    Args:
        place: Where it works.
        outbox: Takes the updates.
        mask: Keeps secrets out of them.
    """

    def __init__(self, place: Place, outbox: Outbox, mask: Mask) -> None:
        self._place, self._outbox, self._mask = place, outbox, mask
        self._said = SaidSoFar(between="\n\n")
        self._thoughts = MaskedText(self._think, mask)
        self._diffs: dict[str, list[FileEditToolCallContent]] = {}
        """What each call that was announced changes, by its id."""
        self._thought_aloud, self._replies = False, 0
        self._run: Run | None = None
        self._run_id = ""
        self._plan: list[bool] | None = None

    def thought(self, text: str) -> None:
        """Take the next piece of the model's reasoning."""
        self._thought_aloud = True
        self._thoughts.feed(text)

    def take(self, event: StreamEvent | CallBegins) -> None:
        """Take the next event of the run."""
        self._thoughts.finish()
        if isinstance(event, Started):
            self._run_id = event.run_id
        elif isinstance(event, CallBegins | Ended):
            self._run = event.run
            self._replied(event.run)
        if text := self._said.take(event, self._mask.text):
            self._outbox.put(update_agent_message_text(text))
        if isinstance(event, CallBegins):
            self._begins(event)
        elif isinstance(event, StepTaken):
            self._step(event.step)
            self._gates()

    def recorded(self, run: Run) -> None:
        """Show a run that is on record."""
        self.take(Started(run.id))
        for step in run.steps:
            self.take(StepTaken(step))
        self.take(Ended(run))

    def asks(self, question: Question) -> ToolCallUpdate:
        """Show a call that wants a person's word; what is asked about it."""
        ident = self._ident(question.call, question.call_id)
        asked = self._masked({name: told for name, told in asdict(question).items() if name != "elsewhere"})
        content = question_in(self._place, asked)
        diffs = [one for one in content if isinstance(one, FileEditToolCallContent)]
        self._announce(ident, question.tool, question.args, diffs, status="pending", content=content)
        return ToolCallUpdate(
            tool_call_id=ident, title=step_line(question.tool, asked["args"]), kind=kind_of(question.tool),
            status="pending", content=content, raw_input=asked["args"],
            locations=locations(self._place, question.args, question.shown) or None,
        )  # fmt: skip

    def _begins(self, event: CallBegins) -> None:
        ident = self._ident(event.call, event.call_id)
        if ident in self._diffs:
            self._outbox.put(update_tool_call(ident, status="in_progress"))
            return
        diffs = applied(self._place, event.tool, event.args)
        self._announce(ident, event.tool, event.args, diffs, status="in_progress", content=diffs or None)

    def _announce(self, ident: str, tool: str, args: dict[str, Any], diffs: list[Any], **more: Any) -> None:
        self._diffs[ident] = diffs
        shown = self._masked(args)
        self._outbox.put(
            start_tool_call(
                ident, step_line(tool, shown), kind=kind_of(tool), raw_input=shown,
                locations=locations(self._place, args) or None, **more,
            )
        )  # fmt: skip

    def _step(self, step: Step) -> None:
        if not step.is_tool:
            if breaks_off(step):
                self._think(self._mask.text(step_line(step.tool, step.args, step.observation)) + "\n\n")
            return
        ident = self._ident(step.call, step.call_id)
        if ident not in self._diffs:
            self._announce(ident, step.tool, step.args, [], status="pending")
        seen = self._masked(step.observation)
        content: list[Content] = [*self._diffs[ident]] if step.ok else []
        self._outbox.put(
            update_tool_call(
                ident, status="completed" if step.ok else "failed", content=content or outcome(seen), raw_output=seen,
                locations=locations(self._place, step.args, step.observation) or None,
            )
        )  # fmt: skip

    def _replied(self, run: Run) -> None:
        """Show what the replies since the last look have thought, where they were not heard as they came."""
        new, self._replies = run.calls[self._replies :], len(run.calls)
        for call in new:
            if not self._thought_aloud and (thought := call.reply.get("reasoning")):
                self._think(self._mask.text(str(thought)))
        if new:
            self._thought_aloud = False

    def _gates(self) -> None:
        """Show how the gates of a coding run stand, when that has changed."""
        run = self._run
        if run is None or run.coach is None or run.coach.get("gates") == "off":
            return
        status = get_gate_status(run)
        passed = [bool(getattr(status, gate)) for gate in GATES]
        if passed == self._plan:
            return
        self._plan = passed
        now = passed.index(False) if False in passed else len(passed)
        entries = [
            plan_entry(
                tables()["gates"][gate],
                status="completed" if passed[at] else "in_progress" if at == now else "pending",
            )
            for at, gate in enumerate(GATES)
        ]
        self._outbox.put(update_plan(entries))

    def _think(self, text: str) -> None:
        self._outbox.put(update_agent_thought_text(text))

    def _ident(self, call: int | None, call_id: str | None) -> str:
        return f"{self._run_id[:8]}/{call}/{call_id}"

    def _masked(self, data: Any) -> Any:
        return json.loads(self._mask.encode(data))
