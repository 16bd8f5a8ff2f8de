"""Whether an answer in prose holds a value: a number as people write numbers, a moment by its date or its minute."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from fractions import Fraction
from math import ceil, floor

_MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
]  # fmt: skip
_WORDS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
]  # fmt: skip
_LARGER = "thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|trillion"
_SCALES = {"thousand": 3, "k": 3, "million": 6, "billion": 9, "trillion": 12, "万": 4, "萬": 4, "亿": 8, "億": 8}

# int() refuses more than 4300 digits, and no answer needs them.
_MAX_DIGITS = 4000

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_BLANKS = " \u00a0\u2009\u202f"
_SIGN = r"(?:(?<![\w)])[-−–]|(?i:\bminus |\bnegative ))"
_NUMBER = re.compile(
    rf"(?P<skip>\d{{4}}-\d\d-\d\d|\b\d{{1,2}}:\d\d(?::\d\d)?)"
    rf"|(?P<sign>{_SIGN})?(?P<currency>[$€£¥] ?-?)?(?<![A-Za-z\d])(?<!\d[.,])"
    rf"(?P<digits>\d{{1,3}}(?:[{_BLANKS}]\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,'’_]\d+)*|\.\d+)"
    r"(?:(?P<exponent>[eE][+-]?\d{1,3})|\s?[×x*·]\s?10(?:\^|\*\*)\(?(?P<power>-?\d{1,3})|(?:\^|\*\*)\(?(?P<raised>-?\d{1,3}))?"
    r"(?:(?P<percent>\s?(?:%|percent\b|per cent\b))"
    r"|\s?(?P<scale>(?:thousand|million|billion|trillion|k)\b|[万萬亿億]))?"
)
_WORD = rf"(?:{'|'.join(_WORDS)}|{_LARGER})\b"
_NUMBER_WORDS = re.compile(
    rf"(?P<sign>\b(?:minus|negative) )?\b(?P<run>{_WORD}(?>(?:[ -](?:and )?{_WORD})*))(?P<point> point(?: {_WORD})+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A number as shown: its value, what one in its last digit is worth, and how many digits say something."""

    value: Fraction
    unit: Fraction
    digits: int


def holds_number(answer: str, value: float) -> bool:
    """Whether the answer shows the number, exactly or correctly rounded to the digits shown.

    Thousands separators, currency signs, exponents, percent signs (also as a hundredth), ``minus`` and number words up
    to twenty are read. A number that is part of another one does not count: 16 is not in 160 nor in 1.16.

    Args:
        answer: Prose of any length.
        value: Finite, and of at most 4000 digits.
    """
    exact = Fraction(repr(value))
    return any(_is(shown, exact) for shown in _shown(answer))


def numbers_in(answer: str) -> list[Fraction]:
    """The numbers that the answer shows, read as `holds_number` does; a percentage also as its hundredth."""
    return [shown.value for shown in _shown(answer)]


def _shown(answer: str) -> Iterator[_Shown]:
    yield from _shown_in_digits(answer)
    yield from _shown_in_words(answer)


def _is(shown: _Shown, exact: Fraction) -> bool:
    if shown.value == exact:
        return True
    # "3" for 3.14 or "1 million" for 1234567 says too little to be the value; so does "0.0" for 0.004.
    if shown.value == 0 or (shown.digits < 2 and shown.unit >= 1):
        return False
    steps = abs(exact) / shown.unit
    half = Fraction(1, 2)
    rounded = {ceil(steps - half), floor(steps + half)}  # a tie may go either way: Python shows 0.35 as 0.3
    return abs(shown.value) / shown.unit in rounded and (shown.value > 0) == (exact > 0)


def _shown_in_digits(answer: str) -> Iterator[_Shown]:
    for match in _NUMBER.finditer(_with_powers(answer)):
        if match["skip"]:
            continue
        for text in _decimal_forms(match["digits"]):
            yield from _readings(match, text)


