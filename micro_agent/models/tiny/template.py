"""The form in which the tiny model reads a conversation, as parts for its tokenizer; the Jinja of it is `JINJA`.

What a person, a tool or a server said stays text: it cannot bring marks into the prompt.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dspy import lm15

from micro_agent.models.tiny.tokenizer import BEGIN, CALL, CALLED, END, START, Part

JINJA = """\
{%- if tools or messages[0].role == 'system' -%}
{{ '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{ messages[0].content }}{% endif -%}
{%- if tools %}{{ '\\nTools:' }}
{%- for tool in tools %}{{ '\\n' + tool.function.name + '(' }}
{%- for name in tool.function.parameters.properties %}{{ name }}{% if not loop.last %}{{ ', ' }}{% endif %}{% endfor -%}
{{ ')' }}{% endfor %}{% endif -%}
{{ '<|im_end|>\\n' }}
{%- endif -%}
{%- for message in messages %}{% if message.role != 'system' -%}
{{ '<|im_start|>' + message.role + '\\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] -%}
{{ '<tool_call>{"name": ' + (call.function.name | tojson) }}
{{- ', "arguments": ' + (call.function.arguments | tojson) + '}</tool_call>' }}
{%- endfor -%}
{{ '<|im_end|>\\n' }}
{%- endif %}{% endfor -%}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif -%}
"""
"""The same for a server of the exported model. llama.cpp writes the beginning of a text before it."""


def prompt_of(request: lm15.Request) -> list[Part]:
    """What the model reads before it replies to a request."""
    return [BEGIN, *head_of(request), *turns_of(request.messages), *beginning_of("assistant")]


def head_of(request: lm15.Request) -> list[Part]:
    """The system prompt and the tools, if there are any."""
    system = request.system if isinstance(request.system, str) else _text(request.system or ())
    offered = [(tool.name, tool.parameters) for tool in request.tools if isinstance(tool, lm15.FunctionTool)]
    lines = [f"\n{name}({', '.join(_properties(schema))})" for name, schema in offered]
    told = system + ("\nTools:" + "".join(lines) if lines else "")
    return [*beginning_of("system"), told, END, "\n"] if told else []


def turns_of(messages: Iterable[lm15.Message]) -> Iterator[Part]:
    """The messages, each result of a tool as one of its own."""
    for message in messages:
        results = [part for part in message.parts if isinstance(part, lm15.ToolResultPart)]
        if results:
            for result in results:
                yield from (*beginning_of("tool"), _text(result.content), END, "\n")
            continue
        yield from (*beginning_of(message.role), _text(message.parts))
        for part in message.parts:
            if isinstance(part, lm15.ToolCallPart):
                yield from call(part.name, part.input)
        yield from (END, "\n")


def call(name: str, arguments: Mapping[str, Any]) -> list[Part]:
    """A tool call as the model writes it."""
    return [CALL, f'{{"name": {_json(name)}, "arguments": {_json(dict(arguments))}}}', CALLED]


def beginning_of(role: str) -> list[Part]:
    """What stands before a message."""
    return [START, f"{role}\n"]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _properties(schema: Mapping[str, Any] | None) -> Sequence[str]:
    return list((schema or {}).get("properties", {}))


def _text(parts: Iterable[Any]) -> str:
    return "".join(part.text for part in parts if isinstance(part, lm15.TextPart))
