"""The values that decoding takes and gives. Plain data: nothing here raises, nothing here knows the loop."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

MAX_DEPTH = 64
"""Levels of nesting: JSON that is deeper is not read."""

Reason = Literal["empty", "malformed", "cut_off", "unknown_tool", "bad_arguments", "ambiguous", "refused", "quoted"]

Standing = Literal["native", "markup", "alone", "embedded"]
"""Where a call stands in its reply.

``native``: in the wire's own field; ``markup``: in a dialect's markup, with nothing but thought around it; ``alone``:
it is the whole reply, in a fence or not; ``embedded``: other text or code is around it, around markup and fences too.
"""


class ToolSpec(Protocol):
    """What decoding must know of a tool. `micro_agent.Tool` has it."""

    @property
    def name(self) -> str:
        """The name that the model uses."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schema of the arguments, an object."""
        ...


@dataclass(frozen=True, slots=True)
class RawCall:
    """A native tool call as the server sent it.

    ``arguments`` is a JSON string (OpenAI), an object (Ollama) or whatever else came; ``id`` and ``name`` may be empty.
    """

    name: str
    arguments: Any = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One reply of a model, whichever wire it came over.

    ``finish_reason`` is the server's word (``stop``, ``length``, ``tool_calls``, ``content_filter``, …), ``None`` when
    it said none.
    """

    text: str = ""
    reasoning: str | None = None
    calls: tuple[RawCall, ...] = ()
    finish_reason: str | None = None

    @property
    def cut_off(self) -> bool:
        """Whether the token limit ended the reply."""
        return self.finish_reason == "length"

    def as_dict(self) -> dict[str, Any]:
        """The JSON-able form that a trace keeps."""
        return {
            "text": self.text,
            "reasoning": self.reasoning,
            "tool_calls": [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in self.calls],
        }


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was mended to read a reply: its kind, and the text before and after (each shortened)."""

    kind: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model decided on. ``call_id`` is ``None`` when the reply gave none."""

    name: str
    args: dict[str, Any]
    call_id: str | None = None
    standing: Standing = field(default="native", compare=False)
    text_follows: bool = field(default=False, compare=False)
    """Whether an embedded call, or the last of several, has words behind it: who means a call mostly ends with it."""

    @classmethod
    def of(cls, recorded: Mapping[str, Any]) -> "ToolCall":
        """The call as a record keeps it. An older record does not say where it stood: it counts as native."""
        standing, follows = recorded.get("standing", "native"), recorded.get("text_follows", False)
        return cls(recorded["name"], recorded["args"], recorded["call_id"], standing, follows)

    def as_dict(self) -> dict[str, Any]:
        """The JSON-able form that a trace keeps: ``standing`` only of a call that was read out of text."""
        standing = {} if self.standing == "native" else {"standing": self.standing}
        follows = {"text_follows": True} if self.text_follows else {}
        return {"name": self.name, "args": self.args, "call_id": self.call_id, **standing, **follows}


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The decision to call tools, in this order."""

    calls: list[ToolCall]
    repairs: list[Repair] = field(default_factory=list[Repair])


@dataclass(frozen=True, slots=True)
class Final:
    """The decision to answer."""

    answer: str
    repairs: list[Repair] = field(default_factory=list[Repair])
    prose: bool = field(default=False, compare=False)
    """Whether it is what a model says that makes no decision, and not in a form that says so."""


@dataclass(frozen=True, slots=True)
class DecodeError:
    """A reply that cannot be read as a decision: what was seen, and what was expected, in words for a small model."""

    reason: Reason
    seen: str
    expected: str
    in_text: str | None = field(default=None, compare=False)
    """The tool whose call it saw with words behind it: the text may only speak of one."""

    def as_dict(self) -> dict[str, Any]:
        """The JSON-able form that a trace keeps."""
        told = {"reason": self.reason, "seen": self.seen, "expected": self.expected}
        return told | ({"in_text": self.in_text} if self.in_text else {})


Decision = ToolCalls | Final | DecodeError
