# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The engines behind `FaultyLM`: they ask another engine, or a whole LM, and rewrite what comes back."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from random import Random
from threading import Lock
from typing import Any, Self

import dspy
from dspy import lm15

from micro_agent.decoding.decision import ModelReply, RawCall
from micro_agent.dspy_internals import CLIENT_KEYS, async_engine_of
from micro_agent.models import scope
from micro_agent.models.reply import Wire, reply_of, response_of, usage_of
from micro_agent.testing.damage import damaged
from micro_agent.testing.damage.said import as_json
from micro_agent.testing.damages import Damaged, Damages
from micro_agent.testing.wire import pieces

_SEEN_BY_TOOLS = "Tool ["
"""How a result begins that is said as a user message, in JSON mode."""


def faulty(lm: Any, rate: float, seed: int, names: tuple[str, ...], damages: Damages) -> Any:
    """The copy of ``lm`` whose replies are damaged; ``damages`` is its record."""
    if not isinstance(lm, dspy.LM):
        raise TypeError(f"FaultyLM takes a dspy.LM, such as that of configure_lm, not {lm!r:.80}")
    plan = FaultPlan(rate, seed, names, damages)
    inner, twin = lm.engine, async_engine_of(lm)
    if isinstance(inner, str):
        whole = lm.copy(cache=False, num_retries=0)
        inner, twin = _WholeLM(whole), _AsyncWholeLM(whole)
    client = {key: None for key in CLIENT_KEYS if lm.kwargs.get(key) is not None}  # they are those of ``whole`` now
    copied = lm.copy(
        engine=FaultyEngine(inner, plan),
        async_engine=AsyncFaultyEngine(twin, plan) if twin is not None else None,
        cache=False,
        num_retries=0,
        **client,
    )
    copied.__dict__["damages"] = damages
    return copied


@dataclass
class FaultPlan:
    """Which replies are damaged and how; shared by both engines and all copies."""

    rate: float
    seed: int
    names: tuple[str, ...]
    damages: Damages
    _asked: Counter[str] = field(default_factory=Counter[str])
    _lock: Lock = field(default_factory=Lock)

    def draw(self, request: lm15.Request) -> Random | None:
        """What to damage the reply to ``request`` with; ``None`` to leave it as it is."""
        digest = _digest(request)
        with self._lock:
            self._asked[digest] += 1
            rng = Random(f"{self.seed} {digest} {self._asked[digest]}")
        return rng if rng.random() < self.rate else None

    def told(self, request: lm15.Request, response: lm15.Response, rng: Random | None) -> lm15.Response:
        """The reply as it is to be told, damaged and noted if it is to be and can be."""
        before = reply_of(response)
        done = damaged(before, self.names, rng, native=bool(request.tools)) if rng is not None else None
        with self._lock:
            number, self.damages.replies = self.damages.replies, self.damages.replies + 1
            if done is not None:
                self.damages.append(Damaged(number, done[0], before.as_dict(), done[1].as_dict()))
        return response if done is None else _rewritten(response, done[1])


class FaultyEngine:
    """Any engine, its replies damaged. What else is asked of it, the other engine answers."""

    def __init__(self, inner: Any, plan: FaultPlan) -> None:
        self._inner, self._plan = inner, plan

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def complete(self, request: lm15.Request) -> lm15.Response:
        """The reply, damaged or not. Raises what the other engine raises."""
        rng = self._plan.draw(request)
        if rng is None:
            return self._plan.told(request, self._inner.complete(request), None)
        with scope.calling(replace(scope.current(), on_text=None)):
            response = self._inner.complete(request)
        return _spoken(self._plan.told(request, response, rng))

    def stream(self, request: lm15.Request) -> Iterator[Any]:
        """The same as DSPy's stream events, when the whole reply is there."""
        yield from lm15.response_to_events(self.complete(request))


class AsyncFaultyEngine(FaultyEngine):
    """The asynchronous twin, on the twin of the other engine."""

    async def complete(self, request: lm15.Request) -> lm15.Response:  # pyright: ignore[reportIncompatibleMethodOverride]
        """As `FaultyEngine.complete`."""
        rng = self._plan.draw(request)
        if rng is None:
            return self._plan.told(request, await self._inner.complete(request), None)
        with scope.calling(replace(scope.current(), on_text=None)):
            response = await self._inner.complete(request)
        return _spoken(self._plan.told(request, response, rng))

    async def stream(self, request: lm15.Request) -> AsyncIterator[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """As `FaultyEngine.stream`."""
        for event in lm15.response_to_events(await self.complete(request)):
            yield event


class _WholeLM:
    """An LM whose engine DSPy makes from its name, as an engine: it is asked as a user would."""

    def __init__(self, lm: Any) -> None:
        self._lm = lm

    def __getattr__(self, name: str) -> Any:
        if name not in (
            "supports_function_calling",
            "supports_reasoning",
            "supports_response_schema",
            "supported_params",
        ):
            raise AttributeError(name)
        return getattr(self._lm, name)

    def complete(self, request: lm15.Request) -> lm15.Response:
        """The reply; the LM around this counts the usage and writes the history."""
        with dspy.context(disable_history=True, usage_tracker=None):
            return _spoken(self._lm(request))


class _AsyncWholeLM(_WholeLM):
    async def complete(self, request: lm15.Request) -> lm15.Response:  # pyright: ignore[reportIncompatibleMethodOverride]
        with dspy.context(disable_history=True, usage_tracker=None):
            return _spoken(await self._lm.acall(request))


def _spoken(response: lm15.Response) -> lm15.Response:
    """Text that came as a whole is told to whoever listens for pieces."""
    on_text = scope.current().on_text
    if on_text is not None:
        for piece in pieces(reply_of(response).text):
            on_text(piece)
    return response


def _digest(request: lm15.Request) -> str:
    """Of what was said so far, so that another prompt meets the same damage; of results of tools that there is one."""
    said: list[Any] = [request.config.seed, bool(request.tools)]
    for message in request.messages:
        said.append(message.role)
        said += [_shown(part) for part in message.parts]
    return sha256(repr(said).encode(errors="replace")).hexdigest()


def _shown(part: Any) -> str:
    text: str | None = getattr(part, "text", None)
    if isinstance(part, lm15.ToolResultPart) or (text is not None and text.startswith(_SEEN_BY_TOOLS)):
        return "result"
    return text if text is not None else repr([getattr(part, "name", None), getattr(part, "input", None)])


def _rewritten(response: lm15.Response, reply: ModelReply) -> lm15.Response:
    """The response with another reply in it, on the wire that it came on, or else on OpenAI's."""
    body = dict(response.provider_data or {})
    wire: Wire = "ollama" if "message" in body and "choices" not in body else "openai"
    if wire == "ollama":
        body |= {"message": _message(reply, wire), "done_reason": reply.finish_reason}
    else:
        choice = {"index": 0, "message": _message(reply, wire), "finish_reason": reply.finish_reason}
        if "choices" not in body:
            entered, given = usage_of(response)
            body = {"model": response.model, "usage": {"prompt_tokens": entered, "completion_tokens": given}}
        body |= {"choices": [choice]}
    return response_of(body, model=response.model, wire=wire)


def _message(reply: ModelReply, wire: Wire) -> Mapping[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.reasoning is not None:
        message["thinking" if wire == "ollama" else "reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call, wire)}}
            for call in reply.calls
        ]
    return message


def _arguments(call: RawCall, wire: Wire) -> Any:
    """An object on Ollama's wire, text on OpenAI's."""
    return call.arguments if wire == "ollama" or isinstance(call.arguments, str) else as_json(call.arguments)