def _with_powers(answer: str) -> str:
    """The answer with superscripts as ``^``."""
    return re.sub(r"(?<=\d)[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda power: "^" + power[0].translate(_SUPERSCRIPTS), answer)


def _decimal_forms(digits: str) -> list[str]:
    """The plain decimal texts that a run of digits and separators can stand for."""
    if len(digits) > _MAX_DIGITS:
        return []
    whole = re.sub(r"[ \u00a0\u2009\u202f'’_]", "", digits)
    if re.fullmatch(r"\d*\.?\d+", whole):
        return [whole]
    if re.fullmatch(r"[1-9]\d{0,2}(?:,\d{2,3})*,\d{3}(?:\.\d+)?", whole):
        return [whole.replace(",", "")]
    if re.fullmatch(r"[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}", whole):
        return [whole.replace(".", "").replace(",", ".")]
    if re.fullmatch(r"\d+,\d+", whole):
        return [whole.replace(",", ".")]
    # A list without blanks (1,2,3); a version or an address has points and is not a number.
    return [] if "." in whole else whole.split(",")


def _readings(match: re.Match[str], text: str) -> Iterator[_Shown]:
    value = Fraction(text)
    unit = Fraction(1, 10 ** len(text.partition(".")[2]))
    digits = len(text.replace(".", "").lstrip("0"))
    if match["sign"] or (match["currency"] or "").endswith("-"):
        value = -value
    if match["raised"]:
        yield _Shown(value, unit, digits)
        if value == 10:
            yield _Shown(Fraction(10) ** int(match["raised"]), Fraction(1), 1)
        return
    factor = Fraction(10) ** (
        int((match["exponent"] or "e0")[1:]) + int(match["power"] or 0) + _SCALES.get(match["scale"], 0)
    )
    yield _Shown(value * factor, unit * factor, digits)
    if match["percent"]:
        yield _Shown(value / 100, unit / 100, digits)


def _shown_in_words(answer: str) -> Iterator[_Shown]:
    for match in _NUMBER_WORDS.finditer(answer):
        if match["run"].lower() in _WORDS and not match["point"]:
            value = Fraction(_WORDS.index(match["run"].lower()))
            yield _Shown(-value if match["sign"] else value, Fraction(1), 1)


def holds_moment(answer: str, moment: date | time) -> bool:
    """Whether the answer holds the date (with the right year, or none) or the time to the minute, of what has both.

    Read are ISO dates, ``21 November 2026``, ``Nov 21st``, ``11/21/2026``, ``21.11.2026``, and times of 24 hours or of
    12 with am or pm.
    """
    text = answer.lower()
    forms = [*(_date_forms(moment) if isinstance(moment, date) else ())]
    forms += _time_forms(moment) if isinstance(moment, datetime | time) else ()
    return any(re.search(form, text) for form in forms)


def holds_weekday(answer: str, moment: date) -> bool:
    """Whether the answer names the weekday, in English and in full."""
    names = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    return re.search(rf"\b{names[moment.weekday()]}\b", answer.lower()) is not None


def _date_forms(moment: date) -> list[str]:
    year, month, day = moment.year, f"0?{moment.month}", f"0?{moment.day}"
    name = _MONTHS[moment.month - 1]
    named = rf"(?:{name}|{name[:3]}|{name[:4]})\b\.?+"
    ordinal = rf"{day}(?>(?:st|nd|rd|th)?)"
    year_or_none = rf"(?:,? (?:of )?{year}\b|(?!,? (?:of )?\d{{4}}\b|\d))"
    return [
        rf"(?<!\d){year}[-/.]{month}[-/.]{day}(?!\d)",
        rf"(?<!\d)(?:{day}[/.-]{month}|{month}[/-]{day})[/.-]{year}\b",
        rf"\b{named} (?:the )?{ordinal}{year_or_none}",
        rf"(?<![\d.,]){ordinal}\.? (?:of )?{named}{year_or_none}",
    ]


def _time_forms(moment: datetime | time) -> list[str]:
    minute, half = f"{moment.minute:02}", "p" if moment.hour >= 12 else "a"
    hour = moment.hour % 12 or 12
    full = rf"(?:[.:]{minute}(?::\d\d)?|)" if moment.minute == 0 else rf"[.:]{minute}(?::\d\d)?"
    return [
        rf"(?<![\d:])0?{hour}{full} ?{half}\.?m\b",
        rf"(?<![\d:])0?{moment.hour}:{minute}(?::\d\d(?:\.\d+)?)?(?![\d:]| ?[ap]\.?m\b)",
    ]
