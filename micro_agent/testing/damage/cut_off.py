"""Cut off by the token limit."""

from dataclasses import replace
from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said, as_json


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The reply up to somewhere in its second half, with the finish reason ``length``. What was said is lost."""
    if said.native and said.calls and rng.random() < 0.5:
        *whole, last = said.calls
        arguments = as_json(last.arguments)
        broken = replace(last, arguments=arguments[: _place(arguments, rng)])
        return replace(said.reply, calls=(*whole, broken), finish_reason="length")
    return replace(said.written(said.text[: _place(said.text, rng)]), finish_reason="length")


def _place(text: str, rng: Random) -> int:
    return rng.randint(len(text) // 2, max(len(text) // 2, len(text) - 2))
