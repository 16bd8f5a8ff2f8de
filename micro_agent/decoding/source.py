"""What a reader of text gets."""

from dataclasses import dataclass

from micro_agent.decoding.offer import Offer


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a reply without its thinking, whether the token limit cut it off, and the tools."""

    text: str
    cut_off: bool
    offer: Offer
