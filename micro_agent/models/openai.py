"""OpenAI's ``/chat/completions``, and whatever server speaks it.

DSPy's own wire code writes the request; the reply is read by ours, which forgives more.
"""
# pyright: reportUnknownMemberType=false

from dataclasses import replace
from typing import Any, ClassVar, Literal

from dspy import lm15

from micro_agent.errors import ConfigurationError
from micro_agent.models.addresses import is_public_openai
from micro_agent.models.chat_stream import ChatAssembly
from micro_agent.models.endpoint import Endpoint
from micro_agent.models.engine import AsyncHttpEngine, HttpEngine
from micro_agent.models.failures import Refusal
from micro_agent.models.reply import Wire
from micro_agent.models.scope import current
from micro_agent.run import Mode


class OpenAIEngine(HttpEngine):
    """One model behind an OpenAI-compatible API.

    Args:
        model: Its name on the wire, whatever a request calls it.
        base_url: Where the API is, without ``/chat/completions``; most servers have it under ``/v1``.
        api_key: Sent as ``Authorization: Bearer``; without one nothing is sent.
        timeout_s: Seconds for a call, less when the call's own deadline is nearer.
        provider: The name that errors and traces carry.

    Raises:
        ConfigurationError: The URL or the key cannot be one.
    """

    default_mode: ClassVar[Mode] = "native"
    wire: ClassVar[Wire] = "openai"
    takes_n = True  # until it gives one only

    def __init__(
        self,
        *,
        model: str,
        base_url: str,
        api_key: str | None = None,
        timeout_s: float = 120.0,
        provider: str = "openai",
    ):
        key = (api_key or "").strip()
        if not (key.isascii() and key.isprintable()):
            raise ConfigurationError("the API key holds characters that no key has: copy it again")
        headers = [("Authorization", f"Bearer {key}")] if key else []
        endpoint = Endpoint(base_url, "/chat/completions", timeout_s=timeout_s, headers=headers)
        super().__init__(endpoint, model=model, provider=provider, secret=key or None)
        self.finish = "text" if is_public_openai(base_url) else "ask"
        self._dialect, self._uncounted = self._dialect_with("include"), self._dialect_with("omit")

    def render(self, request: lm15.Request, *, stream: bool) -> bytes:
        """The JSON of the request."""
        dialect, count = self._uncounted if self.refuses_stream_options else self._dialect, current().count
        config = replace(request.config, extensions={"n": count}) if count > 1 else request.config
        return dialect.build_request(replace(request, model=self.model, config=config), stream=stream).body

    def _dialect_with(self, stream_usage: Literal["include", "omit"]) -> lm15.OpenAIChatLM:
        return lm15.OpenAIChatLM(
            api_key="none",  # it renders only; the key is in the headers
            transport=_NoTransport(),
            base_url=self.base_url,
            compat=lm15.OpenAIChatCompat(
                max_tokens_field="max_completion_tokens" if is_public_openai(self.base_url) else "max_tokens",
                thinking_replay="omit",
                stream_usage=stream_usage,
            ),
        )

    def assembly(self, sent: Refusal) -> ChatAssembly:
        """What reads a stream."""
        return ChatAssembly(sent)

    def twin(self) -> "AsyncOpenAIEngine":
        """The same for ``async`` callers."""
        return AsyncOpenAIEngine(self)

    def dump_state(self) -> dict[str, Any]:
        """The settings as JSON, without the key."""
        timeout_s = self.endpoint.timeout_s
        return {"model": self.model, "base_url": self.base_url, "timeout_s": timeout_s, "provider": self.provider}


class AsyncOpenAIEngine(AsyncHttpEngine):
    """`OpenAIEngine` for ``async`` callers."""

    of = OpenAIEngine


class _NoTransport:
    def stream(self, request: Any) -> Any:
        raise NotImplementedError
