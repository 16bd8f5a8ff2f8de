"""WEAK-MODELS, "What must not happen": a call invented, a cut-off write run, an answer lost."""

from collections.abc import Iterator

from micro_agent.testing import Reply, call, text

from .saying import as_object, js
from .scenario import BOTH, BRACE, CODE, CONFIG, LIST, NATIVE, NOTE, OBJECT, STEPS, STREAMS, WEATHER, Scenario, Turn

PART = "What must not happen"


def _native_too(turn: Turn) -> Reply | None:
    """The same call natively and in the text beside it: it is one."""
    return call(turn.call.name, turn.call.args, text=as_object(turn)) if turn.call else None


def _cut_in_value(turn: Turn) -> Reply | None:
    return text(as_object(turn)[:-14]) if turn.call else None


def _cut_native(turn: Turn) -> Reply | None:
    return call(turn.call.name, js(turn.call.args)[:-12]) if turn.call else None


def _cut_before_braces(turn: Turn) -> Reply | None:
    """All but the last braces arrived, and the server says that the limit ended it."""
    return text(as_object(turn).rstrip("}"), finish_reason="length") if turn.call else None


def _cut_markup(turn: Turn) -> Reply | None:
    if turn.call is None:
        return None
    return text(
        "<tool_call>\n" + js({"name": turn.call.name, "arguments": turn.call.args})[:-20], finish_reason="length"
    )


def _no_such_tool(turn: Turn) -> Reply | None:
    return text('I delete it: {"name": "delete_notes", "arguments": {"all": true}}') if turn.call else None


def _no_such_arguments(turn: Turn) -> Reply | None:
    return text('Here: {"name": "write_note", "arguments": {"everything": [1, 2]}}') if turn.call else None


def _one_of_several(turn: Turn) -> Reply | None:
    if turn.call is None:
        return None
    return text(
        'Either {"name": "write_note", "arguments": {"title": "A", "text": "tea"}} or rather '
        '{"name": "write_note", "arguments": {"title": "B", "text": "coffee"}}: I am not sure.'
    )


def _schema_echo(turn: Turn) -> Reply | None:
    if turn.call is None:
        return None
    return text(
        js({"name": "write_note", "parameters": {"type": "object", "properties": {"title": {"type": "string"}}}})
    )


def _prose(turn: Turn) -> Reply:
    return text(turn.task.answer)


def _names_the_tool(turn: Turn) -> Reply | None:
    return None if turn.call else text(f"I used get_weather(city) for this. {turn.task.answer}")


def scenarios() -> Iterator[Scenario]:
    """What is run, and how often, counts here more than how the run ends."""
    yield Scenario(PART, "one call said natively and in the text", _native_too, NOTE, (NATIVE,))
    for name, says, ways in (
        ("cut off inside a value, no word from the server", _cut_in_value, BOTH),
        ("native arguments cut off, no word from the server", _cut_native, (NATIVE,)),
        ("cut off before the last braces", _cut_before_braces, BOTH),
        ("cut off inside <tool_call>", _cut_markup, STREAMS),
        ("a name that no tool has, in prose", _no_such_tool, BOTH),
        ("arguments that fit no schema", _no_such_arguments, BOTH),
        ("the tool's schema instead of a call", _schema_echo, BOTH),
    ):
        yield Scenario(PART, name, says, NOTE, ways, readable=False)
    yield Scenario(
        PART,
        "one of several calls quoted in prose",
        _one_of_several,
        NOTE,
        readable=False,
        means=False,
        ends=frozenset({"policy"}),
    )
    yield Scenario(PART, "plain prose with braces", _prose, BRACE, STREAMS)
    yield Scenario(PART, "plain prose with an object", _prose, CONFIG, BOTH)
    for name, task in (("code", CODE), ("a list", LIST), ("an object", OBJECT), ("steps", STEPS)):
        yield Scenario(PART, f"an answer that is {name}", _prose, task, (NATIVE,))
    yield Scenario(PART, "an answer that names a tool", _names_the_tool, WEATHER, BOTH)
