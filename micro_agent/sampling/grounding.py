"""Which words and numbers of a call, or numbers of an answer, stand nowhere in what was asked and found.

A weak model copies wrongly: it drops a syllable of a name or a digit of a number. What it writes then stands nowhere,
and another sample is worth its price. A right call may hold such words, too: the code of a currency, tomorrow's date,
a number that the question has as a word of another language than English. So this ranks and marks; it refuses nothing.

Seen are questions, inputs, the user's system text, answers of earlier turns and results with their keys; for an
argument also the name and the description of its tool and what its own part of the schema says. What the model said
or called before is not.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from micro_agent.rules.answer_values import numbers_in
from micro_agent.run import Run
from micro_agent.sampling.seen import LONGEST_NUMBER, TOKEN, Seen, pairs, plain, read, read_all, seen_in
from micro_agent.tools import Tool, ToolError
from micro_agent.tools.faults import path_text
from micro_agent.tools.subschemas import schemas_in
from micro_agent.tools.tokens import tokens_of

_SHORTEST_WORD = 3
_MOST_WORDS, _MOST_CHARACTERS = 12, 40
_MOST_OPERANDS = 100
"""Among more numbers nothing is computed: almost any number is a sum or a quotient of two of them."""
_LONGEST_EXPRESSION = 1000
_SAYS = ("title", "description", "enum", "const", "default", "examples")
_SHIFTS = tuple(Fraction(10) ** power for power in (0, -6, -3, 3, 6))
"""The same number, and the same amount with another prefix (milli, kilo, mega)."""
_ALWAYS = frozenset({Fraction(0), Fraction(1)})

_DATE = re.compile(
    r"(?<!\d)(?:\d{4}(?P<by>[-/.])\d\d?(?P=by)\d\d?|\d\d?(?P<dot>[-/.])\d\d?(?P=dot)\d{4}|\d{4}-(?:0\d|1[0-2]))"
    r"(?:t(?=\d)|(?!\d))"
)
_CLOCK = re.compile(r"(?<!\d)(?P<hour>\d\d?):(?P<minutes>\d\d)(?::\d\d(?:\.\d+)?)?(?:z\b|(?!\d))")
_AREA = re.compile(r"\b(?:africa|america|antarctica|arctic|asia|atlantic|australia|etc|europe|indian|pacific)/(?=\w)")
"""The first part of the name of a time zone (https://www.iana.org/time-zones): a question has the city alone."""
_COUNTED = re.compile(r"([0-9]+)(\D+)")
_SENTENCE = re.compile(r"\w{3}[.!?؟।](?=\s|$)|[。！？]")
_CODE = re.compile(r"[{}<>|;`\\]|\w\(|\s=\s|==")
_LISTED = re.compile(r"^\s*\d+[.)](?=\s)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Ungrounded:
    """An argument of which something stands nowhere.

    Attributes:
        path: Where it is, as faults of validation say it: ``points[2].x``.
        value: The argument.
        words: Its words and numbers that stand nowhere, in small letters and without accents.
    """

    path: str
    value: Any
    words: tuple[str, ...]


def ungrounded(args: Mapping[str, Any], run: Run, tool: Tool) -> list[Ungrounded]:
    """The arguments of a call that hold words or numbers which stand nowhere.

    Words are compared without case, accents and marks that do not show, part by part: ``src/main.py`` is three. Those
    of one or two letters are not looked for. In scripts without blanks (and in Korean) each character has to stand
    beside one of its neighbours. Numbers are compared by value, also in thousands or as a percentage. What two seen
    numbers give by ``+ - * /`` counts as seen, but not inside an expression: to compute is then the tool's part. Of a
    date one part up to 12 may be nowhere, since its month may be a word; of a time zone the city is looked for.

    Never ungrounded: ``true``, ``null``, 0, 1, keys, what is empty, and a text that is written rather than copied. Such
    a text has several lines or sentences, more than 12 words (40 characters without blanks), or signs of code.

    Args:
        args: The arguments, any JSON.
        run: The run so far, with the turns before it.
        tool: The tool that is called.

    Returns:
        In the order of ``args``; nothing for a run that was shown images, whose words nobody knows, or more than half
        a million characters. It takes time in proportion to the texts; numbers are computed from at most 100 others.
    """
    seen = seen_in(run)
    if seen is None:
        return []
    named, parts = read(f"{tool.name}\n{tool.description}"), _declared(tool)
    found: list[Ungrounded] = []
    for name, argument in args.items():
        known = _Known(seen, named, parts.get(name, Seen()))
        for path, value in _leaves(name, argument):
            if words := tuple(dict.fromkeys(_missing(value, known))):
                found.append(Ungrounded(path_text(path), value, words))
    return found


def ungrounded_numbers(answer: str, run: Run) -> list[str]:
    """The numbers in digits of an answer that stand nowhere, each once.

    As in a call, but one may be rounded to the digits that it shows, and the number of an item of a list is none.
    """
    seen = seen_in(run)
    if seen is None:
        return []
    known = _Known(seen, rounded=True)
    moments, text = _of_moments(_LISTED.sub("", plain(answer)), known)
    numbers = [token[0] for token in TOKEN.finditer(text) if token["number"]]
    return list(dict.fromkeys([*moments, *(number for number in numbers if not known.number(number))]))


class _Known:
    """What one argument is compared with."""

    def __init__(self, seen: Seen, *declared: Seen, rounded: bool = False) -> None:
        self._words = [one.words for one in (seen, *declared)]
        self._numbers = [_ALWAYS, *(one.numbers for one in (seen, *declared))]
        computes = len(seen.numbers) <= _MOST_OPERANDS
        self._sorted = sorted(seen.numbers) if computes or rounded else []
        self._operands = self._sorted if computes else []
        self._rounded = rounded

    def word(self, word: str) -> bool:
        """Whether it stands somewhere, or is too short to say."""
        return len(word) < _SHORTEST_WORD or self._has(word)

    def run(self, run: str) -> bool:
        """Whether each character of a script without blanks stands beside one of its neighbours somewhere."""
        known = [self._has(pair) for pair in pairs(run)] or [self._has(run)]
        return all(map(max, [*known, known[-1]], [known[0], *known]))

    def number(self, written: str) -> bool:
        """Whether a number stands somewhere; of what is none, such as a version or an address, all its parts."""
        if len(written) > LONGEST_NUMBER:
            return self._has(written)
        unit = Fraction(1, 10 ** len(written.rstrip(" %").partition(".")[2]))
        if values := numbers_in(written):
            return any(self.value(value, unit) for value in values)
        return all(self.value(Fraction(part)) for part in re.findall(r"\d+", written))

    def value(self, value: Fraction, unit: Fraction | None = None) -> bool:
        """Whether a value stands somewhere. With a ``unit``, that of its last digit, it may also be computed."""
        value = abs(value)
        if any(value * shift in numbers for numbers in self._numbers for shift in _SHIFTS):
            return True
        if unit is None:
            return False
        # A computed fraction may be cut after any digit, and a float is not exact.
        slack = max(unit / 2, value / 10**9) if unit < 1 else Fraction(0)
        return (self._rounded and self._near(value, unit / 2)) or any(
            self._near(value - one, slack)
            or self._near(value + one, slack)
            or self._near(value / one, slack / one)
            or self._near(value * one, slack * one)
            for one in self._operands
            if one
        )

    def _has(self, word: str) -> bool:
        return any(word in words for words in self._words)

    def _near(self, value: Fraction, slack: Fraction) -> bool:
        at = bisect_left(self._sorted, value - slack)
        return at < len(self._sorted) and self._sorted[at] <= value + slack


def _leaves(name: str, argument: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The values in an argument that are no object and no list, in their order, each with its path."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((name,), argument)]
    while waiting:
        path, value = waiting.pop()
        inner: list[tuple[str | int, Any]] = []
        if isinstance(value, Mapping):
            inner = [*cast("Mapping[str, Any]", value).items()]
        elif isinstance(value, list):
            inner = [*enumerate(cast("list[Any]", value))]
        else:
            yield path, value
        waiting += [((*path, key), item) for key, item in reversed(inner)]


def _declared(tool: Tool) -> dict[str, Seen]:
    """What the schema says of each argument: its name, what it is, and the values that it names."""
    said: dict[str, list[Any]] = {}
    for schema in schemas_in(tool.schema.inlined):
        for name, part in schema.get("properties", {}).items():
            texts = [inner[key] for inner in schemas_in(part) for key in _SAYS if key in inner]
            said.setdefault(name, [name]).append(texts)
    return {name: read_all(texts) for name, texts in said.items()}


def _missing(value: Any, known: _Known) -> Iterator[str]:
    """The words and numbers of an argument that are not known."""
    if isinstance(value, str):
        yield from _missing_in(value, known)
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**LONGEST_NUMBER:
        yield from (text for text in (str(value),) if not known.number(text.removesuffix(".0")))


def _missing_in(text: str, known: _Known) -> Iterator[str]:
    moments, rest = _of_moments(plain(text), known)
    if operands := _operands(rest):
        yield from moments
        yield from (written for written, number in operands if not known.value(number))
    elif not _is_written(text):
        yield from moments
        yield from (token[0] for token in TOKEN.finditer(_AREA.sub(" ", rest)) if not _stands(token, known))


def _stands(token: re.Match[str], known: _Known) -> bool:
    word = token[0]
    if token["number"]:
        return known.number(word)
    if token["dense"]:
        return known.run(word)
    if known.word(word):
        return True
    counted, named = _COUNTED.fullmatch(word), numbers_in(word)
    if counted is not None:
        return known.number(counted[1]) and known.word(counted[2])
    return bool(named) and all(map(known.value, named))


def _of_moments(text: str, known: _Known) -> tuple[list[str], str]:
    """The parts of dates and times of day that are not known, and the text without these."""
    missing: list[str] = []
    for date in _DATE.finditer(text):
        parts = [part for part in re.findall(r"\d+", date[0]) if not known.number(part)]
        month = next((at for at, part in enumerate(parts) if int(part) <= 12), len(parts))
        missing += parts[:month] + parts[month + 1 :]
    text = _DATE.sub(" ", text)
    for clock in _CLOCK.finditer(text):
        hour = int(clock["hour"])
        same = known.number(clock["hour"]) or any(known.value(Fraction(it)) for it in (hour + 12, abs(hour - 12)))
        missing += [*([] if same else [clock["hour"]]), *([] if known.number(clock["minutes"]) else [clock["minutes"]])]
    return missing, _CLOCK.sub(" ", text)


def _operands(text: str) -> list[tuple[str, Fraction]]:
    """The numbers of an expression such as the calculator takes; none where the text is no expression."""
    try:
        tokens = tokens_of(text) if len(text) <= _LONGEST_EXPRESSION else []
    except ToolError:
        return []
    operands = [(token.text, Fraction(token.value)) for token in tokens if token.kind == "number"]
    return operands if len(tokens) > 1 else []


def _is_written(text: str) -> bool:
    """Whether a text is one that the tool wants written, by its form."""
    characters = sum(len(token[0]) for token in TOKEN.finditer(text) if token["dense"])
    several = "\n" in text.strip() or len(_SENTENCE.findall(text)) > 1
    return bool(several or _CODE.search(text) or len(text.split()) > _MOST_WORDS or characters > _MOST_CHARACTERS)
