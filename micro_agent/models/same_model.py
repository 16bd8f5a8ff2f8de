"""Whether several servers have the same model: what one says of it must not contradict what another says."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from micro_agent.errors import ConfigurationError
from micro_agent.models.identity import Served

_PARTS = (("weights", "weights"), ("name", "name"), ("length", "context in tokens"), ("template", "chat template"))
_SHORT = 60


def difference(one: Served, other: Served) -> tuple[str, str, str] | None:
    """What is not the same, and what it is here and there, in words; ``None``: nothing, of what both say.

    A file may have another name on another machine: where both tell the weights, those count.
    """
    same_weights = one.weights is not None and one.weights == other.weights
    for part, words in _PARTS:
        here, there = getattr(one, part), getattr(other, part)
        if None in (here, there) or here == there or (part == "name" and same_weights):
            continue
        return words, _shown(here), _shown(there)
    return None


def agreed(said: Mapping[str, Served]) -> Served:
    """What servers say together of their model, by their addresses.

    Raises:
        ConfigurationError: Two do not have the same one; the line names both.
    """
    seen = list(said.items())
    for number, (address, served) in enumerate(seen):
        for before, known in seen[:number]:
            if found := difference(known, served):
                what, there, here = found
                told = f"its {what} is {there} at {before} and {here} at {address}"
                raise ConfigurationError(f"the servers do not have the same model: {told}; leave one of them out")
    return _together([served for _, served in seen])


def recorded(served: Served) -> dict[str, Any]:
    """What is known, as a record keeps it."""
    return {part: value for part, value in asdict(served).items() if value is not None}


def _together(each: Sequence[Served]) -> Served:
    known = {part: [value for one in each if (value := getattr(one, part)) is not None] for part, _ in _PARTS}
    return Served(**{part: values[0] for part, values in known.items() if values})


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHORT else f"{text[:12]}…"
