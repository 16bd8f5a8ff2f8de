"""The arguments encoded twice."""

from dataclasses import replace
from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said, as_json


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The arguments as a string that holds a JSON string."""
    if not said.calls:
        return None
    if said.native:
        return said.called(lambda call: replace(call, arguments=as_json(as_json(call.arguments))))
    return said.written(said.objects(lambda call: said.form(call.name, as_json(as_json(call.arguments)))))
