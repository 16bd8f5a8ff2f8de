"""Responses (https://platform.openai.com/docs/api-reference/responses): items that are done, the last one the answer.

A tool of the agent's is an item ``mcp_call`` with its output: a call that somebody else than the client has made.
"""

from collections.abc import AsyncGenerator
from typing import Any

from fastapi.sse import KEEPALIVE_COMMENT

from micro_agent.run import Run
from micro_agent.server.openai.bodies import MODEL, ResponseRequest
from micro_agent.server.openai.frames import events_of, framed, now
from micro_agent.server.openai.steps import as_item, is_told
from micro_agent.server.openai.turns import Desk, Turn, response_id, why_unanswered
from micro_agent.server.runs import ShuttingDown
from micro_agent.streaming import AnswerText, Ended, StepTaken


class Telling:
    """One response, as a whole or as its events.

    Args:
        turn: What it comes from.
        body: What was asked for.
        run_id: The run's.
    """

    def __init__(self, turn: Turn, body: ResponseRequest, run_id: str) -> None:
        self.id = response_id(run_id)
        self._turn, self._run_id, self._created = turn, run_id, now()
        self._echoed: dict[str, Any] = {
            "instructions": body.instructions, "metadata": body.metadata or {}, "model": MODEL,
            "previous_response_id": body.previous_response_id,
        }  # fmt: skip
        self._items: list[dict[str, Any]] = []
        self._step = len(turn.before.steps) if turn.before is not None else 0
        self._sent = 0

    def whole(self, run: Run) -> dict[str, Any]:
        """The response for a run that has ended or asks."""
        self._items = [as_item(step, run.id, number) for number, step in self._turn.steps(run) if is_told(step)]
        answer = self._turn.answer(run)
        if answer is not None:
            self._items.append(self._message(answer))
        return self._ended(run)

    def begun(self) -> list[bytes]:
        """The events at the beginning."""
        standing = self._response("in_progress")
        return [self._event(f"response.{name}", response=standing) for name in ("created", "in_progress")]

    def step(self, step: Any) -> list[bytes]:
        """The events of a step: an item that is there, and done."""
        number, self._step = self._step, self._step + 1
        if not is_told(step):
            return []
        item = as_item(step, self._run_id, number)
        at, known = len(self._items), {"item_id": item["id"], "output_index": len(self._items)}
        self._items.append(item)
        if not step.is_tool:
            return [self._added(at, {**item, "summary": []}), self._done(at, item)]
        came = "completed" if step.ok else "failed"
        return [
            self._added(at, {**item, "output": None, "error": None, "arguments": "", "status": "in_progress"}),
            self._event("response.mcp_call.in_progress", **known),
            self._event("response.mcp_call_arguments.delta", delta=item["arguments"], **known),
            self._event("response.mcp_call_arguments.done", arguments=item["arguments"], **known),
            self._event(f"response.mcp_call.{came}", **known),
            self._done(at, item),
        ]

    def ended(self, run: Run) -> list[bytes]:
        """The events of the answer, and of the end."""
        answer = self._turn.answer(run)
        frames = [] if answer is None else self._said(self._turn.store.mask().text(answer))
        return [*frames, self._event(f"response.{self._status(run)}", response=self._ended(run))]

    def suspended(self, why: str) -> bytes:
        """The event of a server that ends first."""
        response = {**self._response("failed"), "error": {"code": "server_error", "message": why}}
        return self._event("response.failed", response=response)

    def _said(self, answer: str) -> list[bytes]:
        at, item, empty = len(self._items), self._message(answer), _part("")
        self._items.append(item)
        known = {"item_id": item["id"], "output_index": at, "content_index": 0}
        return [
            self._added(at, {**item, "content": [], "status": "in_progress"}),
            self._event("response.content_part.added", part=empty, **known),
            self._event("response.output_text.delta", delta=answer, logprobs=[], **known),
            self._event("response.output_text.done", text=answer, logprobs=[], **known),
            self._event("response.content_part.done", part=_part(answer), **known),
            self._done(at, item),
        ]

    def _added(self, at: int, item: dict[str, Any]) -> bytes:
        return self._event("response.output_item.added", output_index=at, item=item)

    def _done(self, at: int, item: dict[str, Any]) -> bytes:
        return self._event("response.output_item.done", output_index=at, item=item)

    def _event(self, kind: str, **data: Any) -> bytes:
        number, self._sent = self._sent, self._sent + 1
        return framed(self._turn, {"type": kind, "sequence_number": number, **data}, kind)

    def _message(self, answer: str) -> dict[str, Any]:
        return {
            "id": f"msg_{self.id[5:]}", "type": "message", "role": "assistant", "status": "completed",
            "content": [_part(answer)],
        }  # fmt: skip

    def _status(self, run: Run) -> str:
        return "failed" if self._turn.answer(run) is None else "completed"

    def _ended(self, run: Run) -> dict[str, Any]:
        status, tokens = self._status(run), self._turn.usage(run)
        usage = None
        if tokens is not None:
            usage = {
                "input_tokens": tokens[0], "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": tokens[1], "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": sum(tokens),
            }  # fmt: skip
        error = {"code": "server_error", "message": ": ".join(why_unanswered(run))} if status == "failed" else None
        known = {"trace_id": run.id, "status": run.status, "confirmation": run.confirmation}
        return {**self._response(status), "usage": usage, "error": error, "micro_agent": known}

    def _response(self, status: str) -> dict[str, Any]:
        return {
            "id": self.id, "object": "response", "created_at": self._created, "status": status, "error": None,
            "incomplete_details": None, "output": list(self._items), "parallel_tool_calls": False,
            "tool_choice": "auto", "tools": [], "temperature": None, "top_p": None, "usage": None, **self._echoed,
        }  # fmt: skip


async def events(desk: Desk, turn: Turn, telling: Telling) -> AsyncGenerator[bytes]:
    """The frames of a response as it comes."""
    for frame in telling.begun():
        yield frame
    async for event in events_of(turn):
        match event:
            case None | AnswerText():
                yield KEEPALIVE_COMMENT
            case ShuttingDown():
                yield telling.suspended(str(event))
            case StepTaken(step):
                for frame in telling.step(step):
                    yield frame
            case Ended(run):
                desk.note(turn, run, telling.id)
                for frame in telling.ended(run):
                    yield frame
            case _:
                pass


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
