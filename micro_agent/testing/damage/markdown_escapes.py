"""Markdown's escapes in the text, of underscores and asterisks: JSON does not know them."""

from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The text with each underscore and asterisk escaped."""
    escaped = said.text.replace("_", r"\_").replace("*", r"\*")
    return said.written(escaped) if escaped != said.text else None
