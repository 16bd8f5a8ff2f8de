"""WEAK-MODELS, "What is wrong with it": each defect, in native calls and in the text of JSON mode."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from micro_agent.testing import Reply, call, text

from .saying import all_in_text, around, as_object, in_call, in_text, js
from .scenario import (
    BOTH,
    JSON,
    NATIVE,
    NOTE,
    SEARCH,
    STREAMS,
    SUM,
    TWO,
    WEATHER,
    Called,
    Says,
    Scenario,
    Task,
    Turn,
    Way,
)

PART = "What is wrong with it"


def _object(turn: Turn, name: str, args: Any, *, key: str | None = None) -> str:
    """A call in the words of the mode, its arguments under ``key``."""
    if turn.mode == "json":
        return js({"tool": {"name": name, (key or "args"): args}})
    return js({"name": name, (key or "arguments"): args})


def _with_args(change: Callable[[dict[str, Any]], Any]) -> Says:
    """Other arguments: in the native call where the mode has one."""

    def says(turn: Turn) -> Reply | None:
        if turn.call is None:
            return None
        changed = change(turn.call.args)
        return call(turn.call.name, changed) if turn.mode == "native" else text(_object(turn, turn.call.name, changed))

    return says


def _with_broken_args(change: Callable[[str], str]) -> Says:
    """The text of the arguments broken: that of the native call, or of the decision."""

    def says(turn: Turn) -> Reply | None:
        if turn.call is None:
            return None
        if turn.mode == "native":
            return call(turn.call.name, change(js(turn.call.args)))
        return text(change(as_object(turn)))

    return says


def _with_name(change: Callable[[str], str]) -> Says:
    def says(turn: Turn) -> Reply | None:
        if turn.call is None:
            return None
        name = change(turn.call.name)
        if turn.mode == "native":
            return call(name, turn.call.args)
        return text(_object(turn, name, turn.call.args))

    return says


def _key(key: str) -> Says:
    return lambda turn: text(_object(turn, turn.call.name, turn.call.args, key=key)) if turn.call else None


def _python(one: Called) -> str:
    return repr({"name": one.name, "arguments": one.args})


def _unquoted(one: Called) -> str:
    inner = ", ".join(f"{key}: {js(value)}" for key, value in one.args.items())
    return f"{{name: {js(one.name)}, arguments: {{{inner}}}}}"


def _beside(one: Called) -> str:
    return js({"name": one.name, **one.args})


def _in_between(several: tuple[Called, ...]) -> str:
    rendered = [f"<tool_call>{js({'name': one.name, 'arguments': one.args})}</tool_call>" for one in several]
    return "First this:\n" + "\nThen I also need that one:\n".join(rendered)


def _as_strings(args: dict[str, Any]) -> dict[str, Any]:
    return {key: js(value) if isinstance(value, int) else value for key, value in args.items()}


def _scalars(args: dict[str, Any]) -> dict[str, Any]:
    return {key: value[0] if isinstance(value, list) else value for key, value in args.items()}  # pyright: ignore[reportUnknownVariableType]


def _final_inside(turn: Turn) -> Reply | None:
    if turn.call is None:
        return None
    return text(
        js({"tool": {"name": turn.call.name, "args": turn.call.args}, "final": {"answer": "It is 99 degrees."}})
    )


def _final_after(turn: Turn) -> Reply | None:
    if turn.call is None:
        return None
    return text(f"{as_object(turn)}\n" + js({"final": {"answer": "It is 99 degrees."}}))


def _prose_answer_after(turn: Turn) -> Reply | None:
    return text(f"{as_object(turn)}\n\nThe answer is 99 degrees.") if turn.call else None


def _fenced_list(turn: Turn) -> Reply | None:
    return text(f"```json\n[{as_object(turn)}]\n```") if turn.call else None


_THOUGHT = "The user wants to know. A tool knows it, so I call it."
_DECOY = 'I could say {"name": "get_weather", "arguments": {"city": "Cairo"}}, but that is the wrong city.'

_ROWS: list[tuple[str, Says, Task, tuple[Way, ...]]] = [
    ("prose before", around(lambda said: f"Sure! I will look that up for you:\n\n{said}"), WEATHER, STREAMS),
    ("prose after", around(lambda said: f"{said}\n\nLet me know if you need anything else!"), WEATHER, BOTH),
    ("prose before and after", around(lambda said: f"Okay, here it is. {said} I hope this helps."), SUM, BOTH),
    (
        "prose with other braces around",
        around(lambda said: f"For {{oslo}} I use:\n{said}\nThat is {{done}}."),
        NOTE,
        BOTH,
    ),
    ("Python literals, True and None", in_call(_python), SEARCH, BOTH),
    ("the call inside a string", around(js), WEATHER, BOTH),
    ("code fence", around(lambda said: f"```json\n{said}\n```"), WEATHER, STREAMS),
    (
        "several code fences",
        around(lambda said: f"First:\n```bash\npip list\n```\nThe call:\n```json\n{said}\n```\nDone.\n```\nend\n```"),
        WEATHER,
        BOTH,
    ),
    (
        "arguments as a JSON string",
        in_call(lambda one: js({"name": one.name, "arguments": js(one.args)})),
        SEARCH,
        BOTH,
    ),
    ("double encoding", _with_args(lambda args: js(js(args))), SEARCH, BOTH),
    ("a dict passed positionally", in_call(lambda one: f"{one.name}({js(one.args)})"), WEATHER, BOTH),
    ("markdown escapes", around(lambda said: said.replace("_", r"\_")), WEATHER, BOTH),
    ("trailing commas", _with_broken_args(lambda said: said.replace("}", ",}")), WEATHER, BOTH),
    ("missing brace", _with_broken_args(lambda said: said[:-1]), WEATHER, BOTH),
    ("extra brace", _with_broken_args(lambda said: said + "}"), WEATHER, BOTH),
    ("unquoted keys", in_call(_unquoted), SEARCH, BOTH),
    (
        "comments",
        in_call(lambda one: f'{{\n  "name": "{one.name}", // the tool\n  "arguments": {js(one.args)} /* all */\n}}'),
        WEATHER,
        BOTH,
    ),
    ("smart quotes", _with_broken_args(lambda said: re.sub('"([^"]*)"', "“\\1”", said)), WEATHER, BOTH),
    ("raw newlines in strings", _with_broken_args(lambda said: said.replace(r"\n", "\n")), NOTE, BOTH),
    ("single quotes in the arguments", _with_broken_args(lambda said: said.replace('"', "'")), WEATHER, BOTH),
    ("fence around the arguments", _with_broken_args(lambda said: f"```json\n{said}\n```"), WEATHER, BOTH),
    ("numbers and booleans as strings", _with_args(_as_strings), SEARCH, BOTH),
    ("a scalar where a list is wanted", _with_args(_scalars), SEARCH, BOTH),
    ("arguments nested too deep", _with_args(lambda args: {"arguments": args}), SEARCH, BOTH),
    ("arguments beside the name", in_call(_beside), SEARCH, BOTH),
    *((f"key {key}", _key(key), SUM, BOTH) for key in ("arguments", "args", "parameters", "params", "input", "kwargs")),
    ("name in another case", _with_name(lambda name: name.title()), WEATHER, BOTH),
    ("name with functions.", _with_name(lambda name: f"functions.{name}"), WEATHER, STREAMS),
    ("name with default_api.", _with_name(lambda name: f"default_api.{name}"), WEATHER, BOTH),
    ("name with a suffix", _with_name(lambda name: f"{name}:0"), WEATHER, BOTH),
    ("name with <|channel|> glued on", _with_name(lambda name: f"{name}<|channel|>commentary"), WEATHER, BOTH),
    ("dots for underscores", _with_name(lambda name: name.replace("_", ".")), WEATHER, BOTH),
    ("dashes for underscores", _with_name(lambda name: name.replace("_", "-")), WEATHER, BOTH),
    ("<think>, closed", around(lambda said: f"<think>\n{_THOUGHT}\n</think>\n\n{said}"), WEATHER, STREAMS),
    ("<think> with another call in it", around(lambda said: f"<think>{_DECOY}</think>{said}"), WEATHER, BOTH),
    ("</think> alone", around(lambda said: f"{_THOUGHT}\n</think>\n\n{said}"), WEATHER, STREAMS),
    ("<|im_end|> at the end", around(lambda said: f"{said}<|im_end|>"), WEATHER, BOTH),
    ("</s> at the end", around(lambda said: f"{said}</s>"), WEATHER, BOTH),
    ("assistant before it", around(lambda said: f"<|im_start|>assistant\n{said}"), WEATHER, BOTH),
    ("byte order mark", around(lambda said: f"\ufeff{said}"), WEATHER, BOTH),
    ("a list in a fence", _fenced_list, WEATHER, BOTH),
    ("text between two calls", all_in_text(_in_between), TWO, BOTH),
    ("the answer inside the decision", _final_inside, WEATHER, BOTH),
    ("the answer after the decision", _final_after, WEATHER, BOTH),
    ("an answer in prose after the call", _prose_answer_after, WEATHER, BOTH),
    ("the same object three times", around(lambda said: f"{said}\n{said}\n{said}"), NOTE, BOTH),
]


def _thoughts(answer: str) -> str:
    return f"<think>Now I know it: 99 or -7?</think>{answer}"


def _only_thoughts(turn: Turn) -> Reply:
    return text("<think>\nThe user wants to know. Let me see, there is a tool that")


def _extra(args: dict[str, Any]) -> dict[str, Any]:
    return {**args, "reason": "the user asks"}


def _cut(turn: Turn) -> Reply:
    return text(as_object(turn)[:-12], finish_reason="length") if turn.call else text(turn.task.answer)


def scenarios() -> Iterator[Scenario]:
    """All hold what is meant, but for thoughts that never end and what was cut off."""
    for name, says, task, ways in _ROWS:
        yield Scenario(PART, name, says, task, ways)
    answers = in_text(lambda one: js({"name": one.name, "arguments": one.args}), _thoughts)
    yield Scenario(PART, "<think> before the answer", answers, WEATHER, BOTH)
    yield Scenario(PART, "answer in a code fence", _answer(lambda said: f"```json\n{said}\n```"), WEATHER, (JSON,))
    yield Scenario(PART, "answer inside a string", _answer(js), WEATHER, (JSON,))
    yield Scenario(PART, '{"answer": "…"}', _bare_answer, WEATHER, (JSON,))
    yield Scenario(PART, '{"final": "…"}', _bare_final, WEATHER, (JSON,))
    yield Scenario(PART, '{"action": "Final Answer"}', _final_action, WEATHER, (JSON,))
    yield Scenario(
        PART, "answer as prose", lambda turn: None if turn.call else text(turn.task.answer), WEATHER, (JSON,)
    )
    yield Scenario(PART, "answer with </s> at the end", _answer_with_token, WEATHER, BOTH)
    yield Scenario(PART, "brace missing after a number", _cut_number, SUM, (NATIVE,), readable="either")
    yield Scenario(PART, "the name as the key", _name_as_key, WEATHER, BOTH, readable="either")
    yield Scenario(PART, "extra arguments", _with_args(_extra), WEATHER, BOTH, readable="either")
    yield Scenario(PART, "<think>, never closed", _only_thoughts, WEATHER, BOTH, readable=False)
    yield Scenario(PART, "cut off by the token limit", _cut, NOTE, BOTH, readable=False)
    yield Scenario(PART, "answer cut off", _cut_answer, WEATHER, BOTH, readable=False)
    yield Scenario(PART, "native arguments cut off", _cut_arguments, NOTE, (NATIVE,), readable=False)


def _answer(change: Callable[[str], str]) -> Says:
    """What happens to the answer alone."""
    return lambda turn: None if turn.call else text(change(as_object(turn)))


def _bare_final(turn: Turn) -> Reply | None:
    return None if turn.call else text(js({"final": turn.task.answer}))


def _final_action(turn: Turn) -> Reply | None:
    return None if turn.call else text(js({"action": "Final Answer", "action_input": turn.task.answer}))


def _answer_with_token(turn: Turn) -> Reply | None:
    return None if turn.call else text(f"{as_object(turn)}</s>")


def _cut_number(turn: Turn) -> Reply | None:
    return call(turn.call.name, js(turn.call.args)[:-1]) if turn.call else None


def _name_as_key(turn: Turn) -> Reply | None:
    return text(js({turn.call.name: turn.call.args})) if turn.call else None


def _bare_answer(turn: Turn) -> Reply | None:
    return None if turn.call else text(js({"answer": turn.task.answer}))


def _cut_answer(turn: Turn) -> Reply | None:
    return None if turn.call else text(as_object(turn)[:-16], finish_reason="length")


def _cut_arguments(turn: Turn) -> Reply | None:
    return call(turn.call.name, js(turn.call.args)[:-8], finish_reason="length") if turn.call else None
