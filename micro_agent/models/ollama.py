"""Ollama's own ``/api/chat``: unlike its OpenAI-compatible API it takes the length of the context with the request.

Source of the format: Ollama's ``docs/api.md``.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
from collections.abc import Iterator
from typing import Any, ClassVar, cast

from dspy import LMUnsupportedFeatureError, lm15

from micro_agent.models.bodies import as_object, reasoning_of, text_of
from micro_agent.models.chat_stream import cut_short
from micro_agent.models.endpoint import Endpoint
from micro_agent.models.engine import AsyncHttpEngine, HttpEngine
from micro_agent.models.failures import Refusal, refused
from micro_agent.models.reply import Wire, mended, piece, unreadable
from micro_agent.models.scope import thought
from micro_agent.run import Finish, Mode

_OPTIONS = (
    ("temperature", "temperature"),
    ("max_tokens", "num_predict"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("seed", "seed"),
    ("frequency_penalty", "frequency_penalty"),
    ("presence_penalty", "presence_penalty"),
)
"""DSPy's names of sampling settings and Ollama's."""


class OllamaEngine(HttpEngine):
    """One model of an Ollama server.

    Args:
        model: Its name, whatever a request calls it.
        base_url: Where the server is, without ``/api``.
        num_ctx: The context in tokens, sent with each request: the server's default is small, and it cuts silently.
        keep_alive: How long the model stays loaded, such as ``"10m"``, or seconds; ``None`` leaves it to the server.
        think: Whether a model that can think does so before it answers; ``None`` leaves it to the model.
        timeout_s: Seconds for a call, less when the call's own deadline is nearer.

    Raises:
        ConfigurationError: The URL cannot be one.
    """

    default_mode: ClassVar[Mode] = "json"
    wire: ClassVar[Wire] = "ollama"
    finish: Finish = "ask"
    schema_in_prompt = False

    def __init__(
        self,
        *,
        model: str,
        base_url: str = "http://127.0.0.1:11434",
        num_ctx: int = 8192,
        keep_alive: str | int | None = None,
        think: bool | None = None,
        timeout_s: float = 120.0,
    ):
        endpoint = Endpoint(base_url, "/api/chat", timeout_s=timeout_s, headers=[])
        super().__init__(endpoint, model=model, provider="ollama")
        self.num_ctx = num_ctx
        self.keep_alive = keep_alive
        self.think = think

    def render(self, request: lm15.Request, *, stream: bool) -> bytes:
        """The JSON of the request.

        Raises:
            LMUnsupportedFeatureError: A message holds something else than text, images and calls.
        """
        config = request.config
        given = [(theirs, getattr(config, ours)) for ours, theirs in _OPTIONS]
        options = {"num_ctx": self.num_ctx, **{name: value for name, value in given if value is not None}}
        if config.stop:
            options["stop"] = list(config.stop)
        messages = list(_messages(request))
        body: dict[str, Any] = {"model": self.model, "messages": messages, "stream": stream, "truncate": False}
        none = config.tool_choice is not None and config.tool_choice.mode == "none"
        if request.tools and (config.response_format or not none):  # held to a schema, no reply is a call
            body["tools"] = [_tool(tool) for tool in request.tools]
        if config.response_format:
            body["format"] = config.response_format.get("schema", "json")
        if self.keep_alive is not None:
            body["keep_alive"] = self.keep_alive
        if self.think is not None:
            body["think"] = self.think
        body = {**body, "options": options, **(config.extensions or {})}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()

    def assembly(self, sent: Refusal) -> "OllamaAssembly":
        """What reads a stream."""
        return OllamaAssembly(sent)

    def twin(self) -> "AsyncOllamaEngine":
        """The same for ``async`` callers."""
        return AsyncOllamaEngine(self)

    def dump_state(self) -> dict[str, Any]:
        """The settings as JSON."""
        return {
            "model": self.model,
            "base_url": self.base_url,
            "num_ctx": self.num_ctx,
            "keep_alive": self.keep_alive,
            "think": self.think,
            "timeout_s": self.endpoint.timeout_s,
        }


class AsyncOllamaEngine(AsyncHttpEngine):
    """`OllamaEngine` for ``async`` callers."""

    of = OllamaEngine


class OllamaAssembly:
    """Reads the lines of a stream, one JSON object each. ``sent`` says whence it came, for the errors."""

    def __init__(self, sent: Refusal):
        self.done = False
        self._sent = sent
        self._last: dict[str, Any] = {}
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[Any] = []

    def feed(self, line: bytes) -> str:
        """Take one line; the answer text in it.

        Raises:
            LMError: The server reports an error, or the line is not JSON.
        """
        if not line.strip():
            return ""
        try:
            chunk = piece(line)
        except (ValueError, RecursionError):
            chunk = None
        if isinstance(chunk, dict):
            return self._take(cast(dict[str, Any], chunk))
        if line.endswith(b"\n"):
            raise unreadable(line.decode(errors="replace"), self._sent)
        return ""  # a line that did not arrive as a whole: `body` says so

    def body(self) -> dict[str, Any]:
        """The body of the whole reply.

        Raises:
            LMTransportError: The line that says it is done has not come.
        """
        if not self.done:
            raise cut_short(self._sent)
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text)}
        if self._thinking:
            message["thinking"] = "".join(self._thinking)
        if self._calls:
            message["tool_calls"] = self._calls
        return mended({**self._last, "message": message})

    def _take(self, chunk: dict[str, Any]) -> str:
        if chunk.get("error"):
            raise refused(self._sent.saying(json.dumps(chunk, ensure_ascii=False)))
        message = as_object(chunk.get("message"))
        text = text_of(message.get("content")) or text_of(chunk.get("response"))
        self._text.append(text)
        if thinking := reasoning_of(message):
            thought(thinking)
            self._thinking.append(thinking)
        calls = message.get("tool_calls")
        calls = cast(list[Any], calls) if isinstance(calls, list) else []
        if not (chunk.get("done") and calls == self._calls):  # or the last chunk says all of them once more
            self._calls += calls
        if chunk.get("done"):
            self.done, self._last = True, chunk
        return mended(text)


def _messages(request: lm15.Request) -> Iterator[dict[str, Any]]:
    if request.system is not None:
        system = request.system if isinstance(request.system, str) else _text(request.system)
        yield {"role": "system", "content": system}
    for message in request.messages:
        if message.role == "tool":
            for result in message.parts_of(lm15.ToolResultPart):
                yield _result(result)
        else:
            yield _said(message)


def _said(message: lm15.Message) -> dict[str, Any]:
    calls = message.parts_of(lm15.ToolCallPart)
    apart = lm15.ToolCallPart | lm15.ThinkingPart | lm15.ImagePart
    rest = [part for part in message.parts if not isinstance(part, apart)]
    role = "system" if message.role == "developer" else message.role
    said: dict[str, Any] = {"role": role, "content": _text(rest)}
    if images := message.parts_of(lm15.ImagePart):
        said["images"] = list(map(_image, images))
    if calls:
        said["tool_calls"] = [{"function": {"name": call.name, "arguments": call.input}} for call in calls]
    return said


def _result(result: lm15.ToolResultPart) -> dict[str, Any]:
    named = {"tool_name": result.name} if result.name else {}
    return {"role": "tool", **named, "content": _text(result.content)}


def _image(part: lm15.ImagePart) -> str:
    if part.data is None:
        told = "Ollama takes no address of an image: pass the file, as dspy.Image.from_path or --image does"
        raise LMUnsupportedFeatureError(told, provider="ollama")
    return part.data


def _text(parts: Any) -> str:
    for part in parts:
        if not isinstance(part, lm15.TextPart | lm15.RefusalPart):
            raise LMUnsupportedFeatureError(f"this engine sends no {part.type}", provider="ollama")
    return "\n".join(part.text or "" for part in parts)


def _tool(tool: Any) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
