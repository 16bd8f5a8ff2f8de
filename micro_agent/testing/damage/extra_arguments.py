"""An argument that the tool does not have."""

from dataclasses import replace
from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said

EXTRAS = {"reason": "the user asks for it", "step": "1", "verbose": "true"}


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The calls with one argument more."""
    free = [key for key in EXTRAS if not any(key in call.arguments for call in said.calls)]
    if not said.calls or not free:
        return None
    key = rng.choice(free)
    extra = {key: EXTRAS[key]}
    if said.native:
        return said.called(lambda call: replace(call, arguments={**call.arguments, **extra}))
    return said.written(said.objects(lambda call: said.form(call.name, {**call.arguments, **extra})))
