"""What the scripted model server answers to a request, without any socket."""

from collections.abc import Sequence
from dataclasses import replace
from threading import RLock
from typing import Any

from micro_agent.testing import ollama_wire, openai_wire
from micro_agent.testing.answer import Answer, answer, refusal
from micro_agent.testing.reply import Failure, Hang, Reply, encode
from micro_agent.testing.script import Player, Received, Script
from micro_agent.testing.truncation import Truncated, truncated
from micro_agent.testing.wire import Chat, Wire

OLLAMA_VERSION = "0.12.0"
"""What ``GET /api/version`` says."""

CAPABILITIES = ("completion", "tools")
"""What ``POST /api/show`` says that a model can do."""

Timed = tuple[float, Answer | None]
"""Seconds to wait, then the answer; without one the connection is closed."""


class Service:
    """Both APIs over one script; `respond` may be called from many threads."""

    def __init__(
        self,
        script: Script,
        *,
        models: Sequence[str] = ("scripted",),
        context_length: int = 8192,
        capabilities: Sequence[str] = CAPABILITIES,
        latency_s: float = 0.0,
        repeat: bool = False,
        strict_models: bool = False,
        truncate: bool = False,
    ):
        self.models = tuple(models)
        self.context_length = context_length
        self.capabilities = capabilities
        self.latency_s = latency_s
        self.strict_models = strict_models
        self.truncate = truncate
        self.truncated: list[Truncated] = []
        self.lock = RLock()
        self.requests: list[Received] = []
        self.chats: list[Received] = []
        """The requests that the script was asked for; guarded, as ``requests`` is, by ``lock``."""
        self._player = Player(script, repeat=repeat)

    def respond(self, request: Received) -> Timed:
        """Record a request and answer it.

        Raises:
            Exception: Whatever the script's function raises.
        """
        with self.lock:
            self.requests.append(request)
        method, path = request.method, request.path.partition("?")[0]
        match method, path:
            case "POST", "/v1/chat/completions" | "/chat/completions":
                return self._chat(openai_wire, request)
            case "POST", "/api/chat":
                return self._chat(ollama_wire, request)
            case "GET", "/v1/models" | "/models":
                return 0.0, _found(openai_wire.listing(self.models))
            case "GET", "/api/tags":
                return 0.0, _found(ollama_wire.listing(self.models))
            case "POST", "/api/show":
                return 0.0, self._show(request)
            case "GET", "/api/version":
                return 0.0, _found({"version": OLLAMA_VERSION})
            case "HEAD", _:
                return 0.0, Answer(404, (b"",))
            case _:
                return 0.0, refusal(Failure(404, f"there is no {method} {path}", "not_found"), wire_of(request))

    def _chat(self, wire: Wire, request: Received) -> Timed:
        body = request.body
        if body is None or not isinstance(body.get("messages"), list):
            return 0.0, refusal(Failure(400, "the body must be a JSON object with a list of messages"), wire)
        missing = self._missing(wire, body)
        if missing is not None:
            return 0.0, missing
        with self.lock:
            if (yes := self._player.says_yes(request)) is not None:
                model = str(body.get("model") or self.models[0])
                return self.latency_s, answer(yes, wire, Chat(body, model, len(self.chats)))
            self.chats.append(request)
            serial = len(self.chats)
            reply = self._truncated(request) if self.truncate and wire is ollama_wire else self._player.play(request)
        delay_s = self.latency_s + reply.delay_s
        if isinstance(reply.fault, Hang):
            return delay_s + reply.fault.seconds, None
        model = reply.model or body.get("model") or self.models[0]
        return delay_s, answer(reply, wire, Chat(body, str(model), serial))

    def _truncated(self, request: Received) -> Reply:
        """The reply of a model that sees what is left of the request. What it reports is counted as the cut is made."""
        body = request.body or {}
        messages, tokens, lost = truncated(body, len(self.chats) - 1)
        if lost is not None:
            self.truncated.append(lost)
        reply = self._player.play(replace(request, body={**body, "messages": messages}))
        return reply if reply.usage is None else reply.with_(usage=(tokens, reply.usage[1]))

    def _show(self, request: Received) -> Answer:
        if request.body is None:
            return refusal(Failure(400, "the body must be a JSON object"), ollama_wire)
        shown = ollama_wire.show(self.context_length, self.capabilities)
        return self._missing(ollama_wire, request.body) or _found(shown)

    def _missing(self, wire: Wire, body: dict[str, Any]) -> Answer | None:
        model = str(body.get("model"))
        if not self.strict_models or _tagged(model) in map(_tagged, self.models):
            return None
        message, code = wire.unknown_model(model)
        return refusal(Failure(404, message, code), wire)


def wire_of(request: Received) -> Wire:
    """The wire in whose form a request is refused."""
    return ollama_wire if request.path.startswith("/api/") else openai_wire


def _tagged(model: str) -> str:
    """Ollama reads a name without a tag as ``name:latest``."""
    return model if ":" in model else f"{model}:latest"


def _found(body: dict[str, Any]) -> Answer:
    return Answer(200, (encode(body),))
