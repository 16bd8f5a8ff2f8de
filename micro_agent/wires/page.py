"""The page: the conversation of one run as it is rendered on a wire, and only ever appended to.

What was rendered is kept, so that a local server finds its prefix cache at every step. Only a trim begins again after
the head, which is what comes before the question: instructions, tools and demos.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from micro_agent.context.tokens import estimate
from micro_agent.context.views import View
from micro_agent.run.images import Image
from micro_agent.text.encoding import as_json, encodable
from micro_agent.tools import Tool
from micro_agent.wires.chain import Chain, message_tokens
from micro_agent.wires.images import digested
from micro_agent.wires.native import NativeWire
from micro_agent.wires.turns import demo_of, turns_of


class Page:
    """Renders one run on one wire. ``messages`` are DSPy's."""

    def __init__(self, wire: NativeWire, tools: Sequence[Tool], response_format: Any) -> None:
        self.wire, self.chain, self.system = wire, Chain(), ""
        self.messages: list[Any] = []
        self.images: Sequence[Image] = ()
        """Those of the question."""
        counted = response_format is not None and wire.schema_in_prompt
        self.schema_tokens = estimate(as_json(response_format)) if counted else 0
        """So many of a request's tokens, as estimated, are those of a schema that the server may not tell the model."""
        self._tools, self._format = tools, response_format
        self._head, self._rendered = -1, 0

    @property
    def begun(self) -> bool:
        """Whether the head is there."""
        return self._head >= 0

    def open(self, instructions: str, demos: Sequence[View]) -> None:
        """Render the head."""
        self.system = encodable(self.wire.system(instructions, self._tools))
        told = self.wire.tools(self._tools)
        named = [[one.name, one.description, one.parameters] for one in told]
        self.chain.begin(self.system, named, self._format, schema_tokens=self.schema_tokens)
        for number, demo in enumerate(demos):
            self._append(demo_of(self.wire, number, demo))
        self._head = len(self.messages)

    def render(self, question: str, steps: Sequence[View]) -> int:
        """Render what is new of ``steps``; the estimated tokens of the whole request. The head must be there."""
        if len(self.messages) == self._head:
            self._append([self.wire.asks(question, self.images)])
        self._append(turns_of(self.wire, steps[self._rendered :]))
        self._rendered = len(steps)
        return self.chain.tokens

    def restart(self) -> None:
        """Forget all after the head."""
        del self.messages[self._head :]
        self.chain.cut(self._head)
        self._rendered = 0

    def measure(self, question: str, steps: Sequence[View], images: Sequence[Image] = ()) -> int:
        """The estimated tokens of a request of the head, this question and these steps."""
        messages = [self.wire.asks(question, images), *turns_of(self.wire, steps)]
        return self.chain.tokens_of(self._head) + sum(message_tokens(_data(message)) for message in messages)

    def sent(self) -> dict[str, Any]:
        """The record of the request as it stands, which is being sent: see `LMCall.request`."""
        return {**self.chain.sent(), **self.wire.told}

    def _append(self, messages: Iterable[Any]) -> None:
        for message in messages:
            self.messages.append(message)
            self.chain.add(_data(message))


def _data(message: Any) -> list[Any]:
    return [message.role, *map(_plain, message.parts)]


def _plain(part: Any) -> list[Any]:
    """A message's part as JSON-able data, for digests."""
    if part.type == "image":
        return digested(part)
    fields = [getattr(part, name, None) for name in ("id", "name", "input", "text")]
    return [part.type, *fields, *map(_plain, getattr(part, "content", ()))]
