# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The engine behind `ScriptedLM`: DSPy's own code writes the request and a `Service` answers it, without HTTP."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Self

import dspy
from dspy import lm15

from micro_agent.models import scope
from micro_agent.models.failures import Refusal, marked
from micro_agent.models.identity import Traits
from micro_agent.models.reply import body_of, response_of
from micro_agent.run import Mode
from micro_agent.testing.answer import Answer
from micro_agent.testing.script import Received, Script
from micro_agent.testing.service import Service
from micro_agent.testing.wire import pieces

MODEL = PROVIDER = "scripted"
URL = "http://scripted/v1"

Outcome = tuple[float, lm15.Response | dspy.LMError]
"""Seconds to wait, then what comes."""

_chat = lm15.OpenAIChatLM(api_key="none", base_url=URL)


class ScriptedEngine(Traits):
    """One attempt, as DSPy asks of an engine. Copies are the engine itself, so that all of them play one script."""

    provider = PROVIDER
    supports_function_calling = True
    supports_response_schema = True
    supported_params = frozenset({"tools", "tool_choice", "response_format"})

    def __init__(self, script: Script, mode: Mode):
        self.default_mode: Mode = mode
        self.service = Service(script, models=(MODEL,))
        self.requests: list[lm15.Request] = []

    def play(self, request: lm15.Request) -> Outcome:
        """Record a request and find what answers it, within the deadline of the call."""
        with self.service.lock:
            self.requests.append(request)
            delay_s, answer = self.service.respond(_received(request))
        remaining = scope.current().remaining()
        if remaining is not None and delay_s > remaining:
            return remaining, dspy.LMTimeoutError("the deadline of the call has passed", provider=PROVIDER)
        return delay_s, _read(answer, request)

    def complete(self, request: lm15.Request) -> lm15.Response:
        """The reply, after its delay.

        Raises:
            LMError: The fault that the script holds here.
        """
        wait_s, outcome = self.play(request)
        time.sleep(wait_s)
        return _told(outcome)

    def stream(self, request: lm15.Request) -> Iterator[Any]:
        """The reply as DSPy's stream events."""
        yield from lm15.response_to_events(self.complete(request))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class AsyncScriptedEngine:
    """The asynchronous twin over the same script."""

    def __init__(self, engine: ScriptedEngine):
        self._engine = engine

    async def complete(self, request: lm15.Request) -> lm15.Response:
        """As `ScriptedEngine.complete`; a delay leaves the event loop free."""
        wait_s, outcome = self._engine.play(request)
        await asyncio.sleep(wait_s)
        return _told(outcome)

    async def stream(self, request: lm15.Request) -> AsyncIterator[Any]:
        """The reply as DSPy's stream events."""
        for event in lm15.response_to_events(await self.complete(request)):
            yield event


class ScriptedModel(dspy.LM):
    """What `ScriptedLM` makes."""

    def __init__(self, script: Script, mode: Mode):
        engine = ScriptedEngine(script, mode)
        super().__init__(MODEL, engine=engine, async_engine=AsyncScriptedEngine(engine), cache=False, num_retries=0)
        self._scripted = engine

    @property
    def requests(self) -> list[lm15.Request]:
        """The requests so far, of this object and all its copies."""
        with self._scripted.service.lock:
            return list(self._scripted.requests)

    def messages(self, k: int) -> list[dict[str, Any]]:
        """The messages of the k-th request, from 0, as OpenAI's wire would carry them; negative from the end."""
        with self._scripted.service.lock:
            return self._scripted.service.chats[k].messages


def _received(request: lm15.Request) -> Received:
    written = _chat.build_request(request, stream=False)
    headers = _lowered(dict(written.headers))
    return Received("/v1/chat/completions", "POST", headers, json.loads(written.body), written.body)


def _read(answer: Answer | None, request: lm15.Request) -> lm15.Response | dspy.LMError:
    """What an engine of ours makes of this answer of a server."""
    if answer is None:
        return marked(dspy.LMTransportError("the connection was closed without an answer"), reached=True)
    if answer.cut_at is not None:
        told = f"the connection was closed after {answer.cut_at} bytes of the body"
        return marked(dspy.LMTransportError(told), reached=True)
    sent = Refusal(answer.status, "", _lowered(answer.headers), URL, request.model, PROVIDER)
    try:
        return response_of(body_of(answer.body, sent), model=request.model, wire="openai")
    except dspy.LMError as failure:
        return failure


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _told(outcome: lm15.Response | dspy.LMError) -> lm15.Response:
    if isinstance(outcome, dspy.LMError):
        raise outcome
    on_text = scope.current().on_text
    if on_text is not None:
        for piece in pieces(outcome.text or ""):
            on_text(piece)
    return outcome
