"""Shards: the parts of an eval that run on machines of their own, without a word between them.

A trial belongs to a shard by the sha256 of its epoch and its task's id: every machine, Python version and draw that has
the trial agrees about it, and each shard gets about as many.
"""

import re
from hashlib import sha256
from typing import NamedTuple, Self

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.result_lines import Key

_MOST = 100_000


class Shard(NamedTuple):
    """One of ``of`` parts of an eval; ``number`` counts from 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """A shard as it is written, ``3/8``. Raises `ConfigurationError`."""
        found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
        number, of = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= number <= of <= _MOST:
            raise ConfigurationError(f"--shard is written 3/8, from 1/8 to 8/8, for one of 8 parts; not {text!r:.40}")
        return cls(number, of)

    def holds(self, key: Key) -> bool:
        """Whether a trial is one of this shard's."""
        return shard_of(key, self.of) == self.number

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def shard_of(key: Key, of: int) -> int:
    """The number, from 1, of the shard that a trial belongs to."""
    task, epoch = key
    return int.from_bytes(sha256(f"{epoch}:{task}".encode(errors="replace")).digest()) % of + 1
