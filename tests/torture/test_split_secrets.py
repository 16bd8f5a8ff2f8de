"""Secrets cut in every possible way by the pieces of a stream: what is shown is the whole, masked."""

from collections.abc import Callable, Iterator
from itertools import product
from random import Random

import pytest
from tally import Tally

from micro_agent.files.masking import mask_of
from micro_agent.streaming.masked_text import MaskedText

pytestmark = pytest.mark.torture

SECRETS = {"A_SECRET": "abcabcab", "B_SECRET": "abcabcabd", "C_SECRET": "cabcabda"}
Rounds = Callable[[str], Iterator[Random]]


def shown(pieces: list[str], environ: dict[str, str]) -> str:
    out: list[str] = []
    stream = MaskedText(out.append, mask_of(environ))
    for piece in pieces:
        stream.feed(piece)
    stream.finish()
    return "".join(out)


def test_every_way_to_cut_a_text(tally: Tally) -> None:
    for whole in ("xabcabcabx", "abcabcabdab", "ababcabcabca", "cabcabcabda", "abcabcababcabcab"):
        expected = mask_of(SECRETS).text(whole)
        for cuts in product((False, True), repeat=len(whole) - 1):
            pieces, begun = list[str](), 0
            for at, is_cut in enumerate(cuts, 1):
                if is_cut:
                    pieces.append(whole[begun:at])
                    begun = at
            assert shown([*pieces, whole[begun:]], SECRETS) == expected, pieces
            tally.count("secrets split in every way")


def test_secrets_and_texts_drawn_at_random(rounds: Rounds, tally: Tally) -> None:
    for random in rounds("secrets split over pieces"):
        letters = random.choice(("ab", "abc", 'a"\\é\n'))
        environ = {
            f"{number}_SECRET": "".join(random.choices(letters, k=random.randint(8, 14)))
            for number in range(random.randint(1, 4))
        }
        parts = [random.choice([*environ.values(), "".join(random.choices(letters, k=5))]) for _ in range(9)]
        whole, pieces, at = "".join(parts), list[str](), 0
        while at < len(whole):
            size = random.randint(1, 9)
            pieces.append(whole[at : at + size])
            at += size
        assert shown(pieces, environ) == mask_of(environ).text(whole), (environ, pieces)
        tally.count("secrets split over pieces")
