"""The tiny provider: the model that ships, asked in this process as a server would be asked.

It counts tokens, ends what is too long, and refuses a prompt that does not fit. A call of a tool is read out of its
text as strictly as servers do; what is none stays text.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Self

from dspy import LMInvalidRequestError, LMTimeoutError, lm15

from micro_agent.models import scope
from micro_agent.models.failures import Refusal, refused
from micro_agent.models.identity import Told, Traits
from micro_agent.models.reply import response_of
from micro_agent.models.tiny.generating import PromptTooLong, Text, card, shipped
from micro_agent.models.tiny.sampling import Sampling
from micro_agent.models.tiny.template import prompt_of
from micro_agent.models.tiny.tokenizer import CALL, MARKS
from micro_agent.run import Mode

NAME: str = card()["name"]
_CALL = re.compile(f"{re.escape(MARKS[CALL])}(.*?)</tool_call>", re.DOTALL)


class TinyEngine(Traits):
    """The tiny model as an engine of DSPy's. Copies share it."""

    provider = "tiny"
    model = NAME
    default_mode: Mode = "native"
    supports_function_calling = True
    supports_response_schema = True
    supported_params = frozenset(
        {"tools", "tool_choice", "response_format", "temperature", "max_tokens", "top_p", "seed", "stop"}
    )
    refuses_schema = True  # it holds no reply to a schema
    plain_questions = True

    def __init__(self) -> None:
        self.told = Told(length=card()["shape"]["context"], template_has_tools=True, vision=False)

    def complete(self, request: lm15.Request) -> lm15.Response:
        """What the model replies.

        Raises:
            LMError: The request has images or does not fit into the context, or the deadline of the call has passed.
        """
        if any(message.parts_of(lm15.ImagePart) for message in request.messages):
            raise LMInvalidRequestError("the tiny model does not see images; ask a model that does")
        choice, native = request.config.tool_choice, bool(request.tools)
        forced = native and choice is not None and choice.mode == "required"
        barred = not native or (choice is not None and choice.mode == "none")
        begin, never = [CALL] * forced, [CALL] * barred
        how, bounds = _sampling(request.config), scope.current()
        try:
            text = shipped().complete(
                prompt_of(request), how, begin=begin, never=never, on_text=bounds.on_text, until=bounds.deadline
            )
        except PromptTooLong as error:
            raise refused(_too_long(error)) from error
        except TimeoutError as error:
            raise LMTimeoutError("the tiny model wrote no whole reply in the time it was given") from error
        return response_of(_body(text, native), model=request.model, wire="openai")

    def stream(self, request: lm15.Request) -> Iterator[Any]:
        """`complete`, as DSPy's stream events."""
        yield from lm15.response_to_events(self.complete(request))

    def twin(self) -> "AsyncTinyEngine":
        """The same for ``async`` callers."""
        return AsyncTinyEngine(self)

    def dump_state(self) -> dict[str, Any]:
        """What DSPy saves of it: there is nothing to say."""
        return {}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """The engine again."""
        return cls()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class AsyncTinyEngine:
    """`TinyEngine` for ``async`` callers."""

    def __init__(self, engine: TinyEngine) -> None:
        self._engine = engine

    def dump_state(self) -> dict[str, Any]:
        """As `TinyEngine.dump_state`."""
        return {}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """The engine again."""
        return cls(TinyEngine())

    async def complete(self, request: lm15.Request) -> lm15.Response:
        """As `TinyEngine.complete`, in a thread; text that is wanted as it comes is handed over in this one."""
        bounds, loop, listening = scope.current(), asyncio.get_running_loop(), True

        def heard(piece: str) -> None:
            if listening and bounds.on_text is not None:
                bounds.on_text(piece)

        on_text = bounds.on_text and partial(loop.call_soon_threadsafe, heard)
        try:
            with scope.calling(replace(bounds, on_text=on_text)):
                return await asyncio.to_thread(self._engine.complete, request)
        finally:
            listening = False  # whoever gave it up hears no more of it

    async def stream(self, request: lm15.Request) -> AsyncIterator[Any]:
        """`complete`, as DSPy's stream events."""
        for event in lm15.response_to_events(await self.complete(request)):
            yield event


def _sampling(config: lm15.Config) -> Sampling:
    return Sampling(
        config.temperature or 0.0, config.top_k, config.top_p, config.seed, config.max_tokens, tuple(config.stop or ())
    )


def _too_long(error: PromptTooLong) -> Refusal:
    """What a server says of it (llama.cpp's words)."""
    told = f"request ({error.tokens} tokens) exceeds the available context size ({error.context} tokens)"
    body = json.dumps({"error": {"code": 400, "type": "exceed_context_size_error", "message": told}})
    return Refusal(400, body, {}, "the tiny model", NAME, "tiny")


def _body(text: Text, native: bool) -> dict[str, Any]:
    """The reply as a server on OpenAI's wire would send it."""
    calls = _calls(text.text) if native else []
    message: dict[str, Any] = {"role": "assistant", "content": text.text}
    if calls:
        listed = [{"id": f"tiny_{at}", "type": "function", "function": call} for at, call in enumerate(calls, 1)]
        message = {"role": "assistant", "content": _CALL.sub("", text.text) or None, "tool_calls": listed}
    finish = "tool_calls" if calls and text.finish == "stop" else text.finish
    usage = {"prompt_tokens": text.prompt_tokens, "completion_tokens": text.tokens}
    return {"model": NAME, "choices": [{"index": 0, "finish_reason": finish, "message": message}], "usage": usage}


def _calls(text: str) -> list[dict[str, str]]:
    """The calls in a text; none if one of them is not a JSON object with a name and arguments."""
    found: list[dict[str, str]] = []
    for written in _CALL.findall(text):
        try:
            call = json.loads(written)
            name, arguments = str(call["name"]), dict(call["arguments"])
        except (ValueError, TypeError, LookupError):
            return []
        found.append({"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)})
    return found
