"""The arguments as a JSON string where the object should stand."""

from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said, as_json


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The call in the text, with the text of its arguments."""
    if not said.calls:
        return None
    return said.written(said.objects(lambda call: said.form(call.name, as_json(call.arguments))))
