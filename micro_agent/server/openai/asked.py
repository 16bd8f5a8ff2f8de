"""What a request asks: a question with its images, and what stood before it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from micro_agent.errors import ConfigurationError
from micro_agent.run.images import image_at
from micro_agent.server.openai.bodies import ChatRequest, ResponseRequest
from micro_agent.server.openai.errors import NotTaken

_TEXTS = ("text", "input_text", "output_text", "refusal")
_LEFT_OUT = ("reasoning", "mcp_list_tools")
"""Items of earlier responses that say nothing to a model."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in its conversation.

    Attributes:
        question: The last message.
        images: All images of the conversation, as URLs: a record keeps none, so each request brings them along.
        history: The messages before the question, without their images.
        system: What the client has for the system prompt.
        previous: The id of the response that it follows, where the client names one.
    """

    question: str
    images: tuple[str, ...] = ()
    history: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    system: str | None = None
    previous: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the conversation is nothing but texts of the user and the assistant."""
        return not self.images and all(set(message) == {"role", "content"} for message in self.history)


def of_chat(body: ChatRequest) -> Asked:
    """What a chat asks. Raises `NotTaken`."""
    return _asked([(f"messages.{number}", message) for number, message in enumerate(body.messages)])


def of_response(body: ResponseRequest) -> Asked:
    """What a request for a response asks. Raises `NotTaken`."""
    given = [{"role": "user", "content": body.input}] if isinstance(body.input, str) else body.input
    messages = [message for number, item in enumerate(given) for message in _of_item(f"input.{number}", item)]
    instructions = [("instructions", {"role": "system", "content": body.instructions})] if body.instructions else []
    return _asked([*instructions, *messages], previous=body.previous_response_id)


def _of_item(at: str, item: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """An item of a response's input as messages of a chat. A call that an earlier response told of is one again."""
    kind = item.get("type", "message")
    if kind == "message":
        yield at, item
    elif kind == "mcp_call":
        call = {"id": item.get("id"), "name": item.get("name"), "arguments": item.get("arguments")}
        yield at, {"role": "assistant", "content": "", "tool_calls": [call]}
        came = item.get("output") or item.get("error") or ""
        yield at, {"role": "tool", "tool_call_id": call["id"], "content": came}
    elif kind not in _LEFT_OUT:
        raise NotTaken(f"{at}.type", f"an item of the type {str(kind)[:50]!r} is not taken: send messages")


def _asked(messages: Sequence[tuple[str, Mapping[str, Any]]], previous: str | None = None) -> Asked:
    system: list[str] = []
    told: list[dict[str, Any]] = []
    images: list[str] = []
    for at, message in messages:
        seen = len(images)
        text = _text(at, message.get("content"), images)
        if message.get("role") in ("system", "developer"):
            system.append(text)
            continue
        shown = [text, *(f"(image {number})" for number in range(seen + 1, len(images) + 1))]
        kept = {name: message[name] for name in ("tool_calls", "tool_call_id") if message.get(name)}
        told.append({"role": message.get("role"), "content": "\n".join(filter(None, shown)), **kept})
    where = messages[-1][0] if messages else "messages"
    if not told or told[-1]["role"] != "user":
        raise NotTaken(where, "the last message is the question, of the user", "bad_request")
    question = told.pop()["content"]
    if not question.strip():
        raise NotTaken(where, "the question is blank", "bad_request")
    if previous is not None and told:
        raise NotTaken("input", "after `previous_response_id` comes one message of the user", "bad_request")
    return Asked(question, tuple(images), _checked(told), "\n\n".join(filter(None, system)) or None, previous)


def _checked(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from micro_agent.program.history import conversation  # it knows DSPy, which is imported with the first agent

    try:
        return conversation(history)
    except ConfigurationError as error:
        raise NotTaken("messages", str(error), "bad_request") from None


def _text(at: str, content: Any, images: list[str]) -> str:
    """The text of a message; its images are added to ``images``."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = cast("list[Any]", content) if isinstance(content, list) else [content]
    return "\n".join(filter(None, (_part(f"{at}.content.{n}", part, images) for n, part in enumerate(parts))))


def _part(at: str, part: Any, images: list[str]) -> str:
    told = _object(part)
    kind = told.get("type")
    text = told.get("refusal" if kind == "refusal" else "text")
    if kind in _TEXTS and isinstance(text, str):
        return text
    if kind not in ("image_url", "input_image"):
        raise NotTaken(at, "a part of a message is a text or an image")
    url = told.get("image_url")
    address = str(_object(url).get("url", url))
    try:
        image_at(address)
    except ValueError as error:
        raise NotTaken(at, str(error), "bad_request") from None
    images.append(address)
    return ""


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def key_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """What tells a conversation from all others, whatever blanks a front end puts around its messages."""
    return json.dumps([(message["role"], str(message["content"]).strip()) for message in messages])
