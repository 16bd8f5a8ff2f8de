"""A dict passed positionally: ``name({…})``."""

from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said, as_json


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The call as that of a function with one dict."""
    if len(said.calls) != 1:
        return None
    (call,) = said.calls
    literal = rng.choice([as_json, repr])(call.arguments)
    return said.written(f"{call.name}({literal})")
