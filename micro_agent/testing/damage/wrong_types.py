"""Numbers and booleans as strings, a scalar where a list is wanted."""

from dataclasses import replace
from random import Random
from typing import Any, cast

from micro_agent.decoding.decision import ModelReply, RawCall
from micro_agent.testing.damage.said import Said, as_json


def damage(said: Said, rng: Random) -> ModelReply | None:
    """Each argument of another type that can be taken for the right one; those inside of others stay."""
    changed = [replace(call, arguments=_retyped(call)) for call in said.calls]
    if all(new.arguments == old.arguments for new, old in zip(changed, said.calls, strict=True)):
        return None
    if said.native:
        return replace(said.reply, calls=tuple(changed))
    return said.written(as_json(said.form(changed[0].name, changed[0].arguments)))


def _retyped(call: RawCall) -> dict[str, Any]:
    return {key: _other(value) for key, value in call.arguments.items()}


def _other(value: Any) -> Any:
    if isinstance(value, int | float):
        return as_json(value)
    items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else []
    if len(items) == 1 and isinstance(items[0], str | int | float):
        return items[0]
    return cast(Any, value)
