"""Which of several replies to one request is taken: usable first, then grounded, then most frequent, then the first.

Two that agree and of which nothing is wrong are enough; the others need not be asked for.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ENOUGH = 2
"""So many replies that agree decide, where they are usable and grounded."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one reply is worth.

    Attributes:
        says: What it comes to: the same text for replies that agree.
        usable: Whether it can be read, and no schema and no rule refuses it.
        grounded: Whether its words and numbers stand in what was asked and found.
        tried: Whether it was taken before and came to nothing.
        effects: Whether it calls a tool that changes something.
        early: Whether it is an answer before any tool gave something.
    """

    says: str
    usable: bool
    grounded: bool
    tried: bool = False
    effects: bool = False
    early: bool = False


def best(samples: Sequence[Sample], most: int, extra: int = 0) -> int | None:
    """The index of the reply to take, or ``None``: more are wanted.

    What was tried is not taken again, nor what says the same. Where nothing else is left of ``most`` replies, the last
    one is taken if it was not tried itself, so that what is wrong with it is found.

    Before something is changed by a call of which some word stands nowhere, and on which most do not agree, up to
    ``extra`` more are asked for; of one reply that was asked for, only another such call takes the place then. An early
    answer counts as grounded only where no other reply calls a tool.
    """
    tried = {one.says for one in samples if one.tried}
    left = [at for at, one in enumerate(samples) if one.usable and one.says not in tried]
    if most == 1 and left and samples[left[0]].effects:
        left = [at for at in left if samples[at].effects]
    agree, all_early = _agreeing(samples), all(samples[at].early for at in left)
    grounded = {at for at in left if samples[at].grounded and (all_early or not samples[at].early)}
    index = min(left, key=lambda at: (at not in grounded, -agree[samples[at].says], at), default=None)
    if index is None:
        return None if len(samples) < most or samples[-1].tried else len(samples) - 1
    agreeing = agree[samples[index].says]
    if index in grounded and agreeing >= min(ENOUGH, most):
        return index
    unsure = samples[index].effects and index not in grounded and not is_agreed(agreeing, len(samples))
    return None if len(samples) < most + extra * unsure else index


def is_agreed(agreeing: int, of: int) -> bool:
    """Whether most of the replies say the same, and more than one."""
    return agreeing >= ENOUGH and agreeing * 2 > of


def wanted(samples: Sequence[Sample], most: int) -> int:
    """How many more replies are asked for at once: one as long as it may decide alone, then all that are left.

    The first alone computes the prompt, which the others find in the server's cache.
    """
    return 1 if len(samples) <= ENOUGH else max(1, most - len(samples))


def why(samples: Sequence[Sample], index: int) -> dict[str, Any]:
    """What the record says of the choice: how many agree with it, and which of the others had what wrong."""
    agree = _agreeing(samples)[samples[index].says] if samples[index].usable else 1
    unusable = [at for at, one in enumerate(samples) if not one.usable]
    ungrounded = [at for at, one in enumerate(samples) if one.usable and not one.grounded]
    return {"index": index, "agree": agree, "unusable": unusable, "ungrounded": ungrounded}


def _agreeing(samples: Sequence[Sample]) -> Counter[str]:
    return Counter(one.says for one in samples if one.usable)
