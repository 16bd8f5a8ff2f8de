"""A call written in the text as another family of models writes it."""

from collections.abc import Callable
from random import Random
from typing import Any

from micro_agent.decoding.decision import ModelReply
from micro_agent.testing.damage.said import Said, as_json

Args = dict[str, Any]


def hermes(name: str, args: Args) -> str:
    """Hermes and Qwen."""
    return f"<tool_call>\n{as_json({'name': name, 'arguments': args})}\n</tool_call>"


def pythonic(name: str, args: Args) -> str:
    """A call in Python, with keywords."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})"


def parameters(name: str, args: Args) -> str:
    """Qwen3-coder."""
    lines = "".join(f"<parameter={key}>\n{_plain(value)}\n</parameter>\n" for key, value in args.items())
    return f"<tool_call>\n<function={name}>\n{lines}</function>\n</tool_call>"


def invoke(name: str, args: Args) -> str:
    """MiniMax and others."""
    lines = "".join(f'<parameter name="{key}">{_plain(value)}</parameter>\n' for key, value in args.items())
    return f'<invoke name="{name}">\n{lines}</invoke>'


def key_value(name: str, args: Args) -> str:
    """GLM."""
    lines = "".join(f"<arg_key>{k}</arg_key>\n<arg_value>{_plain(v)}</arg_value>\n" for k, v in args.items())
    return f"<tool_call>{name}\n{lines}</tool_call>"


def deepseek(name: str, args: Args) -> str:
    """DeepSeek V3."""
    inner = f"function<｜tool▁sep｜>{name}\n```json\n{as_json(args)}\n```"
    return f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{inner}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"


def kimi(name: str, args: Args) -> str:
    """Kimi K2."""
    inner = f"functions.{name}:0<|tool_call_argument_begin|>{as_json(args)}"
    return f"<|tool_calls_section_begin|><|tool_call_begin|>{inner}<|tool_call_end|><|tool_calls_section_end|>"


def harmony(name: str, args: Args) -> str:
    """The channels of gpt-oss."""
    return f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{as_json(args)}<|call|>"


def react(name: str, args: Args) -> str:
    """ReAct."""
    return f"Thought: I need a tool for this.\nAction: {name}\nAction Input: {as_json(args)}"


def gemma(name: str, args: Args) -> str:
    """Gemma's Python in a fence."""
    return f"```tool_code\nprint({pythonic(name, args)})\n```"


FORMS: tuple[Callable[[str, Args], str], ...] = (
    hermes, pythonic, parameters, invoke, key_value, deepseek, kimi, harmony, react, gemma,
    lambda name, args: f"[{pythonic(name, args)}]",
    lambda name, args: f"[TOOL_CALLS][{as_json({'name': name, 'arguments': args})}]",
    lambda name, args: f"[TOOL_CALLS]{name}[ARGS]{as_json(args)}",
    lambda name, args: f"<|python_tag|>{as_json({'name': name, 'parameters': args})}",
    lambda name, args: f"<function={name}>{as_json(args)}</function>",
    lambda name, args: f"<|tool_call|>[{as_json({'name': name, 'arguments': args})}]",
)  # fmt: skip


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The one call that was made, in one of the forms; several as Hermes has them."""
    if not said.calls:
        return None
    form = rng.choice(FORMS) if len(said.calls) == 1 else hermes
    return said.written("\n".join(form(call.name, call.arguments) for call in said.calls))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else as_json(value)
