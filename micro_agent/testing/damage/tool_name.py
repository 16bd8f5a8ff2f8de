"""The tool's name in another case, with a prefix, a suffix or a special token, with dots or dashes."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said

WAYS: tuple[Callable[[str], str], ...] = (
    str.upper,
    str.title,
    lambda name: f"functions.{name}",
    lambda name: f"default_api.{name}",
    lambda name: f"{name}:0",
    lambda name: f"{name}<|channel|>commentary",
    lambda name: name.replace("_", "."),
    lambda name: name.replace("_", "-"),
)


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The calls by a name that is nearly that of the tool."""
    names = {call.name for call in said.calls}
    ways = [way for way in WAYS if all(way(name) != name for name in names)]
    if not names or not ways:
        return None
    way = rng.choice(ways)
    if said.native:
        return said.called(lambda call: replace(call, name=way(call.name)))
    return said.written(said.objects(lambda call: said.form(way(call.name), call.arguments)))
