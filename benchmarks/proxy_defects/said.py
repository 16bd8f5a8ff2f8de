"""What the scripted model says at one point of the task, before a wire gives it its form."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A native call. ``arguments`` is the text of their JSON, broken or not, or an object."""

    name: str
    arguments: Any

    @property
    def as_text(self) -> str:
        """The arguments as OpenAI's wires carry them."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)

    @property
    def as_value(self) -> Any:
        """The arguments as Anthropic's wire carries them: the value, or the text when it is none."""
        try:
            return json.loads(self.as_text)
        except ValueError:
            return self.as_text


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error of the server instead of a reply: its status and its body; in mid-stream when ``after`` is said."""

    status: int
    body: Mapping[str, Any]
    after: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """One reply: ``finish`` in OpenAI's words; ``quirks`` are what a server does otherwise than the wire says."""

    text: str = ""
    reasoning: str | None = None
    calls: tuple[Call, ...] = ()
    finish: str | None = "stop"
    quirks: frozenset[str] = frozenset()
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """What a wire must know of the request: the model's name, and the ``serial`` that the ids are made of."""

    model: str
    serial: int
    usage_wanted: bool = False


def pieces(text: str, size: int = 5) -> list[str]:
    """A text as a stream brings it: a few characters at a time."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def compact(value: Any) -> bytes:
    """One line of JSON, as servers written in Go and C++ write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
