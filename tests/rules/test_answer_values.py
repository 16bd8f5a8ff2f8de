"""Values in prose: a number as people write it, a moment by its date or its minute."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from micro_agent.rules.answer_values import holds_moment, holds_number, holds_weekday
from tests.each import each

MOMENT = datetime(2026, 11, 21, 21, 40, 33, tzinfo=UTC)
EARLY = datetime(2026, 6, 2, 0, 5, tzinfo=UTC)
ON_THE_HOUR = datetime(2026, 9, 9, 9, 0, tzinfo=UTC)


@each(
    ("value", "answer"),
    [
        (16, "The result is 16."),
        (16, "**16**"),
        (16, "2*(3+5)=16"),
        (16, "16kg"),
        (16, "$16"),
        (16, "US$ 16.00"),
        (16, "It is 16,0 in German"),
        (16, "sixteen"),
        (16, "Sixteen apples"),
        (16, "1, 16, 3"),
        (2, "1,2,3"),
        (0, "zero"),
        (0, "0.0"),
        (1234567, "1,234,567"),
        (1234567, "1 234 567"),
        (1234567, "1\u202f234\u202f567"),
        (1234567, "1.234.567"),
        (1234567, "1'234'567"),
        (1234567, "1’234’567"),
        (1234567, "1_234_567"),
        (1234567, "12,34,567"),
        (1234567, "about 1.23 million"),
        (1234567, "1.234567e6"),
        (1234567, "1.234567 × 10^6"),
        (1234567, "1.234567 * 10**6"),
        (1234567, "1.234567 × 10⁶"),
        (0.00012, "1.2 x 10⁻⁴"),
        (1000000, "10^6"),
        (1000000, "10⁶"),
        (1024, "2^10 = 1024"),
        (5000, "5k"),
        (1234.5, "1,234.5"),
        (1234.5, "1.234,5"),
        (1234.5, "1 234.50"),
        (3.14159, "3.14"),
        (3.14159, "roughly 3.1416"),
        (1 / 3, "0.333"),
        (1 / 3, ".33"),
        (1 / 3, "33.3%"),
        (1 / 3, "33.33 percent"),
        (15, "15 %"),
        (2 / 3, "0.67"),
        (14.2857, "about 14"),
        (2.675, "2.68"),
        (0.1 + 0.2, "0.3"),
        (0.35, "0.3"),
        (0.35, "0.4"),
        (1e22, "10,000,000,000,000,000,000,000"),
        (-5, "-5"),
        (-5, "−5"),
        (-5, "minus 5"),
        (-5, "Minus five"),
        (-5, "negative 5"),
        (-5, "-$5"),
        (-5, "$-5"),
        (-0.333333, "-0.33"),
    ],
)
def test_a_number_is_found_however_it_is_written(value: float, answer: str) -> None:
    assert holds_number(answer, value)


@each(
    ("value", "answer"),
    [
        (16, ""),
        (16, "160"),
        (16, "1.16"),
        (16, "16.5"),
        (16, "2,160"),
        (16, "116"),
        (16, "x16"),
        (16, "1.2.16"),
        (16, "2026-11-16"),
        (16, "at 16:30"),
        (16, "-16"),
        (16, "minus 16"),
        (16, "sixteen hundred"),
        (16, "sixteen point five"),
        (20, "twenty-one"),
        (1, "twenty-one"),
        (5, "twenty-one point five"),
        (5, "one hundred and five"),
        (-5, "5"),
        (5, "10-50"),
        (3.14159, "3.15"),
        (3.14159, "3"),
        (3.14159, "3.141"),
        (0.333, "3"),
        (0.333, "33.3"),
        (0.004, "0.0"),
        (-0.004, "0.0"),
        (1234567, "1 million"),
        (1234567, "1,234,570"),
        (1234567, "10^6"),
        (234, "1 234 567"),
        (8, "2^3"),
        (1.234, "1,234"),
        (0.5, "0"),
        (3.5, "3"),
        (16, "1" * 5000),
    ],
)
def test_another_number_or_a_part_of_one_is_not_taken_for_it(value: float, answer: str) -> None:
    assert not holds_number(answer, value)


@given(st.integers(-(10**18), 10**18), st.sampled_from(["{}", "{:,}", "= {:_}.", "({})", "It is {:,}!"]))
def test_every_integer_is_found(value: int, form: str) -> None:
    assert holds_number(form.format(value), value)


@given(st.floats(-1e6, 1e6), st.integers(1, 6))
def test_every_rounding_is_found(value: float, decimals: int) -> None:
    shown = f"{value:.{decimals}f}"
    assert holds_number(f"about {shown}", value) or float(shown) == 0


@given(st.text(), st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_any_text_can_be_searched(answer: str, value: float) -> None:
    assert holds_number(answer, value) in (True, False)


@each(
    ("moment", "answer"),
    [
        (MOMENT, "2026-11-21"),
        (MOMENT, "Today is 21 November 2026."),
        (MOMENT, "the 21st of November, 2026"),
        (MOMENT, "November 21, 2026"),
        (MOMENT, "Saturday, November the 21st"),
        (MOMENT, "Nov 21st"),
        (MOMENT, "21 nov."),
        (MOMENT, "11/21/2026"),
        (MOMENT, "21.11.2026"),
        (MOMENT, "21:40"),
        (MOMENT, "21:40:33 UTC"),
        (MOMENT, "2026-11-21T21:40:33+00:00"),
        (MOMENT, "9:40 pm"),
        (MOMENT, "9:40 P.M."),
        (MOMENT, "09.40pm"),
        (EARLY, "12:05 am"),
        (EARLY, "0:05"),
        (EARLY, "00:05"),
        (EARLY, "2 June"),
        (EARLY, "June 2nd, 2026"),
        (EARLY, "02/06/2026"),
        (ON_THE_HOUR, "9 am"),
        (ON_THE_HOUR, "Sept 9"),
    ],
)
def test_a_moment_is_found_by_its_date_or_its_minute(moment: datetime, answer: str) -> None:
    assert holds_moment(answer, moment)


@each(
    ("moment", "answer"),
    [
        (MOMENT, ""),
        (MOMENT, "Saturday"),
        (MOMENT, "2026"),
        (MOMENT, "21 November 2025"),
        (MOMENT, "November 21st, 2025"),
        (MOMENT, "21 Nov. 2025"),
        (MOMENT, "November 2"),
        (MOMENT, "121 November"),
        (MOMENT, "9:40"),
        (MOMENT, "9:40 am"),
        (MOMENT, "9 pm"),
        (MOMENT, "21:41"),
        (MOMENT, "21:4"),
        (MOMENT, "11/21/2025"),
        (EARLY, "12:05 pm"),
        (EARLY, "10:05"),
        (EARLY, "June 21"),
        (EARLY, "12 June"),
    ],
)
def test_another_moment_is_not_taken_for_it(moment: datetime, answer: str) -> None:
    assert not holds_moment(answer, moment)


def test_a_weekday_is_found_by_its_name() -> None:
    assert holds_weekday("It is SATURDAY.", MOMENT)
    assert not holds_weekday("It is Sunday.", MOMENT)
