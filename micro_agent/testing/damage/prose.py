"""Prose before the reply, after it, or both: the most frequent of all."""

from random import Random

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said

BEFORE = ("Sure! I can help with that.\n\n", "Okay, here is what I do next: ", "Let me think about it. I'd say:\n")
AFTER = ("\n\nLet me know if you need anything else!", " I hope this helps.", "\nThat should do it.")


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The text with prose around it."""
    before, after = rng.choice([(True, False), (False, True), (True, True)])
    return said.written((rng.choice(BEFORE) if before else "") + said.text + (rng.choice(AFTER) if after else ""))
