"""Thoughts in the text before the reply: with both tags, or with the closing one alone."""

from dataclasses import replace
from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said

THOUGHTS = (
    "The user asks something. I have to be careful and do one thing at a time.",
    "Okay, so what is asked here? Let me see what I have.\nYes, that will do {probably}.",
    "Hmm. First a tool, then the answer. Or is it time to answer already?",
)


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The text after thoughts; a native call at times stays one, with the thoughts beside it."""
    opening = rng.choice(["<think>\n", "<think>", ""])
    thoughts = f"{opening}{rng.choice(THOUGHTS)}\n</think>\n"
    if said.reply.calls and rng.random() < 0.5:
        return replace(said.reply, text=thoughts + said.reply.text)
    return said.written(thoughts + said.text)
