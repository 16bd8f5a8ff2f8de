"""What a reader of text gets, and what it is."""

from collections.abc import Callable
from dataclasses import dataclass, field

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.scan.data import Data


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a reply without its thinking, whether the token limit cut it off, and the tools."""

    text: str
    cut_off: bool
    offer: Offer
    data: Data = field(init=False, repr=False, compare=False)
    """Where in the text something is data, so that a marker in it means nothing."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", Data(self.text, self.offer.allowance))


Reader = Callable[[Source], Decision | None]
"""Reads one form, such as the markup of a dialect; ``None`` when the text is not in it."""
