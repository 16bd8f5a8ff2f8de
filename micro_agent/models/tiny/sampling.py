"""Which token comes next: the likeliest, or one drawn by temperature from those that top_k and top_p leave."""

from dataclasses import dataclass, field

import numpy as np

from micro_agent.models.tiny.network import Floats


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn. At temperature 0 nothing is, and the same prompt gives the same reply."""

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    """The same seed gives the same reply; without one it differs each time."""
    max_tokens: int | None = None
    stop: tuple[str, ...] = field(default=())
    """Texts that end a reply before they come."""


def drawn(logits: Floats, how: Sampling, random: np.random.Generator) -> int:
    """The token to write next."""
    if how.temperature <= 0:
        return int(logits.argmax())
    chances = np.exp((logits - logits.max()).astype(np.float64) / how.temperature)
    order = np.argsort(-chances, kind="stable")[: how.top_k]
    kept = chances[order] / chances.sum()
    if how.top_p is not None:
        before = np.cumsum(kept) - kept
        order, kept = order[before < how.top_p], kept[before < how.top_p]
    if len(kept) < 2:
        return int(order[0])
    return int(order[random.choice(len(kept), p=kept / kept.sum())])
