"""All of it inside a JSON string."""

from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said, as_json


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The text, quoted."""
    return said.written(as_json(said.text))
