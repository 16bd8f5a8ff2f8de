"""The word of the person at the editor on a call: what is shown there is what is run."""

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass

from acp import RequestError
from acp.interfaces import Client
from acp.schema import AllowedOutcome, PermissionOption, ToolCallUpdate

from micro_agent.doors.acp.choices import Approvals
from micro_agent.doors.acp.showing import Outbox, Showing
from micro_agent.effects import Approval, Question

_LOOK_AGAIN_S = 0.25


@dataclass(frozen=True, slots=True)
class Turn:
    """What a question belongs to: a late answer must not be about the turn after it.

    Attributes:
        showing: Shows the run.
        outbox: Takes what it shows.
        over: Whether nobody waits for an answer any more.
        cancel: Ends the turn.
    """

    showing: Showing
    outbox: Outbox
    over: Callable[[], bool]
    cancel: Callable[[], None]


class Asking:
    """The `Confirmation` of the runs of a session. It is called in their threads, and asks on the event loop.

    Attributes:
        approvals: What becomes of calls that want a word.
        turn: The one under way.
    """

    def __init__(self, client: Client, session_id: str, approvals: Approvals) -> None:
        self.approvals: Approvals = approvals
        self.turn: Turn | None = None
        self._client, self._session_id = client, session_id
        self._loop = asyncio.get_running_loop()
        self._open: Future[Approval] | None = None

    def __call__(self, question: Question) -> Approval:
        """The word on a call, of the person or of whoever has decided elsewhere meanwhile."""
        turn = self.turn
        assert turn is not None, "who asks is in a turn"
        if self.approvals == "never" or turn.over():
            return Approval("never")
        asking = self._open = asyncio.run_coroutine_threadsafe(self._ask(turn, question), self._loop)
        try:
            while True:
                try:
                    return asking.result(_LOOK_AGAIN_S)
                except TimeoutError:
                    if (decided := question.elsewhere()) is not None:
                        return decided
        except CancelledError:
            return Approval("pause")
        finally:
            asking.cancel()

    def stop(self) -> None:
        """Wait for no answer any more: the turn is over."""
        if self._open is not None:
            self._open.cancel()

    async def _ask(self, turn: Turn, question: Question) -> Approval:
        call = turn.showing.asks(question)
        if self.approvals == "all":
            return Approval("approve")
        await turn.outbox.sent()
        try:
            return await self._answer(turn, call, question)
        except ConnectionError:  # the editor has gone: the question stays open
            return Approval("pause")
        except RequestError as error:
            return Approval("never", f"The editor could not ask: {error}")

    async def _answer(self, turn: Turn, call: ToolCallUpdate, question: Question) -> Approval:
        """The digest of what is shown stands in each option: an answer names it."""
        allow, reject = (f"{word}:{question.sha256}" for word in ("allow", "reject"))
        offered = [
            PermissionOption(option_id=allow, name="Run it", kind="allow_once"),
            PermissionOption(option_id=reject, name="Reject", kind="reject_once"),
        ]
        answer = await self._client.request_permission(self._session_id, call, offered)
        if not isinstance(answer.outcome, AllowedOutcome):
            turn.cancel()
            return Approval("pause")
        return Approval("approve" if answer.outcome.option_id == allow else "reject")
