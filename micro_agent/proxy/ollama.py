"""An Ollama server behind the proxy: a length of the context, no silent cut, a tool choice that holds.

Ollama's OpenAI face takes no ``num_ctx`` and no ``tool_choice``, and cuts a long prompt without a word: its
``docs/api/openai-compatibility.mdx``, "Setting the context size", and its open pull requests 16825 and 18399. So a chat
completion is asked of ``/api/chat``, which takes ``options.num_ctx``, ``truncate``, ``shift`` and ``format``, and comes
back as one; where a request holds what only the other can say, it goes there as it came. ``/v1/responses`` goes to the
same path, held to a call by its ``text.format`` where one has to be made. ``/v1/messages`` has no way to say even that.
Both have the length of the context that the server was started with (``OLLAMA_CONTEXT_LENGTH``).
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from micro_agent.models.addresses import OLLAMA_DEFAULT_URL
from micro_agent.models.bodies import as_object
from micro_agent.proxy.ollama_answer import Chunks, completion, failure
from micro_agent.proxy.ollama_request import Untold, held, native
from micro_agent.proxy.upstream import Answer, Forwarded, HttpUpstream, overlong
from micro_agent.text.encoding import as_json, object_of

NUM_CTX = 8192
"""Tokens of the context that are asked for where nobody says; what ``OLLAMA_NUM_CTX`` has by default."""
_CHAT = "/v1/chat/completions"
_CHANGED = frozenset({b"content-length", b"content-type", b"transfer-encoding"})


class OllamaUpstream(HttpUpstream):
    """An Ollama server.

    Args:
        url: Its base URL, without ``/v1`` or ``/api``.
        num_ctx: Tokens of the context of a chat completion, by default `NUM_CTX`; a request that has ``options`` or a
            ``num_ctx`` of its own keeps them. Where it is given, it counts for what the other APIs refuse as too long.

    Raises:
        ConfigurationError: The URL cannot be one.
    """

    provider = "ollama"

    def __init__(self, url: str = OLLAMA_DEFAULT_URL, *, num_ctx: int | None = None) -> None:
        super().__init__(url)
        self._given = num_ctx
        self.num_ctx = num_ctx or NUM_CTX

    def overlong(self, request: Forwarded) -> str | None:
        """See `Upstream`. A request that names a length of its own is left to the server, which refuses as well."""
        body = request.body or {}
        if request.path == _CHAT and not (body.get("num_ctx") or as_object(body.get("options")).get("num_ctx")):
            return overlong(request, self.num_ctx)
        return None if self._given is None else overlong(request, self._given)

    async def send(self, request: Forwarded) -> Answer:
        """See `Upstream`."""
        if request.body is None or request.asked is None:
            return await super().send(request)
        if request.path == _CHAT:
            try:
                body = native(request.body, request.asked, num_ctx=self.num_ctx)
            except (Untold, KeyError, TypeError):
                return await super().send(request)
            return _as_completion(await self.post("POST", "/api/chat", request.headers, _raw(body)), request.body)
        changed = held(request.path, request.body, request.asked)
        if changed is None:
            return await super().send(request)
        return await self.post(request.method, request.target, request.headers, _raw(changed))


def _as_completion(answer: Answer, body: Mapping[str, Any]) -> Answer:
    """The answer of ``/api/chat`` as one of its OpenAI face."""
    streams = answer.status == 200 and body.get("stream") is True
    headers = [(name, value) for name, value in answer.headers if name.lower() not in _CHANGED]
    headers.append((b"content-type", b"text/event-stream" if streams else b"application/json"))
    usage = as_object(body.get("stream_options")).get("include_usage") is True
    return replace(answer, headers=headers, pieces=_streamed(answer, usage=usage) if streams else _at_once(answer))


async def _streamed(answer: Answer, *, usage: bool) -> AsyncIterator[bytes]:
    chunks = Chunks(usage=usage)
    async for data in answer.pieces:
        for event in chunks.feed(data):
            yield event
    for event in chunks.rest():
        yield event


async def _at_once(answer: Answer) -> AsyncIterator[bytes]:
    yield _whole(answer.status, await answer.whole())


def _whole(status: int, raw: bytes) -> bytes:
    body = object_of(raw.decode(errors="replace"))
    told = completion(body) if status == 200 and body is not None and "error" not in body else failure(status, raw)
    return _raw(told)


def _raw(body: Mapping[str, Any]) -> bytes:
    return as_json(body).encode()
