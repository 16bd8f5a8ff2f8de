"""Text in the middle of two calls."""

from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.dialect import hermes
from micro_agent.testing.damage.said import Said


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The calls in the text, each in its tags, with a sentence before each."""
    if len(said.calls) < 2:
        return None
    sentence = rng.choice(["I also need this:", "And then:", "Next, the other one."])
    return said.written(f"\n{sentence}\n".join(hermes(call.name, call.arguments) for call in said.calls))
