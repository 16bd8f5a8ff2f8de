"""Conversations as tokens, many: made by as many processes as there are cores."""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from micro_agent.models.tiny.tokenizer import Tokenizer
from training.conversations import Group, groups
from training.tasks import WORDS
from training.vocabulary import learned

PART = 250
"""Groups that have a seed of their own, and are made in one process."""
FOR_VOCABULARY = 400
"""Groups that the vocabulary is learned from."""

Tokens = NDArray[np.int16]


@dataclass
class Sheet:
    """A group as tokens: its head, and each branch with whether each of its tokens is to be learned."""

    head: Tokens
    branches: list[tuple[Tokens, NDArray[np.bool_]]]


def vocabulary(seed: int) -> list[str]:
    """The vocabulary of the conversations of a seed."""
    made = list(islice(groups(seed), FOR_VOCABULARY))
    pieces = [piece.parts for group in made for branch in group.branches for piece in branch]
    texts = [part for parts in [*pieces, *(group.head for group in made)] for part in parts if isinstance(part, str)]
    return learned(texts, WORDS["syllables"])


def sheets(known: Sequence[str], count: int, seed: int) -> list[Sheet]:
    """So many groups, or a few more, the same for the same seed."""
    parts = range(-(-count // PART))
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        made = workers.map(_part, [known] * len(parts), [seed * 1000 + part for part in parts])
        return [sheet for part in made for sheet in part]


def _part(known: Sequence[str], seed: int) -> list[Sheet]:
    tokenizer = Tokenizer(known)
    return [_sheet(group, tokenizer) for group in islice(groups(seed), PART)]


def _sheet(group: Group, tokenizer: Tokenizer) -> Sheet:
    branches: list[tuple[Tokens, NDArray[np.bool_]]] = []
    for branch in group.branches:
        encoded = [(tokenizer.encode(piece.parts), piece.right) for piece in branch]
        ids = np.array([token for tokens, _ in encoded for token in tokens], np.int16)
        branches.append((ids, np.repeat([right for _, right in encoded], [len(tokens) for tokens, _ in encoded])))
    return Sheet(np.array(tokenizer.encode(group.head), np.int16), branches)


def digest(made: Sequence[Sheet]) -> str:
    """Sha256 of sheets, which says whether they are those that a model was trained on."""
    found = hashlib.sha256()
    for sheet in made:
        for ids, right in [(sheet.head, np.zeros(len(sheet.head), np.bool_)), *sheet.branches]:
            found.update(np.int32(len(ids)).tobytes() + ids.tobytes() + right.tobytes())
    return found.hexdigest()
