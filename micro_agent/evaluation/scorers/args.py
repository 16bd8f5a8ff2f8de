"""``expect_args``: arguments that tools were called with."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from micro_agent.evaluation.result import Check
from micro_agent.evaluation.scorers.contains import plain
from micro_agent.evaluation.scorers.wording import met, quoted, unmet
from micro_agent.evaluation.task import Task
from micro_agent.run import Run


def check(task: Task, run: Run) -> Check | None:
    """Whether for each expected call one was made, with success, that has its arguments; ``None``: none expected.

    Further arguments are free. Of the calls that were made the detail is on the one that is closest.
    """
    if task.expect_args is None:
        return None
    for tool, calls in task.expect_args.items():
        made = [step.args for step in run.steps if step.tool == tool and step.ok]
        for wanted in calls:
            differing = [[name for name in wanted if not _fits(wanted[name], args.get(name))] for args in made]
            if all(differing):
                return unmet("args", called_with({tool: [wanted]}), _found(made, differing))
    return met("args")


def _fits(wanted: Any, given: Any) -> bool:
    """Whether an argument is as wanted: the same, or the same as one of a list of alternatives."""
    alternatives = cast("list[Any]", wanted) if isinstance(wanted, list) else []
    return _same(wanted, given) or any(_same(one, given) for one in alternatives)


def _same(wanted: Any, given: Any) -> bool:
    if wanted is None or wanted == "":
        return given is None or given == ""
    if isinstance(given, Mapping) and isinstance(wanted, Mapping):
        had = cast("Mapping[str, Any]", given)
        return all(_same(value, had.get(name)) for name, value in cast("Mapping[str, Any]", wanted).items())
    if isinstance(given, list) and isinstance(wanted, list):
        pair = cast("list[Any]", wanted), cast("list[Any]", given)
        return len(pair[0]) == len(pair[1]) and all(map(_same, *pair))
    if isinstance(given, bool) or isinstance(wanted, bool):
        return f"{given}".casefold() == f"{wanted}".casefold()
    if isinstance(given, int | float) or isinstance(wanted, int | float):
        number = _number(given)
        return number is not None and number == _number(wanted)
    return isinstance(given, str) and isinstance(wanted, str) and plain(given) == plain(wanted)


def _number(value: Any) -> Decimal | None:
    """By value: 3, 3.0, "3" and "3.00" are the same. As decimals: 0.1 is what is written, not the nearest float."""
    try:
        number = Decimal(value if isinstance(value, int) else str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _found(made: list[dict[str, Any]], differing: list[list[str]]) -> str:
    if not made:
        return "it was never called with success"
    args, names = min(zip(made, differing, strict=True), key=lambda pair: len(pair[1]))
    return ", ".join(f"{name} was {quoted(str(args[name])) if name in args else 'left out'}" for name in names)


def called_with(expected: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The expected calls, for a person."""
    return ", ".join(
        f"{tool}({', '.join(f'{name}={_alternatives(value)}' for name, value in wanted.items())})"
        for tool, calls in expected.items()
        for wanted in calls
    )


def _alternatives(value: Any) -> str:
    if isinstance(value, list):
        return " or ".join(map(_alternatives, cast("list[Any]", value)))
    return "nothing" if value is None else quoted(value) if isinstance(value, str) else str(value)
