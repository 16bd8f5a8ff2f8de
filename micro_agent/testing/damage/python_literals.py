"""The object as a Python literal: single quotes, ``True``, ``None``."""

import json
from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The object as Python shows it."""
    try:
        return said.written(repr(json.loads(said.text)))
    except ValueError:  # prose
        return None
