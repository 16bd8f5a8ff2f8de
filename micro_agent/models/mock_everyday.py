"""Everyday questions to the mock: durations, tips, shares and days between dates as sums, and a word about itself."""

import re
from collections.abc import Callable
from datetime import date

NEXT_STEP = (
    "for anything else ask a model: `ollama pull llama3.2:3b`, then "
    '`micro-agent ask --provider ollama --model llama3.2:3b "…"`'
)
_ABOUT = (
    "I am not a model but a few rules, to try things out offline. I can do sums, percentages, tips and shares, convert "
    f"times, count the days between two dates, and tell the time and the date; {NEXT_STEP}"
)
_HELLO = 'Hello. Ask me something like "How many minutes are in 3.5 days?"'
_GREETING = r"(?:hello|hi|hey|good (?:morning|afternoon|evening))(?: (?:there|all|again))?[ .,!]*"
_TALK = (
    (re.compile(_GREETING), _HELLO),
    (
        re.compile(rf"(?:{_GREETING})?(?:what can you do|who are you|what are you|how can you help me|help)[ .!?]*"),
        _ABOUT,
    ),
)

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_UNIT = rf"({'|'.join(_SECONDS)})s?"
_N = r"(\d+(?:\.\d+)?)"
_MONEY = rf"(?:an? |the )?{_N}(?: ?(?:dollars?|euros?|pounds?|usd|eur|gbp))?"
_SUM = rf"(?:(?:an? |the )?(?:bill|total|sum) of )?{_MONEY}(?: (?:bill|meal|dinner))?"
_PERCENT = rf"{_N} ?(?:%|percent|per cent)"
_DATE = r"(\d{4}-\d\d-\d\d)"
_BETWEEN = rf"(?:between|from) {_DATE} (?:and|to|until|till) {_DATE}"
_EVENLY = r"(?:evenly |equally )?"
_PEOPLE = rf"(?:among|between|by|with|over) {_N}(?: (?:people|persons|friends|guests|of us|ways|parts))?"


def talk(question: str) -> str | None:
    """What is said to a greeting or to a question about the mock itself, which needs no tool; else ``None``."""
    text = " ".join(question.lower().split())
    return next((said for form, said in _TALK if form.fullmatch(text)), None)


def as_sums(text: str) -> str:
    """``text``, in lower case and with numbers in digits, with what is a sum in it written as one, in parentheses.

    The calculator knows no dates, so of two dates it is given the numbers of their days (`date.toordinal`).
    """
    for form, made in _SUMS:
        text = form.sub(lambda match, made=made: made(match) or match[0], text)
    return text


def _how_many(match: re.Match[str]) -> str | None:
    to, one, amount, unit = match.groups()
    return _in_unit(amount or "1", unit, to) if one or amount else None


def _converted(match: re.Match[str]) -> str:
    return _in_unit(match[1], match[2], match[3])


def _in_unit(amount: str, unit: str, to: str) -> str:
    larger, smaller = max(_SECONDS[unit], _SECONDS[to]), min(_SECONDS[unit], _SECONDS[to])
    return f"({amount} {'*' if larger == _SECONDS[unit] else '/'} {larger // smaller})"


def _part(match: re.Match[str]) -> str:
    return f"({match[1]} * {match[2]} / 100)"


def _off(match: re.Match[str]) -> str:
    return f"({match[2]} * (100 - {match[1]}) / 100)"


def _share(match: re.Match[str]) -> str:
    return f"({match[1]} / {match[2]})"


def _days(match: re.Match[str]) -> str | None:
    try:
        first, last = sorted(date.fromisoformat(text).toordinal() for text in match.groups())
    except ValueError:  # there is no such day
        return None
    return f"({last} - {first})"


_SUMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]], ...] = (
    (re.compile(rf"\bhow many {_UNIT} (?:(?:are|is) )?(?:there )?in (?:(an?) )?(?:{_N} )?{_UNIT}\b"), _how_many),
    (re.compile(rf"\b(?:convert )?{_N} {_UNIT} (?:in|into|to) {_UNIT}\b"), _converted),
    (re.compile(rf"\b(?:an? )?{_PERCENT} tip (?:on|for|of) {_SUM}"), _part),
    (re.compile(rf"\btip (?:of )?(?:an? )?{_PERCENT} (?:on|for|of) {_SUM}"), _part),
    (re.compile(rf"\b{_PERCENT} off (?:of )?{_SUM}"), _off),
    (re.compile(rf"\b(?:split|share|divide) {_SUM} {_EVENLY}{_PEOPLE}"), _share),
    (re.compile(rf"\b(?:(?:how many|the number of) )?days (?:are )?(?:there )?{_BETWEEN}"), _days),
)
