"""Each request as a run on record, as `micro_agent.traces` keeps them: what was asked last, the reply, its repairs.

Neither headers nor earlier messages are kept: a key stands in those, and a conversation would be kept once a request.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from time import perf_counter
from typing import Any, cast

from micro_agent.decoding import DecodeError, Final, ToolCalls
from micro_agent.errors import MicroAgentError
from micro_agent.models.bodies import as_object, counted, text_of
from micro_agent.proxy.reading import Verdict
from micro_agent.proxy.upstream import Forwarded, Upstream
from micro_agent.run import LMCall, Run, Step, utc_now
from micro_agent.run.usage import add_call
from micro_agent.traces import TraceStore

PROXIED = "proxied"
"""Why such a run ended: its reply went to the client."""
_LONGEST = 64 * 1024
"""Characters of a question."""
_SOON_S = 0.025
"""What is given within so many seconds is written in one go; a kill loses no more than that."""
_log = logging.getLogger("micro_agent")


class Recorder:
    """Writes records in a thread of its own, a batch at a time. What cannot be written is said once and counted.

    Belongs to the event loop of whoever writes: the thread takes turns with it at each call of the system, so it is to
    have few.

    Args:
        store: Where runs are on record.
        failed: Called for each record that could not be written.
    """

    def __init__(self, store: TraceStore, failed: Callable[[], None]) -> None:
        self._store, self._failed, self._told = store, failed, False
        self._mask = store.mask()  # once: to look for secrets in the environment takes longer than to write a record
        self._thread = ThreadPoolExecutor(1, "proxy records")
        self._waiting: dict[str, Run] = {}

    def write(self, run: Run) -> None:
        """Append the run to its trace soon, as it is then: the begin and the end of a short stream are one record."""
        if not self._waiting:
            asyncio.get_running_loop().call_later(_SOON_S, self._hand_over)
        self._waiting[run.id] = run

    async def settled(self) -> None:
        """Wait until all that was given so far is written."""
        self._hand_over()
        await asyncio.wrap_future(self._thread.submit(int))

    def _hand_over(self) -> None:
        waiting, self._waiting = self._waiting, {}
        records = list[tuple[str, bytes]]()
        for run in waiting.values():
            try:
                records.append((run.id, self._mask.encode(run)))
            except MicroAgentError as error:
                self._lost(error)
        self._thread.submit(self._append, records)

    def _append(self, records: Sequence[tuple[str, bytes]]) -> None:
        for run_id, record in records:
            try:
                self._store.append_record(run_id, record)
            except MicroAgentError as error:
                self._lost(error)

    def _lost(self, error: MicroAgentError) -> None:
        self._failed()
        if not self._told:
            self._told = True
            _log.warning("requests are not recorded: %s; not said again", error)


def begun(request: Forwarded, upstream: Upstream) -> Run:
    """The run of a request, under way."""
    asked, body = request.asked, request.body or {}
    beside: dict[str, Any] = {"door": "proxy", "path": request.path}
    return Run(
        question=_question(body)[:_LONGEST], provider=upstream.provider, model=asked and asked.model,
        base_url=upstream.url, mode="native", **beside,
    )  # fmt: skip


def replied(run: Run, request: Forwarded, verdict: Verdict, told: Mapping[str, Any], since: float) -> None:
    """Add a reply to a run. ``told`` is the body that tells its usage and model, ``since`` the clock at its request."""
    decision, reply = verdict.decision, verdict.reply
    entered, given = counted(told)
    call = LMCall(
        reply=reply.as_dict(), finish_reason=reply.finish_reason, model=told.get("model") or run.model, mode="native",
        input_tokens=entered, output_tokens=given, latency_s=perf_counter() - since, at=utc_now(),
        request={"sha256": hashlib.sha256(request.raw).hexdigest(), "messages": len(_messages(request))},
    )  # fmt: skip
    if isinstance(decision, ToolCalls) and (verdict.kinds or reply.calls):
        call.decision = {"tool_calls": [one.as_dict() for one in decision.calls]}
    elif isinstance(decision, DecodeError):
        call.error = decision.as_dict()
    else:
        call.decision = {"final": decision.answer if isinstance(decision, Final) else reply.text}
    made = _repairs(verdict, decision)
    call.repairs = made
    run.calls.append(call)
    add_call(run.usage, call)


def ended(run: Run, verdict: Verdict) -> None:
    """Close a run whose reply went out: its calls are steps that were not taken here."""
    decision = verdict.decision
    if isinstance(decision, ToolCalls) and (verdict.kinds or verdict.reply.calls):
        at = len(run.calls) - 1
        run.steps = [Step(tool=one.name, args=one.args, call=at, call_id=one.call_id) for one in decision.calls]
    elif not verdict.reply.calls:
        run.answer = run.model_answer = decision.answer if isinstance(decision, Final) else verdict.reply.text or None
    run.status, run.termination_reason = "completed", PROXIED


def failed(run: Run, code: str, message: str) -> None:
    """Close a run that has no reply, or not all of it."""
    run.status, run.termination_reason = "failed", code
    run.error = {"code": code, "message": message}


def _repairs(verdict: Verdict, decision: object) -> list[dict[str, Any]]:
    """What was mended, with what only the proxy mends; of a reply that was passed on nothing was."""
    if not verdict.kinds:
        return []
    found = [asdict(one) for one in decision.repairs] if isinstance(decision, ToolCalls) else []
    known = {one["kind"] for one in found}
    return [*found, *({"kind": kind, "before": "", "after": ""} for kind in verdict.kinds if kind not in known)]


def _question(body: Mapping[str, Any]) -> str:
    """The last words of a user in a request; of the Responses API it may be the whole input."""
    if isinstance(said := body.get("input"), str):
        return said
    listed: Any = body.get("messages") or body.get("input")
    messages = cast("list[Any]", listed if isinstance(listed, list) else [])
    for message in map(as_object, reversed(messages)):
        if message.get("role") == "user" and (text := text_of(message.get("content")) or _typed(message)):
            return text
    return ""


def _typed(message: Mapping[str, Any]) -> str:
    parts: Any = message.get("content")
    found = [as_object(part).get("text") for part in cast("list[Any]", parts if isinstance(parts, list) else [])]
    return "".join(text for text in found if isinstance(text, str))


def _messages(request: Forwarded) -> Any:
    return request.asked.messages if request.asked is not None else ()
