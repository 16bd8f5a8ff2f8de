"""Which of `calculator` and `now` a question cannot be answered without.

The question is read as sentences of words by class (`reading`, `words`). A linear model decides: the weights of the
features of the question are added up, for each tool separately. They were learned from labelled questions by
``python -m tests.rules.learn``. Features are classes of words and, in English, the words themselves; the weights of
classes serve every language whose words are known.
"""

import json
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import combinations, pairwise
from math import fsum

from micro_agent.rules.reading import read
from micro_agent.rules.tokens import Token, Tokens, has
from micro_agent.rules.words import Words, words

CALCULATOR, NOW = "calculator", "now"
ALWAYS = ""
"""The feature that every question has."""
_LONGEST = 25
"""A longer piece of text, such as one in quotes, is no word that could be learned."""


@lru_cache(maxsize=16)
def implied(question: str, language: Words | None = None, *, odds: float = 0.0) -> frozenset[str]:
    """Name the tools that the question implies: ``calculator``, ``now``, both or none.

    Pure, never raises, and bounded in time whatever the length: of a long question the two ends are read. A run asks
    more than once, so the latest questions are remembered.

    Args:
        question: As it was asked.
        language: The words to read it with; ``None`` is English.
        odds: How plainly: the logarithm of the odds that have to be exceeded. 0 is as likely as not.
    """
    sentences = requests(read(question, language or words()))
    found = features(sentences) if language else features(sentences) | wording(sentences)
    return frozenset(
        tool for tool, weight in _weights().items() if fsum(weight.get(name, 0.0) for name in found) > odds
    )


def requests(sentences: list[Tokens]) -> list[Tokens]:
    """The sentences, without a text that follows its task and a colon, as in "Translate: …"."""
    first = sentences[0] if sentences else []
    colon = next((at for at, token in enumerate(first) if token.text == ":"), -1)
    return [first[:colon]] if colon > 0 and any(has(first, at, "text_task") for at in (0, 1)) else sentences


def features(sentences: list[Tokens]) -> set[str]:
    """What the weights are about: the classes of words in a question, alone, in pairs, one after the other.

    Also those in the last sentence and between numbers, what numbers measure, and how many there are, three at most.
    """
    kinds = [[_kinds(token) for token in sentence] for sentence in sentences]
    having = [set[str]().union(*sentence) for sentence in kinds]
    every = set[str]().union(*having)
    operands = sum("operand" in kind for sentence in kinds for kind in sentence)
    found = {ALWAYS, *every, *(f"{one} & {other}" for one, other in combinations(sorted(every), 2))}
    found.update(f"numbers {count}" for count in range(1, min(operands, 3) + 1))
    found.update(f"numbers {min(operands, 2)} & {kind}" for kind in every)
    found.update(f"last {kind}" for kind in (having or [every])[-1])
    for sentence in kinds:
        found.update(_neighbours(sentence))
        found.update(_between(sentence))
    found.update(f"in {t.measure}" for sentence in sentences for t in sentence if "measured" in t.classes)
    return found


def wording(sentences: list[Tokens]) -> set[str]:
    """The words of a question, those of its last sentence, which follow each other, also with another one between.

    Of a number only what it measures counts, if anything; a word also counts with how many numbers there are.
    """
    found = set[str]()
    operands = min(sum("operand" in token.classes for sentence in sentences for token in sentence), 2)
    for sentence in sentences:
        texts = ["^", *map(_text, sentence), "$"]
        found.update(f"'{text}'" for text in texts)
        found.update(f"'{text}' & {operands}" for text in texts)
        found.update(f"'{before} {after}'" for before, after in pairwise(texts))
        found.update(f"'{before} … {after}'" for before, after in zip(texts, texts[2:], strict=False))
    found.update(f"last '{_text(token)}'" for token in (sentences or [[]])[-1])
    return found


def _text(token: Token) -> str:
    if "operand" in token.classes:
        return f"#{token.measure}"
    return token.text.lower() if len(token.text) < _LONGEST else "…"


def _kinds(token: Token) -> set[str]:
    """The classes of a token; a sign is itself."""
    if "sign" in token.classes:
        return {token.text, *token.classes} - {"sign"}
    return set(token.classes - {"word"}) or {"_"}


def _neighbours(sentence: list[set[str]]) -> Iterator[str]:
    for before, after in pairwise([{"^"}, *sentence, {"$"}]):
        yield from (f"{one} {other}" for one in before for other in after)


def _between(sentence: list[set[str]]) -> Iterator[str]:
    """What stands between two numbers."""
    for before, middle, after in zip(sentence, sentence[1:], sentence[2:], strict=False):
        if "operand" in before and "operand" in after:
            yield from (f"between {kind}" for kind in middle)


@cache
def _weights() -> dict[str, dict[str, float]]:
    return json.loads(files("micro_agent.rules").joinpath("required_tools.weights.json").read_text(encoding="utf-8"))


def asks_weekday(question: str, language: Words | None = None) -> bool:
    """Whether the question asks which day of the week it is, so that its name is an answer."""
    return any(
        has(sentence, at, "weekday", "day_asked") and not (at + 1 < len(sentence) and sentence[at + 1].text == "'s")
        for sentence in read(question, language or words())
        for at in range(len(sentence))
    )
