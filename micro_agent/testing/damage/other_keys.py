"""Other keys than those asked for: ``parameters``, ``params``, ``input``, ``kwargs``; ``action``, ``tool_name``."""

from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said

SHAPES = (
    ("name", "parameters"), ("name", "params"), ("name", "input"), ("name", "kwargs"), ("name", "args"),
    ("tool", "args"), ("tool_name", "args"), ("tool", "parameters"), ("action", "action_input"),
)  # fmt: skip


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The call in the text, in the words of another framework."""
    if not said.calls:
        return None
    name, args = rng.choice(SHAPES)
    return said.written(said.objects(lambda call: {name: call.name, args: call.arguments}))
