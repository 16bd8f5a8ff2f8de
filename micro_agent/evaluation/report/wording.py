"""How figures are said on the page. What is unknown is said to be unknown, and a minus is a minus sign.

A number is not parted from its unit at the end of a line: a no-break space stands between them.
"""

import math
from collections.abc import Callable
from datetime import datetime

from micro_agent.evaluation.figures import Rate

UNKNOWN = "unknown"

Say = Callable[[float | None], str]


def known(value: float | None) -> float | None:
    """``value`` if it is a finite number: NaN and the infinities, which a file can hold, say as little as ``None``."""
    return value if value is not None and math.isfinite(value) else None


def percent(share: float | None) -> str:
    """``74.3 %`` for 0.743."""
    return UNKNOWN if (value := known(share)) is None else f"{_minus(f'{100 * value:.1f}')}\N{NO-BREAK SPACE}%"


def points(difference: float | None) -> str:
    """A difference of shares, in percentage points: ``+6.7 points``."""
    return (
        UNKNOWN if (value := known(difference)) is None else f"{_minus(f'{100 * value:+.1f}')}\N{NO-BREAK SPACE}points"
    )


def interval(low: float | None, high: float | None, say: Say) -> str:
    """``69.9 to 78.3 %``: the unit once, where it stands behind the number."""
    if known(low) is None or known(high) is None:
        return UNKNOWN
    first, last = say(low), say(high)
    number, space, unit = first.partition("\N{NO-BREAK SPACE}")
    return f"{number if last.endswith(space + unit) else first} to {last}"


def rate_interval(rate: Rate) -> str:
    """The interval of a rate: ``69.9 to 78.3 %``."""
    return interval(rate.low, rate.high, percent)


def count(number: float | None) -> str:
    """``1,234`` or ``2.35``."""
    if (value := known(number)) is None:
        return UNKNOWN
    return _minus(
        f"{value:,.0f}" if value == round(value) else f"{value:,.2f}" if abs(value) < 100 else f"{value:,.1f}"
    )


def seconds(duration: float | None) -> str:
    """``1.24 s``; ``3.4 ms`` when it is short, ``312 s`` when it is long."""
    if (value := known(duration)) is None:
        return UNKNOWN
    size = abs(value)
    if 0 < size < 0.1:
        return _minus(f"{1000 * value:,.{0 if size >= 0.01 else 1}f}\N{NO-BREAK SPACE}ms")
    digits = 0 if size >= 100 or not size else 1 if size >= 10 else 2
    return _minus(f"{value:,.{digits}f}\N{NO-BREAK SPACE}s")


def dollars(cost: float | None) -> str:
    """``$0.000123``: three digits that count, two after the point from a dollar on."""
    if (value := known(cost)) is None:
        return UNKNOWN
    size = abs(value)
    digits = 0 if not size else 2 if size >= 1 else min(2 - math.floor(math.log10(size)), 12)
    return ("−" if value < 0 else "") + f"${size:,.{digits}f}"


def signed(say: Say) -> Say:
    """The same saying with a plus before what is more than nothing."""
    return lambda value: f"+{say(value)}" if (number := known(value)) is not None and number > 0 else say(value)


def p_value(probability: float | None) -> str:
    """``p = 0.012``, or ``p < 0.001``."""
    if (value := known(probability)) is None:
        return f"p {UNKNOWN}"
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def plural(number: int, thing: str, things: str | None = None) -> str:
    """``1 task``, ``2 tasks``."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def moment(ts: str) -> str:
    """``21 November 2026, 21:32 UTC`` for a time stamp; what is none is given back as it is."""
    try:
        return datetime.fromisoformat(ts).strftime("%-d %B %Y, %H:%M %Z").strip()
    except ValueError:
        return ts


def _minus(text: str) -> str:
    return text.replace("-", "−")
