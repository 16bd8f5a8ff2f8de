"""`tests.each`: one test for a table fails with every row that does not hold."""

import pytest

from tests.each import each


@each(("number", "half"), [(2, 1), (4, 2)])
@each("more", [0, 1])
def test_all_parts_and_fixtures_are_given(number: int, half: int, more: int, tmp_path: object) -> None:
    assert number + more == half * 2 + more
    assert tmp_path


def test_all_that_do_not_hold_are_named_with_what_was_found() -> None:
    @each("number", [1, 2, 3, 4], ids=lambda number: f"number {number}")
    def odd(number: int) -> None:
        assert number % 2 == 1

    with pytest.raises(pytest.fail.Exception) as failed:
        odd()
    told = str(failed.value)
    assert told.startswith("2 of 4 do not hold.\n\nnumber 2: assert (2 % 2) == 1")
    assert "\n\nnumber 4: assert (4 % 2) == 1" in told


def test_an_error_says_with_which_it_came() -> None:
    @each("number", [1, 0])
    def inverted(number: int) -> None:
        assert 1 / number

    with pytest.raises(ZeroDivisionError) as failed:
        inverted()
    assert failed.value.__notes__ == ["The case: 0"]
