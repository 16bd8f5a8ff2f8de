"""The bodies of requests in OpenAI's form, as far as they are looked at, and what is refused in them.

What shapes the text of a model alone (``temperature``, ``max_tokens``, ``stop`` and their like) is taken and left: the
model is asked as the server is set up. What a client would miss in the answer is refused.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from micro_agent.server.openai.errors import NotTaken

MODEL = "micro-agent"
"""The one model that there is to ask."""

_TOOLS = (
    "the agent runs its own tools and takes none of the client's: leave this out, or ask the model itself, through "
    "`micro-agent proxy`"
)
_ONE_TEXT = "the answer is one text"
_CHAT: dict[str, tuple[str, tuple[Any, ...]]] = {
    "tools": (_TOOLS, ([],)),
    "functions": (_TOOLS, ([],)),
    "tool_choice": (_TOOLS, ("auto", "none")),
    "function_call": (_TOOLS, ("auto", "none")),
    "n": ("there is one answer to a question", (1,)),
    "response_format": (_ONE_TEXT, ({"type": "text"},)),
    "modalities": (_ONE_TEXT, (["text"],)),
    "audio": (_ONE_TEXT, ()),
    "logprobs": ("there are no log probabilities of an answer", (False,)),
    "web_search_options": (_TOOLS, ()),
}
_RESPONSES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "tools": (_TOOLS, ([],)),
    "tool_choice": (_TOOLS, ("auto", "none")),
    "background": ("the answer comes with the response: leave this out", (False,)),
    "conversation": ("conversations are not kept here: send their messages, or `previous_response_id`", ()),
    "prompt": ("prompts are not kept here: send `instructions` and `input`", ()),
}
"""For each field why it is refused, and the values that it may have: those that change nothing."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)
    model: str
    stream: bool | None = None
    metadata: dict[str, Any] | None = None


class StreamOptions(BaseModel):
    """What a stream is to have beside the answer."""

    include_usage: bool | None = None


class ChatRequest(_Body):
    """A request for a chat completion."""

    messages: list[dict[str, Any]] = Field(min_length=1)
    stream_options: StreamOptions | None = None


class ResponseRequest(_Body):
    """A request for a response."""

    input: str | list[dict[str, Any]]
    instructions: str | None = None
    previous_response_id: str | None = None
    text: dict[str, Any] | None = None


def check_chat(body: ChatRequest) -> None:
    """Raises `NotTaken` for what this request must not ask for."""
    _check(body, _CHAT)


def check_response(body: ResponseRequest) -> None:
    """Raises `NotTaken` for what this request must not ask for."""
    _check(body, _RESPONSES)
    if (body.text or {}).get("format") not in (None, {"type": "text"}):
        raise NotTaken("text.format", _ONE_TEXT)


def check_model(name: str, param: str = "model") -> None:
    """Raises `NotTaken` unless this is the model that there is: nothing answers in the name of another one."""
    if name != MODEL:
        raise NotTaken(param, f"there is no model {name[:100]!r} here: ask {MODEL!r}", "model_not_found")


def _check(body: _Body, refused: Mapping[str, tuple[str, tuple[Any, ...]]]) -> None:
    check_model(body.model)
    given = body.model_extra or {}
    for name, (why, harmless) in refused.items():
        if given.get(name) is not None and given[name] not in harmless:
            raise NotTaken(name, why)
