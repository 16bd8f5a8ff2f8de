"""One test for a table of cases: pytest needs milliseconds for each test, and the tables have thousands of rows."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import signature
from typing import Any

import pytest

_LONGEST = 200
"""Characters of a case that has no name."""


def each(
    names: str | Sequence[str], cases: Iterable[Any], ids: Callable[[Any], str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a test each of these values, as `pytest.mark.parametrize` does; yet it stays one test.

    All are gone through. The failure names each that does not hold, and says what was found and what was expected.
    What a fixture gives is the same for all of them.

    Args:
        names: The parameter that takes the values, or the parameters that take the parts of each.
        cases: The values.
        ids: The name of a case; ``None`` shows its values.
    """
    parameters = [names] if isinstance(names, str) else list(names)
    rows = list(cases)
    assert rows

    def named(case: Any) -> str:
        return ids(case) if ids else repr(case)[:_LONGEST]

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        whole = signature(test)

        @wraps(test)
        def through_all(**fixtures: Any) -> None:
            wrong: list[str] = []
            for case in rows:
                values = [case] if isinstance(names, str) else case
                try:
                    test(**dict(zip(parameters, values, strict=True)), **fixtures)
                except (AssertionError, pytest.fail.Exception) as failure:
                    wrong.append(f"{named(case)}: {failure}")
                except BaseException as error:
                    error.add_note(f"The case: {named(case)}")
                    raise
            if wrong:
                pytest.fail("\n\n".join([f"{len(wrong)} of {len(rows)} do not hold.", *wrong]), pytrace=False)

        left = [parameter for name, parameter in whole.parameters.items() if name not in parameters]
        through_all.__signature__ = whole.replace(parameters=left)  # pyright: ignore[reportAttributeAccessIssue]
        return through_all

    return decorated
