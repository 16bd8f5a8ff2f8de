"""How the model says what it means: well, and in the parts that bad ways are made of."""

import json
from collections.abc import Callable

from micro_agent.testing import Reply, call, calls, decision, final, text

from .scenario import Called, Says, Turn


def js(value: object) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def well(turn: Turn) -> Reply:
    """As it should be said in this mode; on the native wire all calls that are left, at once."""
    if turn.mode == "native":
        if len(turn.calls) > 1:
            return calls(*((one.name, one.args) for one in turn.calls))
        return call(turn.call.name, turn.call.args) if turn.call else text(turn.task.answer)
    return decision(turn.call.name, turn.call.args) if turn.call else final(turn.task.answer)


def as_object(turn: Turn) -> str:
    """The next call, or in JSON mode the answer, as the object that a model of this mode writes into its text."""
    if turn.mode == "json":
        return well(turn).text
    return js({"name": turn.call.name, "arguments": turn.call.args}) if turn.call else turn.task.answer


def in_text(render: Callable[[Called], str], answer: Callable[[str], str] = str) -> Says:
    """A dialect: the next call is written in the text, the answer as prose."""
    return lambda turn: text(render(turn.call) if turn.call else answer(turn.task.answer))


def all_in_text(render: Callable[[tuple[Called, ...]], str]) -> Says:
    """A dialect that writes all calls that are left into one text."""
    return lambda turn: text(render(turn.calls) if turn.calls else turn.task.answer)


def around(change: Callable[[str], str]) -> Says:
    """What happens to the whole text of the object, of an answer in JSON mode too; prose stays as it is."""

    def says(turn: Turn) -> Reply:
        whole = as_object(turn)
        return text(change(whole) if turn.call or turn.mode == "json" else whole)

    return says


def in_call(change: Callable[[Called], str]) -> Says:
    """What happens to the text of a call alone; the answer is said well."""
    return lambda turn: text(change(turn.call)) if turn.call else None
