"""Conversations as tokens, many, in one file: made once, by as many processes as there are cores."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

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
    for ids, right, _ in _flat(made):
        found.update(np.int32(len(ids)).tobytes() + ids.tobytes() + right.tobytes())
    return found.hexdigest()


def saved(path: Path, made: Sequence[Sheet]) -> None:
    """Write sheets to a file."""
    flat = list(_flat(made))
    np.savez(
        path, ids=np.concatenate([ids for ids, _, _ in flat]), right=np.concatenate([right for _, right, _ in flat]),
        lengths=np.array([len(ids) for ids, _, _ in flat], np.int32), heads=np.array([head for _, _, head in flat]),
    )  # fmt: skip


def loaded(path: Path) -> list[Sheet]:
    """The sheets of a file."""
    with np.load(path) as stored:
        ends = np.cumsum(stored["lengths"])[:-1]
        parts = zip(np.split(stored["ids"], ends), np.split(stored["right"], ends), stored["heads"], strict=True)
        found: list[Sheet] = []
        for ids, right, head in parts:
            if head:
                found.append(Sheet(ids, []))
            else:
                found[-1].branches.append((ids, right))
        return found


def _flat(made: Sequence[Sheet]) -> Iterator[tuple[Tokens, NDArray[np.bool_], bool]]:
    for sheet in made:
        yield sheet.head, np.zeros(len(sheet.head), np.bool_), True
        for ids, right in sheet.branches:
            yield ids, right, False
