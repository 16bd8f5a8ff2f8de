"""The same object again and again."""

from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The text two to four times."""
    if not said.text.startswith(("{", "[")):
        return None
    return said.written(rng.choice(["\n", "\n\n", " "]).join([said.text] * rng.randint(2, 4)))
