"""Thoughts that never end: the reply does not come."""

from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said
from micro_agent.testing.damage.thinking import THOUGHTS


def damage(said: Said, rng: Random) -> ModelReply | None:
    """Thoughts alone, their tag not closed. What was said is lost."""
    return said.written(f"<think>\n{rng.choice(THOUGHTS)}")
