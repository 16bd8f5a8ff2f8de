"""Code fences around the reply, and others beside it."""

from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said

FIRST = "First I look at what is there:\n```bash\nls -l\n```\nThen:\n"


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The text in a fence, at times after another one."""
    language = rng.choice(["json", ""]) if said.text.startswith(("{", "[")) else ""
    return said.written(f"{rng.choice(['', FIRST])}```{language}\n{said.text}\n```")
