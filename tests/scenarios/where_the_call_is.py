"""WEAK-MODELS, "Where the call is": each dialect, in the text of either mode."""

from collections.abc import Iterator

from micro_agent.testing import Reply, call, calls, raw, text

from .saying import all_in_text, in_text, js
from .scenario import (
    BOTH,
    NATIVE,
    NOTE,
    NOTES,
    OLLAMA_NATIVE,
    SEARCH,
    STREAMS,
    SUM,
    TRIP,
    TWO,
    WEATHER,
    Called,
    Says,
    Scenario,
    Task,
    Turn,
    Way,
)

PART = "Where the call is"


def _python(value: object) -> str:
    return repr(value)


def pythonic(one: Called) -> str:
    """The call as Python writes it: ``f(a=1)``."""
    return f"{one.name}({', '.join(f'{key}={_python(value)}' for key, value in one.args.items())})"


def _positional(one: Called) -> str:
    return f"{one.name}({', '.join(map(_python, one.args.values()))})"


def _named(key: str, args: str) -> Says:
    return in_text(lambda one: js({key: one.name, args: one.args}))


def _listed(several: tuple[Called, ...]) -> str:
    return js([{"name": one.name, "arguments": one.args} for one in several])


def _hermes(one: Called, tag: str = "tool_call") -> str:
    return f"<{tag}>\n{js({'name': one.name, 'arguments': one.args})}\n</{tag}>"


def _xml(one: Called) -> str:
    lines = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in one.args.items())
    return f"<tool_call>\n<function={one.name}>\n{lines}</function>\n</tool_call>"


def _glm(one: Called) -> str:
    lines = "".join(f"<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>\n" for k, v in one.args.items())
    return f"<tool_call>{one.name}\n{lines}</tool_call>"


def _invoke(one: Called) -> str:
    lines = "".join(f'<parameter name="{key}">{value}</parameter>\n' for key, value in one.args.items())
    return f'<minimax:tool_call>\n<invoke name="{one.name}">\n{lines}</invoke>\n</minimax:tool_call>'


def _deepseek(one: Called) -> str:
    inner = f"function<｜tool▁sep｜>{one.name}\n```json\n{js(one.args)}\n```"
    return f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{inner}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"


def _deepseek_31(one: Called) -> str:
    inner = f"{one.name}<｜tool▁sep｜>{js(one.args)}"
    return f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{inner}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"


def _kimi(one: Called) -> str:
    inner = f"functions.{one.name}:0<|tool_call_argument_begin|>{js(one.args)}"
    return f"<|tool_calls_section_begin|><|tool_call_begin|>{inner}<|tool_call_end|><|tool_calls_section_end|>"


def _harmony(one: Called) -> str:
    thought = "<|channel|>analysis<|message|>The tool knows.<|end|><|start|>assistant"
    return f"{thought}<|channel|>commentary to=functions.{one.name} <|constrain|>json<|message|>{js(one.args)}<|call|>"


def _harmony_answer(answer: str) -> str:
    return (
        "<|channel|>analysis<|message|>Now I know.<|end|><|start|>assistant"
        f"<|channel|>final<|message|>{answer}<|return|>"
    )


def _react(one: Called) -> str:
    return f"Thought: I have to look.\nAction: {one.name}\nAction Input: {js(one.args)}"


def _react_answer(answer: str) -> str:
    return f"Thought: I now know the final answer.\nFinal Answer: {answer}"


def _function_call(turn: Turn) -> Reply | None:
    """The field that ``tool_calls`` replaced."""
    if turn.call is None:
        return None
    message = {"role": "assistant", "content": None}
    message |= {"function_call": {"name": turn.call.name, "arguments": js(turn.call.args)}}
    return raw({"model": "m", "choices": [{"index": 0, "finish_reason": "function_call", "message": message}]})


def _native(turn: Turn) -> Reply | None:
    return calls(*((one.name, one.args) for one in turn.calls)) if turn.calls else None


