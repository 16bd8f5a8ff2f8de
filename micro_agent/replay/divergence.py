"""Where today's run leaves the recorded one, said so that both fit on a screen."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from micro_agent.replay.show import step_line
from micro_agent.run import Step

Kind = Literal["request", "tool", "decision", "step", "status", "answer"]

_WIDTH = 160
_BEFORE = 30
_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str).encode


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place where today's run leaves the recorded one.

    Attributes:
        kind: ``request`` (what the model is sent), ``tool`` (what one observes that was run for real), ``decision``
            (how a reply is read), ``step``, ``status`` (how the run ended) or ``answer``. Behind the first two the rest
            of the record is compared as well.
        where: The place, for a person: ``request 2, message 4 of 5 (user): step 1``.
        expected: What is on record, shortened.
        got: What it is today, shortened.
    """

    kind: Kind
    where: str
    expected: str
    got: str


class Diverged(Exception):
    """Raised where today's run leaves the recorded one; ``divergence`` says how."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(divergence.where)
        self.divergence = divergence


def differ(kind: Kind, where: str, expected: Any, got: Any) -> Divergence:
    """A divergence of two values, each shortened so that the first difference is in sight."""
    return Divergence(kind, where, *apart(text_of(expected), text_of(got)))


def apart(one: str, other: str, width: int = _WIDTH) -> tuple[str, str]:
    """Two texts on a line each, shortened so that their first difference is in sight."""
    pairs = enumerate(zip(one, other, strict=False))
    same = next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
    start = max(0, same - _BEFORE) if same > width // 2 else 0
    return shortened(one, start, width), shortened(other, start, width)


def shortened(text: str, start: int = 0, width: int = _WIDTH) -> str:
    """A piece of ``text`` on one line; ``…`` stands for what is left out."""
    piece = " ".join(text[start : start + width].split())
    return "…" * (start > 0) + piece + "…" * (start + width < len(text))


def text_of(value: Any) -> str:
    """A value as text, the same for the same JSON (1, 1.0 and true are three)."""
    return value if isinstance(value, str) else _encode(value)


def step_text(step: Step | None) -> str:
    """A step in a few words."""
    return "no step: the run has ended" if step is None else step_line(step.tool, step.args, step.observation)
