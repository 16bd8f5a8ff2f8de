"""The words and numbers that stand in a text, and in all that a run has seen, in a form in which they are compared."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, cast
from unicodedata import normalize

from micro_agent.rules.answer_values import numbers_in
from micro_agent.run import Run

LONGEST_NUMBER = 40
"""Characters. A longer one is a word."""
_MOST_TEXT = 500_000
"""Characters of all texts together."""

# Marks that people leave out or that do not show: accents, vowels of Hebrew and Arabic, tatweel, joiners, soft hyphens.
_LEFT_OUT = re.compile(
    "[\xad\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]"
)
_DIGIT = re.compile(r"(?![0-9])\d")
_SIGNS = str.maketrans({"٫": ".", "٬": ",", "٪": "%"})
# Thai and Lao, Burmese, Khmer, kana, Han; Hangul, where a word and its particle are written as one.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\U00020000-\U0003ffff"
)
_LETTER = rf"(?:[^\W_{_DENSE}]|[\u0900-\u0963\u0966-\u0dff\u0f00-\u0fff])"  # with the vowel signs of India
TOKEN = re.compile(
    rf"(?P<number>(?<![^\W_{_DENSE}])[0-9]+(?:[.,'’][0-9]+)*(?![^\W_{_DENSE}])(?: ?%)?)"
    rf"|(?P<dense>[{_DENSE}]+)|(?P<word>{_LETTER}+)"
)
_POINTS = re.compile(r"(?<![\d.,])([1-9]\d{0,2})\.(\d{3})(?![\d.])")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_HAN = {
    **dict(zip("零一二三四五六七八九", range(10), strict=True)), "〇": 0, "两": 2, "兩": 2,
    "十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8,
}  # fmt: skip
_IN_HAN = re.compile(f"[{''.join(_HAN)}]{{1,20}}")


@dataclass(frozen=True, slots=True)
class Seen:
    """Words, also the characters and pairs of characters of scripts without blanks, and numbers without their sign."""

    words: frozenset[str] = frozenset()
    numbers: frozenset[Fraction] = frozenset()


def plain(text: str) -> str:
    """The text without case, accents and what does not show, its digits from 0 to 9."""
    if text.isascii():
        return text.lower()
    text = normalize("NFC", _LEFT_OUT.sub("", normalize("NFKD", text).casefold()))
    return _DIGIT.sub(lambda digit: str(int(digit[0])), text).translate(_SIGNS)


def pairs(run: str) -> Iterator[str]:
    """The pairs of characters that stand side by side."""
    return map("".join, pairwise(run))


@lru_cache(maxsize=32)
def read(text: str) -> Seen:
    """What stands in a text. Linear in its length."""
    text = plain(text)
    words = set[str]()
    numbers = {abs(number) for number in numbers_in(text)}
    numbers.update(Fraction(thousands[0].replace(".", "")) for thousands in _POINTS.finditer(text))
    for token in TOKEN.finditer(text):
        written = token[0]
        if token["dense"]:
            words.update(written, pairs(written))
            numbers.update(_of_han(one) for one in _IN_HAN.findall(written))
        elif token["number"] and len(written) <= LONGEST_NUMBER:
            numbers.update(_parts(written))
        else:
            words.add(written)
            numbers.update(_digits(written))
    return Seen(frozenset(words), frozenset(numbers))


def _parts(written: str) -> set[Fraction]:
    """Other numbers in one: the parts of a version, a date or a list; the 100 that is meant by a percentage."""
    alone = written.isdigit() or not numbers_in(written) or ("," in written and not _GROUPED.fullmatch(written))
    return {*(_digits(written) if alone else ()), *((Fraction(100),) if written.endswith("%") else ())}


def _digits(text: str) -> set[Fraction]:
    return {Fraction(digits) for digits in re.findall(r"\d+", text) if len(digits) <= LONGEST_NUMBER}


def _of_han(written: str) -> Fraction:
    """The value of a number in Chinese characters, such as 二十五 or 二〇二六."""
    total = digits = 0
    for value in map(_HAN.__getitem__, written):
        if value < 10:
            digits = digits * 10 + value
        else:
            total = (total + digits) * value if value >= 10_000 else total + (digits or 1) * value
            digits = 0
    return Fraction(total + digits)


def texts_in(value: Any, *, keys: bool = True) -> Iterator[str]:
    """The strings and numbers of JSON; of JSON in a string the same. With ``keys`` also these and lengths of lists."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            inside = _json_in(part)
            waiting += inside
            if not inside:
                yield part
        elif isinstance(part, Mapping):
            fields = cast("Mapping[str, Any]", part)
            waiting += [*(fields if keys else ()), *fields.values()]
        elif isinstance(part, list | tuple):
            items = cast("list[Any]", part)
            waiting += [*([len(items)] if keys else ()), *items]
        elif isinstance(part, int | float) and not isinstance(part, bool) and abs(part) < 10**LONGEST_NUMBER:
            yield str(part)


def _json_in(text: str) -> list[Any]:
    """The object or list that a text is: in it letters may be escapes. Nothing where it is another text."""
    if text.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return [json.loads(text)]
    return []


def read_all(value: Any) -> Seen:
    """What stands in a JSON value."""
    return read("\n".join(texts_in(value)))


def seen_in(run: Run) -> Seen | None:
    """What a person, the user's system text and tools said in a conversation; ``None`` if that cannot be known.

    It cannot where there are images, and is not worth the time where there are more than half a million characters.
    What a tool that failed repeats of its arguments counts as little as what the model said.
    """
    turns = (*run.earlier, run)
    given = [part for turn in turns for part in (turn.question, turn.inputs, turn.system)]
    given += [turn.answer for turn in run.earlier] + [one["content"] for turn in turns for one in turn.history]
    said = "\n".join(text for part in given for text in texts_in(part))
    steps = [step for turn in turns for step in turn.steps if step.is_tool]
    told = ["\n".join([*texts_in(step.observation), *texts_in(step.result)]) for step in steps]
    if any(turn.images for turn in turns) or len(said) + sum(map(len, told)) > _MOST_TEXT:
        return None
    seen = read(said)
    words, numbers = set(seen.words), set(seen.numbers)
    for step, text in zip(steps, told, strict=True):
        seen, called = read(text), Seen() if step.ok else read_all(step.args)
        words |= seen.words - (called.words - words)
        numbers |= seen.numbers - (called.numbers - numbers)
    return Seen(frozenset(words), frozenset(numbers))
