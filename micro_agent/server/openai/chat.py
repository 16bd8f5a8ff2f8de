"""Chat completions (https://platform.openai.com/docs/api-reference/chat): an answer, or its pieces as they come.

No piece can be taken back, and the text of a model is its answer only once the rules have let it pass. So the content
is the answer, at the end. What comes before it is reasoning: the steps, and the text as the model writes it.
"""

from collections.abc import AsyncGenerator
from typing import Any

from fastapi.sse import KEEPALIVE_COMMENT

from micro_agent.run import Run
from micro_agent.server.openai.bodies import MODEL
from micro_agent.server.openai.errors import told
from micro_agent.server.openai.frames import events_of, framed, now
from micro_agent.server.openai.steps import in_a_line, is_told
from micro_agent.server.openai.turns import Desk, Turn, why_unanswered
from micro_agent.server.runs import ShuttingDown
from micro_agent.streaming import AnswerText, Ended, StepTaken, StreamEvent

STEP = "micro_agent.step"
"""The name of the events that have a step. Their data is a chunk that says nothing, for clients that heed no names."""
DONE = b"data: [DONE]\n\n"


def completion(turn: Turn, run: Run) -> dict[str, Any]:
    """The body of a run's answer."""
    progress = "".join(in_a_line(step) for _, step in turn.steps(run) if is_told(step))
    message = {"role": "assistant", "content": turn.answer(run), "refusal": None}
    if progress:
        message["reasoning_content"] = progress
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return {
        "id": _id(run.id), "object": "chat.completion", "created": now(), "model": MODEL, "choices": [choice],
        "usage": _usage(turn, run), "micro_agent": _of(run),
    }  # fmt: skip


async def chunks(desk: Desk, turn: Turn, *, with_usage: bool) -> AsyncGenerator[bytes]:
    """The frames of a turn's answer as it comes."""
    telling = _Telling(turn, await turn.run_id(), with_usage)
    yield telling.begun()
    async for event in events_of(turn):
        if isinstance(event, Ended):
            desk.note(turn, event.run)
        for frame in telling.frames(event):
            yield frame


class _Telling:
    """The chunks of one stream."""

    def __init__(self, turn: Turn, run_id: str, with_usage: bool) -> None:
        self._turn, self._with_usage = turn, with_usage
        self._common: dict[str, Any] = {
            "id": _id(run_id), "object": "chat.completion.chunk", "created": now(), "model": MODEL,
        }  # fmt: skip
        self._said = ""
        self._open = False
        """Whether a line of text has no end yet."""

    def begun(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def frames(self, event: StreamEvent | ShuttingDown | None) -> list[bytes]:
        match event:
            case None:
                return [KEEPALIVE_COMMENT]
            case ShuttingDown():
                return [framed(self._turn, told(503, "shutting_down", str(event)))]
            case AnswerText(text):
                return [self._text(text)]
            case StepTaken(step) if is_told(step):
                line = {"reasoning_content": self._line() + in_a_line(step)}
                return [self._chunk(line), self._chunk({}, event=STEP, micro_agent={"step": step})]
            case Ended(run):
                return self._ended(run)
            case _:
                return []

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, event: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        usage = {"usage": None} if self._with_usage else {}
        return framed(self._turn, {**self._common, "choices": [choice], **usage, **more}, event)

    def _text(self, text: str) -> bytes:
        if self._turn.text_is_answer:
            self._said += text
            return self._chunk({"content": text})
        self._open = True
        return self._chunk({"reasoning_content": text})

    def _line(self) -> str:
        """What ends the line of a text before a step."""
        end, self._open = "\n" if self._open else "", False
        return end

    def _ended(self, run: Run) -> list[bytes]:
        answer = self._turn.answer(run)
        if answer is None:
            return [framed(self._turn, told(500, *why_unanswered(run)))]
        rest = self._turn.store.mask().text(answer).removeprefix(self._said)
        frames = [self._chunk({"content": rest})] if rest else []
        frames.append(self._chunk({}, "stop", micro_agent=_of(run)))
        if self._with_usage:
            frames.append(framed(self._turn, {**self._common, "choices": [], "usage": _usage(self._turn, run)}))
        return [*frames, DONE]


def _id(run_id: str) -> str:
    return f"chatcmpl-{run_id}"


def _usage(turn: Turn, run: Run) -> dict[str, int] | None:
    tokens = turn.usage(run)
    if tokens is None:
        return None
    return {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}


def _of(run: Run) -> dict[str, Any]:
    """What a client of ours wants to know beside the answer."""
    return {"trace_id": run.id, "status": run.status, "confirmation": run.confirmation}
