"""What the engines over HTTP share: one attempt, whole or streamed, synchronous or asynchronous, as DSPy asks of one.

DSPy owns the call around it; the driver of a run owns retries. `scope` carries the deadline of the call and where text
goes as it arrives.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import aclosing, closing
from typing import Any, ClassVar, Self

from dspy import LMError, lm15

from micro_agent.files.known_secrets import remember
from micro_agent.models.assembly import Assembly, UnlessPage
from micro_agent.models.contention import Turns
from micro_agent.models.endpoint import Endpoint
from micro_agent.models.failures import Refusal, marked, refused, refuses_stream_options
from micro_agent.models.http import AsyncHttp, AsyncHttpReply, Http, HttpReply
from micro_agent.models.identity import Traits
from micro_agent.models.reply import Wire, body_of, response_of
from micro_agent.models.scope import current
from micro_agent.run import Mode

_EVENTS = (b"data:", b"event:", b": ")
"""How server-sent events begin."""
SUPPORTED = frozenset({"tools", "tool_choice", "response_format", "temperature", "max_tokens", "top_p", "seed", "stop"})


class HttpEngine(Traits, ABC):
    """One model of one server. Safe to share between threads; a copy is the engine itself."""

    supports_function_calling = True
    supports_response_schema = True
    supported_params = SUPPORTED
    default_mode: ClassVar[Mode]
    wire: ClassVar[Wire]

    def __init__(self, endpoint: Endpoint, *, model: str, provider: str, secret: str | None = None):
        self.model = model
        self.provider = provider
        self.refuses_stream_options = False
        self.endpoint = endpoint
        remember("api_key", secret)
        self._http = Http(endpoint)
        self.turns = Turns()

    @property
    def base_url(self) -> str:
        """Where the server is."""
        return self.endpoint.base_url

    @abstractmethod
    def render(self, request: lm15.Request, *, stream: bool) -> bytes:
        """The body of the HTTP request: the same bytes for the same request."""

    @abstractmethod
    def assembly(self, sent: Refusal) -> Assembly:
        """What reads a stream. ``sent`` says whence it came."""

    @abstractmethod
    def dump_state(self) -> dict[str, Any]:
        """The settings as JSON, without the key."""

    @abstractmethod
    def twin(self) -> "AsyncHttpEngine":
        """The same for ``async`` callers."""

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """An engine with those settings."""
        return cls(**state)

    def complete(self, request: lm15.Request) -> lm15.Response:
        """The reply to ``request``, after one attempt.

        Raises:
            LMError: With the attributes ``status`` and ``body`` where a server refused, and ``emitted``: whether text
                had been shown before a stream broke.
        """
        on_text = current().on_text
        if on_text is None:
            body = self.render(request, stream=False)
            with self.turns.taken(self.endpoint), self._http.post(body) as reply:
                return self.response(self.body(reply, reply.read()))
        outcome: list[dict[str, Any]] = []
        emitted = False
        try:
            with closing(self._texts(request, outcome)) as texts:
                for text in texts:
                    emitted = on_text(text) is not False or emitted
        except LMError as error:
            marked(error, emitted=emitted)
            raise
        return self.response(outcome[0])

    def stream(self, request: lm15.Request) -> Generator[Any]:
        """The reply as DSPy's stream events, text as it arrives; raises as `complete` does."""
        outcome: list[dict[str, Any]] = []
        yield lm15.StreamStartEvent(model=self.model)
        spoken = False
        with closing(self._texts(request, outcome)) as texts:
            for text in texts:
                spoken = True
                yield text_event(text)
        yield from rest_of_events(self.response(outcome[0]), spoken)

    def _texts(self, request: lm15.Request, outcome: list[dict[str, Any]]) -> Generator[str, None, None]:
        """The pieces of answer text; the body of the whole reply is put into ``outcome`` at the end."""
        with self.turns.taken(self.endpoint), self._streamed(request) as reply:
            if not streams(reply):
                body = self.body(reply, reply.read())
                yield from whole_text(self.response(body))
                outcome.append(body)
                return
            assembly = UnlessPage(self.assembly(self.sent(reply)), self.sent(reply))
            for line in reply.lines():
                if text := assembly.feed(line):
                    yield text
                if assembly.done:
                    break
            outcome.append(assembly.body())

    def _streamed(self, request: lm15.Request) -> HttpReply:
        """The reply to a request for a stream, which is made once more where its ``stream_options`` are refused."""
        reply = self._http.post(self.render(request, stream=True))
        if reply.status < 300:
            return reply
        with reply:
            self.give_way(reply, reply.read())
        return self._http.post(self.render(request, stream=True))

    def give_way(self, reply: HttpReply | AsyncHttpReply, raw: bytes) -> None:
        """Leave ``stream_options`` out from now on, since the server refuses them in ``raw``.

        Raises:
            LMError: It refuses something else.
        """
        error = refused(self.sent(reply).saying(raw.decode(errors="replace")))
        if not refuses_stream_options(error):
            raise error
        self.refuses_stream_options = True

    def close(self) -> None:
        """Close the connections. The engine cannot be used after that."""
        self._http.close()

    def sent(self, reply: HttpReply | AsyncHttpReply) -> Refusal:
        """Whence ``reply`` came, for the errors that it may become."""
        return Refusal(reply.status, "", reply.headers, self.endpoint.url, self.model, self.provider)

    def body(self, reply: HttpReply | AsyncHttpReply, raw: bytes) -> dict[str, Any]:
        """The JSON of a whole reply; raises as `body_of` does.

        Some servers stream to who did not ask, or call a stream JSON.
        """
        if reply.status < 300 and raw.lstrip().startswith(_EVENTS):
            assembly = self.assembly(self.sent(reply))
            for line in raw.splitlines(keepends=True):
                assembly.feed(line)
            return assembly.body()
        return body_of(raw, self.sent(reply))

    def response(self, body: dict[str, Any]) -> lm15.Response:
        """``body`` as DSPy has it."""
        return response_of(body, model=self.model, wire=self.wire)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class AsyncHttpEngine:
    """The asynchronous twin of an engine: its settings, connections of its own for each event loop."""

    supports_function_calling = True
    supports_response_schema = True
    supported_params = SUPPORTED
    of: ClassVar[type[HttpEngine]]

    def __init__(self, engine: HttpEngine):
        self._engine = engine
        self._http = AsyncHttp(engine.endpoint)

    def __getattr__(self, name: str) -> Any:
        # What the driver reads of an engine (model, provider, base_url, default_mode, refuses_tools, …) is the twin's.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._engine, name)

    async def complete(self, request: lm15.Request) -> lm15.Response:
        """As `HttpEngine.complete`."""
        engine, on_text = self._engine, current().on_text
        if on_text is None:
            body = engine.render(request, stream=False)
            async with engine.turns.ataken(engine.endpoint), await self._http.post(body) as reply:
                return engine.response(engine.body(reply, await reply.read()))
        outcome: list[dict[str, Any]] = []
        emitted = False
        try:
            async with aclosing(self._texts(request, outcome)) as texts:
                async for text in texts:
                    emitted = on_text(text) is not False or emitted
        except LMError as error:
            marked(error, emitted=emitted)
            raise
        return engine.response(outcome[0])

    async def stream(self, request: lm15.Request) -> AsyncGenerator[Any, None]:
        """As `HttpEngine.stream`."""
        outcome: list[dict[str, Any]] = []
        yield lm15.StreamStartEvent(model=self._engine.model)
        spoken = False
        async with aclosing(self._texts(request, outcome)) as texts:
            async for text in texts:
                spoken = True
                yield text_event(text)
        for event in rest_of_events(self._engine.response(outcome[0]), spoken):
            yield event

    async def _texts(self, request: lm15.Request, outcome: list[dict[str, Any]]) -> AsyncGenerator[str, None]:
        engine = self._engine
        async with engine.turns.ataken(engine.endpoint), await self._streamed(request) as reply:
            if not streams(reply):
                body = engine.body(reply, await reply.read())
                for text in whole_text(engine.response(body)):
                    yield text
                outcome.append(body)
                return
            assembly = UnlessPage(engine.assembly(engine.sent(reply)), engine.sent(reply))
            async with aclosing(reply.lines()) as lines:
                async for line in lines:
                    if text := assembly.feed(line):
                        yield text
                    if assembly.done:
                        break
            outcome.append(assembly.body())

    async def _streamed(self, request: lm15.Request) -> AsyncHttpReply:
        reply = await self._http.post(self._engine.render(request, stream=True))
        if reply.status < 300:
            return reply
        async with reply:
            self._engine.give_way(reply, await reply.read())
        return await self._http.post(self._engine.render(request, stream=True))

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self._http.aclose()

    def dump_state(self) -> dict[str, Any]:
        """As `HttpEngine.dump_state`."""
        return self._engine.dump_state()

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """The twin of an engine with those settings."""
        return cls(cls.of.load_state(state))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def streams(reply: HttpReply | AsyncHttpReply) -> bool:
    """Whether a reply comes in pieces. Errors do not, and some servers ignore ``stream`` and send one JSON object."""
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    return reply.status < 300 and kind not in ("application/json", "text/html")


def whole_text(response: lm15.Response) -> Iterator[str]:
    """The text of a reply that was asked to stream and came in one piece."""
    yield from [part.text for part in response.message.parts if isinstance(part, lm15.TextPart) and part.text]


def text_event(text: str) -> lm15.StreamDeltaEvent:
    """A piece of text as DSPy's stream event."""
    return lm15.StreamDeltaEvent(delta=lm15.TextDelta(text=text, part_index=0))


def rest_of_events(response: lm15.Response, spoken: bool) -> Iterator[Any]:
    """What follows the text, of which part 0 is made if it was ``spoken``: the other parts and the end."""
    _, *events = lm15.response_to_events(response)
    for event in events:
        if not (spoken and isinstance(event, lm15.StreamDeltaEvent) and isinstance(event.delta, lm15.TextDelta)):
            yield event
