"""WEAK-MODELS, "What the loop meets": replies that can be read and are the wrong thing to do."""

from collections.abc import Iterator

from micro_agent.testing import Reply, call, calls, decision, final, text

from .saying import js
from .scenario import BOTH, NATIVE, NOTE, PRODUCT, STREAMS, TRIP, TWO, WEATHER, Scenario, Turn

PART = "What the loop meets"
_NO_WAY = frozenset({"malformed"})
_LIMITS = frozenset({"repetition", "max_steps", "policy"})


def _asks(turn: Turn, name: str, args: dict[str, object]) -> Reply:
    return call(name, args) if turn.mode == "native" else decision(name, args)


def _answers(turn: Turn, answer: str) -> Reply:
    return text(answer) if turn.mode == "native" else final(answer)


def _unknown_tool(turn: Turn) -> Reply | None:
    return _asks(turn, "weather_station_report", {"city": "Oslo"}) if turn.call else None


def _unknown_in_text(turn: Turn) -> Reply | None:
    return text('{"name": "weather_station_report", "arguments": {"city": "Oslo"}}') if turn.call else None


def _again(turn: Turn) -> Reply | None:
    """The result is there, and the model asks for it again."""
    one = turn.task.plan[0]
    return None if turn.call else _asks(turn, one.name, one.args)


def _back_and_forth(turn: Turn) -> Reply | None:
    """Both results are there, and the model asks for the one it did not ask for last."""
    return None if turn.call else calls(*((one.name, one.args) for one in turn.task.plan))


def _guess(turn: Turn) -> Reply | None:
    return _answers(turn, "It is 1700, I think.") if turn.call else None


def _several(turn: Turn) -> Reply | None:
    if turn.mode == "native":
        return calls(*((one.name, one.args) for one in turn.calls)) if turn.calls else None
    listed = [{"tool": {"name": one.name, "args": one.args}} for one in turn.calls]
    return text(js(listed)) if listed else None


def _one_of_two_is_bad(turn: Turn) -> Reply | None:
    if len(turn.calls) < 2:
        return None
    return calls((turn.calls[0].name, turn.calls[0].args), (turn.calls[1].name, {"town": "Rome"}))


def _empty(turn: Turn) -> Reply:
    return text("")


def _blank(turn: Turn) -> Reply:
    return text(" \n\n ")


def _empty_at_the_end(turn: Turn) -> Reply | None:
    return None if turn.call else text("")


def _filtered(turn: Turn) -> Reply:
    return text("", finish_reason="content_filter")


def _misspelt(turn: Turn) -> Reply | None:
    """Arguments that fit the schema and are wrong: the tool says so."""
    return _asks(turn, "get_weather", {"city": "Olso"}) if turn.call else None


def _misfit(turn: Turn) -> Reply | None:
    return _asks(turn, "plan_trip", {"stops": 3, "options": "none"}) if turn.call else None


def _missing(turn: Turn) -> Reply | None:
    return _asks(turn, "write_note", {"title": "Shopping"}) if turn.call else None


def _announced(turn: Turn) -> Reply | None:
    return text(f"Sure! Let me use the {turn.call.name} tool for that.") if turn.call else None


def _intent(turn: Turn) -> Reply | None:
    return text("I'll look that up for you:") if turn.call else None


def _echo(turn: Turn) -> Reply:
    return text(turn.task.question)


def _report(turn: Turn) -> Reply | None:
    """The answer, with the last call in it."""
    last = turn.task.plan[-1]
    said = js({"name": last.name, "arguments": last.args})
    return None if turn.call else text(f"I used this call:\n```json\n{said}\n```\n{turn.task.answer}")


def _talk(turn: Turn) -> Reply | None:
    """The object, when it is time to answer."""
    return text(f"The tool said it. {turn.task.answer}") if turn.call is None and turn.mode == "native" else None


def scenarios() -> Iterator[Scenario]:
    """What a model does again and again ends at a rule or a limit, and says so."""
    for name, says, ways in (
        ("unknown tool", _unknown_tool, STREAMS),
        ("unknown tool in the text", _unknown_in_text, BOTH),
        ("empty reply", _empty, STREAMS),
        ("blank reply", _blank, BOTH),
        ("empty reply instead of the answer", _empty_at_the_end, BOTH),
        ("refused by a content filter", _filtered, BOTH),
    ):
        ends = _NO_WAY | {"policy"} if says is _filtered else _NO_WAY
        yield Scenario(PART, name, says, WEATHER, ways, readable=False, ends=ends)
    yield Scenario(PART, "arguments that do not fit", _misfit, TRIP, BOTH, readable=False)
    yield Scenario(PART, "a required argument missing", _missing, NOTE, BOTH, readable=False)
    yield Scenario(
        PART, "the result ignored, the call repeated", _again, WEATHER, BOTH, readable=False, ends=_LIMITS, repeats=True
    )
    yield Scenario(
        PART, "two calls in turn for ever", _back_and_forth, TWO, (NATIVE,), readable=False, ends=_LIMITS, repeats=True
    )
    yield Scenario(
        PART, "finishing without the required tool", _guess, PRODUCT, STREAMS, readable=False,
        ends=frozenset({"policy"}), built_in=True,
    )  # fmt: skip
    for name, says in (
        ("a call announced by name and not made", _announced),
        ("a call announced and not made", _intent),
        ("the question again", _echo),
        ("the last call told again with the answer", _report),
    ):
        yield Scenario(PART, name, says, WEATHER, BOTH, readable=False, ends=frozenset({"policy"}))
    yield Scenario(PART, "several calls at once", _several, TWO, BOTH)
    yield Scenario(
        PART, "several calls at once, one of them bad", _one_of_two_is_bad, TWO, (NATIVE,), readable="either"
    )
    yield Scenario(
        PART, "arguments that fit and are wrong", _misspelt, WEATHER, BOTH, readable=False,
        ends=_LIMITS | {"malformed"}, repeats=True,
    )  # fmt: skip
    yield Scenario(PART, "prose around the answer", _talk, WEATHER, (NATIVE,))
