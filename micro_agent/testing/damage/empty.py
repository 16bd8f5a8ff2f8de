"""Nothing at all."""

from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said


def damage(said: Said, rng: Random) -> ModelReply | None:
    """An empty reply, or one of blanks. What was said is lost."""
    return said.written(rng.choice(["", " ", "\n\n"]))