def _other_mode(turn: Turn) -> Reply:
    if turn.mode == "json":
        return text(js({"name": turn.call.name, "arguments": turn.call.args}) if turn.call else turn.task.answer)
    if turn.call is None:
        return text(js({"final": {"answer": turn.task.answer}}))
    return text(js({"tool": {"name": turn.call.name, "args": turn.call.args}}))


def _self_play(turn: Turn) -> Reply | None:
    """The model plays the tool as well, and answers with what it made up."""
    if turn.call is None:
        return None
    if turn.mode == "json":
        asked = js({"tool": {"name": turn.call.name, "args": turn.call.args}})
        answered = js({"final": {"answer": "It is 99 degrees."}})
        return text(f'{asked}\nTool [{turn.call.name}] output:\n{{"sky": "sun, 99 degrees"}}\n{answered}')
    return text(f'{_hermes(turn.call)}\n<tool_response>\n{{"sky": "99 degrees"}}\n</tool_response>\nIt is 99 degrees.')


def _not_offered(turn: Turn) -> Reply | None:
    return call(turn.call.name, turn.call.args) if turn.call else text(turn.task.answer)


_ROWS: list[tuple[str, Says, Task, tuple[Way, ...]]] = [
    ("native: tool_calls, OpenAI", _native, TWO, (NATIVE,)),
    ("native: tool_calls, Ollama", _native, TWO, (OLLAMA_NATIVE,)),
    ("native: function_call", _function_call, WEATHER, (NATIVE,)),
    ("native: a call where none was offered", _not_offered, WEATHER, (Way("ollama", "json"),)),
    ('{"name", "parameters"}', _named("name", "parameters"), WEATHER, BOTH),
    ('{"name", "arguments"}', _named("name", "arguments"), SEARCH, STREAMS),
    ('{"tool", "args"}', _named("tool", "args"), WEATHER, BOTH),
    ('{"tool_name", "args"}', _named("tool_name", "args"), WEATHER, BOTH),
    ('{"action", "action_input"}', _named("action", "action_input"), WEATHER, BOTH),
    ('{"function": {…}}', in_text(lambda one: js({"function": {"name": one.name, "arguments": one.args}})), SUM, BOTH),
    (
        '{"tool_calls": […]}',
        all_in_text(lambda every: js({"tool_calls": [{"name": one.name, "arguments": one.args} for one in every]})),
        TWO,
        BOTH,
    ),
    ("a list of calls", all_in_text(_listed), TWO, BOTH),
    (
        '{"tool_call": {…}}',
        in_text(lambda one: js({"tool_call": {"name": one.name, "arguments": one.args}})),
        SUM,
        BOTH,
    ),
    (
        '{"type": "function", "function": {…}}',
        in_text(lambda one: js({"type": "function", "function": {"name": one.name, "parameters": one.args}})),
        WEATHER,
        BOTH,
    ),
    ("the object of the other mode", _other_mode, SEARCH, BOTH),
    ("a name and no arguments", in_text(lambda one: js({"name": one.name})), NOTES, BOTH),
    ("Hermes <tool_call>", in_text(_hermes), NOTE, STREAMS),
    ("Hermes, not closed", in_text(lambda one: _hermes(one).removesuffix("\n</tool_call>")), WEATHER, BOTH),
    ("Hermes, <tools>", in_text(lambda one: _hermes(one, "tools")), WEATHER, BOTH),
    ("Hermes, <function_call>", in_text(lambda one: _hermes(one, "function_call")), WEATHER, BOTH),
    ("Hermes, several in a row", all_in_text(lambda every: "\n".join(map(_hermes, every))), TWO, BOTH),
    ("Qwen3-coder XML", in_text(_xml), SUM, BOTH),
    ("GLM XML", in_text(_glm), WEATHER, BOTH),
    ("MiniMax <invoke>", in_text(_invoke), WEATHER, BOTH),
    ("Mistral [TOOL_CALLS][…]", all_in_text(lambda every: f"[TOOL_CALLS]{_listed(every)}"), TWO, BOTH),
    ("Mistral [TOOL_CALLS]name{…}", in_text(lambda one: f"[TOOL_CALLS]{one.name}{js(one.args)}"), WEATHER, BOTH),
    ("Mistral [ARGS]", in_text(lambda one: f"[TOOL_CALLS]{one.name}[ARGS]{js(one.args)}"), WEATHER, BOTH),
    (
        "Llama <|python_tag|>{…}",
        in_text(lambda one: f"<|python_tag|>{js({'name': one.name, 'parameters': one.args})}"),
        WEATHER,
        BOTH,
    ),
    (
        "Llama <|python_tag|>name.call(…)",
        in_text(lambda one: "<|python_tag|>" + pythonic(one).replace("(", ".call(", 1)),
        WEATHER,
        BOTH,
    ),
    ("Llama <function=name>{…}", in_text(lambda one: f"<function={one.name}>{js(one.args)}</function>"), SUM, BOTH),
    ("pythonic list", all_in_text(lambda every: f"[{', '.join(map(pythonic, every))}]"), TWO, BOTH),
    ("pythonic f(a=1)", in_text(pythonic), SEARCH, STREAMS),
    ("pythonic, nested lists and dicts", in_text(lambda one: f"[{pythonic(one)}]"), TRIP, BOTH),
    ("pythonic print(f(…))", in_text(lambda one: f"print({pythonic(one)})"), WEATHER, BOTH),
    ("pythonic, positional", in_text(lambda one: f"[{_positional(one)}]"), SUM, BOTH),
    ("DeepSeek V3", in_text(_deepseek), WEATHER, BOTH),
    ("DeepSeek V3.1", in_text(_deepseek_31), WEATHER, BOTH),
    ("Kimi K2", in_text(_kimi), WEATHER, STREAMS),
    ("Granite", all_in_text(lambda every: f"<|tool_call|>{_listed(every)}"), WEATHER, BOTH),
    ("Gemma, tool_code", in_text(lambda one: f"```tool_code\nprint({pythonic(one)})\n```"), WEATHER, BOTH),
    (
        "Command R, Action: fenced",
        in_text(lambda one: f"Action:\n```json\n{js([{'tool_name': one.name, 'parameters': one.args}])}\n```"),
        WEATHER,
        BOTH,
    ),
    (
        "Command R7B",
        in_text(
            lambda one: (
                "<|START_THINKING|>I look.<|END_THINKING|><|START_ACTION|>[\n    "
                + js({"tool_call_id": "0", "tool_name": one.name, "parameters": one.args})
                + "\n]<|END_ACTION|>"
            )
        ),
        WEATHER,
        BOTH,
    ),
    ("Phi-4, functools", all_in_text(lambda every: f"functools{_listed(every)}"), TWO, BOTH),
    (
        "Phi-4, <|tool_call|>",
        all_in_text(lambda every: f"<|tool_call|>{_listed(every)}<|/tool_call|>"),
        WEATHER,
        BOTH,
    ),
    ("Functionary v3", in_text(lambda one: f">>>{one.name}\n{js(one.args)}"), WEATHER, BOTH),
    (
        "Functionary v2",
        in_text(lambda one: f"<|from|>assistant\n<|recipient|>{one.name}\n<|content|>{js(one.args)}<|stop|>"),
        WEATHER,
        BOTH,
    ),
    ("gpt-oss, harmony channels", in_text(_harmony, _harmony_answer), WEATHER, STREAMS),
    ("name on its own line", in_text(lambda one: f"{one.name}\n{js(one.args)}"), WEATHER, BOTH),
    ("ReAct", in_text(_react, _react_answer), WEATHER, BOTH),
    ("the tool's result made up", _self_play, WEATHER, BOTH),
    (
        "ReAct, observation made up",
        in_text(
            lambda one: f"{_react(one)}\nObservation: sun, 40 degrees\nFinal Answer: It is 40 degrees.", _react_answer
        ),
        WEATHER,
        BOTH,
    ),
]


def scenarios() -> Iterator[Scenario]:
    """All of them hold what is meant."""
    for name, says, task, ways in _ROWS:
        yield Scenario(PART, name, says, task, ways)
