"""Any ``provider/model`` that LiteLLM knows, over DSPy's own LiteLLM engine: requests and errors stay DSPy's.

LiteLLM takes seconds to import, so that happens at the first call, or when somebody asks for the mode. It reads the
keys of its providers from the environment.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from functools import cached_property
from typing import Any, Self

from dspy import lm15

from micro_agent.dspy_internals import get_litellm, litellm_engine
from micro_agent.files.known_secrets import remember
from micro_agent.models import scope
from micro_agent.models.identity import Traits
from micro_agent.models.settings import keep_offline
from micro_agent.run import Mode


def _load() -> Any:
    """LiteLLM, told to call the model's host only and to leave ``.env`` files alone."""
    keep_offline()
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else it loads the first .env above its own folder
    return get_litellm(feature="LLM_PROVIDER=litellm")


class LiteLLMEngine(Traits):
    """One attempt through LiteLLM. Text is handed to `scope.CallScope.on_text` in one piece, when it is complete.

    Args:
        model: ``provider/model`` as LiteLLM names it.
        base_url: Where its server is; ``None`` leaves it to LiteLLM.
        api_key: Its key; ``None`` leaves it to LiteLLM, which reads the environment.
        timeout_s: Seconds for a call, less when the call's own deadline is nearer.
    """

    provider = "litellm"
    supports_function_calling = True
    supports_response_schema = True
    supported_params = frozenset({"tools", "tool_choice", "response_format"})

    def __init__(
        self, *, model: str, base_url: str | None = None, api_key: str | None = None, timeout_s: float = 120.0
    ) -> None:
        self.model, self.base_url, self.timeout_s = model, base_url, timeout_s
        remember("api_key", api_key)
        self._client = {key: value for key, value in {"api_base": base_url, "api_key": api_key}.items() if value}

    @cached_property
    def default_mode(self) -> Mode:
        """Native where LiteLLM knows that the model calls functions, JSON where it does not. Imports LiteLLM."""
        return "native" if _load().supports_function_calling(model=self.model) else "json"

    def complete(self, request: lm15.Request) -> lm15.Response:
        """The reply.

        Raises:
            lm15.LM15Error: What DSPy makes of LiteLLM's exception; ``TimeoutError`` when no time is left.
        """
        _load()
        return _shown(litellm_engine.LiteLLMEngine(**self.options()).complete(request))

    def stream(self, request: lm15.Request) -> Iterator[Any]:
        """DSPy's stream events, as they arrive."""
        _load()
        yield from litellm_engine.LiteLLMEngine(**self.options()).stream(request)

    def twin(self) -> "AsyncLiteLLMEngine":
        """The same for ``async`` callers."""
        return AsyncLiteLLMEngine(self)

    def dump_state(self) -> dict[str, Any]:
        """The settings as JSON, without the key."""
        return {"model": self.model, "base_url": self.base_url, "timeout_s": self.timeout_s}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """An engine with those settings."""
        return cls(**state)

    def options(self) -> dict[str, Any]:
        """What DSPy's engine is made with for one call.

        Raises:
            lm15.TimeoutError: The deadline of the call has passed.
        """
        remaining = scope.current().remaining()
        if remaining == 0:
            raise lm15.TimeoutError("the deadline of the call has passed", provider=self.provider)
        return {**self._client, "timeout": min(self.timeout_s, remaining or self.timeout_s)}


class AsyncLiteLLMEngine:
    """`LiteLLMEngine` for ``async`` callers; LiteLLM is imported in a thread."""

    def __init__(self, engine: LiteLLMEngine) -> None:
        self._engine = engine

    def dump_state(self) -> dict[str, Any]:
        """As `LiteLLMEngine.dump_state`."""
        return self._engine.dump_state()

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """The twin of an engine with those settings."""
        return cls(LiteLLMEngine.load_state(state))

    async def complete(self, request: lm15.Request) -> lm15.Response:
        """As `LiteLLMEngine.complete`."""
        await asyncio.to_thread(_load)
        return _shown(await litellm_engine.AsyncLiteLLMEngine(**self._engine.options()).complete(request))

    async def stream(self, request: lm15.Request) -> AsyncIterator[Any]:
        """As `LiteLLMEngine.stream`."""
        await asyncio.to_thread(_load)
        async for event in litellm_engine.AsyncLiteLLMEngine(**self._engine.options()).stream(request):
            yield event


def _shown(response: lm15.Response) -> lm15.Response:
    on_text = scope.current().on_text
    if on_text and response.message.text:
        on_text(response.message.text)
    return response
