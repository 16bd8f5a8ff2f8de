"""Arguments nested once too deep, or beside the name."""

from dataclasses import replace
from random import Random
from typing import Any

from micro_agent.decoding.decision import ModelReply, RawCall
from micro_agent.testing.damage.said import Said, as_json

KEYS = ("arguments", "args", "parameters")
_TAKEN = frozenset({"name", "tool", *KEYS})


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The call with its arguments where they do not belong."""
    if not said.calls or any(not call.arguments or _TAKEN & set(call.arguments) for call in said.calls):
        return None
    if rng.random() < 0.5:
        return said.written(said.objects(lambda call: _beside(said, call)))
    key = rng.choice(KEYS)
    if said.native:
        return said.called(lambda call: replace(call, arguments=as_json({key: call.arguments})))
    return said.written(said.objects(lambda call: said.form(call.name, {key: call.arguments})))


def _beside(said: Said, call: RawCall) -> dict[str, Any]:
    flat = {"name": call.name, **call.arguments}
    return flat if said.native else {"tool": flat}
