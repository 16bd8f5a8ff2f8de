# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""The two wires: how a decision, an observation and a word of the loop are said to a model in each mode."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dspy.lm15 import FunctionTool, Message, TextPart, ToolCallPart, ToolResultPart

from micro_agent.demos import json_form
from micro_agent.run import MALFORMED_DECISION, MARKERS, NO_ACTION, POLICY_VIOLATION, REPETITION, WARNING, Mode
from micro_agent.tools import Tool

View = Mapping[str, Any]
"""A step as the planner sees it: ``tool, args, observation`` and, in a live run, ``call, call_id, said``."""

NO_REPLY = "(no reply)"
_SAYS = {
    POLICY_VIOLATION: "Policy: ",
    MALFORMED_DECISION: "Format: ",
    NO_ACTION: "Format: ",
    WARNING: "Note: ",
    REPETITION: "Note: ",
}


class NativeWire:
    """Tools on the wire as JSON Schema, results as ``role=tool`` messages."""

    mode: Mode = "native"

    def system(self, instructions: str, tools: Sequence[Tool]) -> str:
        """The system prompt."""
        return instructions

    def tools(self, tools: Sequence[Tool]) -> tuple[FunctionTool, ...]:
        """What stands on the wire as tools."""
        return tuple(FunctionTool(name=t.name, description=t.description, parameters=t.parameters) for t in tools)

    def response_format(self, tools: Sequence[Tool]) -> dict[str, Any] | None:
        """What a server that can constrain decoding is to hold the reply to."""
        return None

    def answer(self, text: str) -> Message:
        """A final answer, as the model should have said it."""
        return Message.assistant(encodable(text) or NO_REPLY)

    def calls(self, steps: Sequence[View], ids: Sequence[str], notes: Sequence[str]) -> Iterator[Message]:
        """One reply's calls, what came of each, and what the loop has to say after them."""
        said = [TextPart(encodable(steps[0]["said"]))] if steps[0].get("said") else []
        asked = [(ident, *_asked(step)) for ident, step in zip(ids, steps, strict=True)]
        yield Message.assistant(
            [*said, *(ToolCallPart(id=ident, name=name, input=args) for ident, name, args in asked)]
        )
        for (ident, name, _), step in zip(asked, steps, strict=True):
            yield Message(role="tool", parts=(ToolResultPart(id=ident, content=(TextPart(shown(step)),), name=name),))
        if notes:
            yield Message.user("\n".join(notes))


class JsonWire(NativeWire):
    """Tools described in the system prompt, one JSON object a reply, observations as user messages."""

    mode: Mode = "json"

    def system(self, instructions: str, tools: Sequence[Tool]) -> str:
        """The system prompt, with the form of a decision and the tools."""
        lines = [f"- {t.name}: {t.description}\n  args: {as_json(t.parameters)}" for t in tools]
        return "\n".join([instructions, json_form(), "Tools:", *(lines or ["(none)"])])

    def tools(self, tools: Sequence[Tool]) -> tuple[FunctionTool, ...]:
        """None: they stand in the system prompt."""
        return ()

    def response_format(self, tools: Sequence[Tool]) -> dict[str, Any] | None:
        """The schema of a decision."""
        return {"type": "json_schema", "name": "decision", "schema": decision_schema(tools)}

    def answer(self, text: str) -> Message:
        """A final answer in the form of a decision."""
        return Message.assistant(as_json({"final": {"answer": text}}))

    def calls(self, steps: Sequence[View], ids: Sequence[str], notes: Sequence[str]) -> Iterator[Message]:
        """Each call as a decision of its own, its result as a user message."""
        for step in steps:
            name, args = _asked(step)
            yield Message.assistant(as_json({"tool": {"name": name, "args": args}}))
            said = shown(step) if step["tool"] == POLICY_VIOLATION else f"Tool [{name}] output:\n{shown(step)}"
            yield Message.user("\n\n".join([said, *(notes if step is steps[-1] else ())]))


def decision_schema(tools: Sequence[Tool]) -> dict[str, Any]:
    """JSON Schema of a decision in JSON mode. Of a tool whose schema has references, only the name is held."""

    def only(key: str, fields: dict[str, Any]) -> dict[str, Any]:
        inner = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
        return {"type": "object", "properties": {key: inner}, "required": [key], "additionalProperties": False}

    def args(tool: Tool) -> Any:
        return {"type": "object"} if "$ref" in as_json(tool.parameters) else tool.parameters

    calls = [only("tool", {"name": {"const": tool.name}, "args": args(tool)}) for tool in tools]
    return {"anyOf": [*calls, only("final", {"answer": {"type": "string"}})]}


def _asked(step: View) -> tuple[str, dict[str, Any]]:
    """The call behind a step: a refused one stands in the arguments of its marker."""
    if step["tool"] in MARKERS:
        return step["args"]["tool"], step["args"]["args"]
    return step["tool"], step["args"]


def shown(step: View) -> str:
    """What the model reads of a step."""
    said = step["observation"] if isinstance(step["observation"], str) else as_json(step["observation"])
    return encodable(_SAYS.get(step["tool"], "") + said)


def plain(part: Any) -> list[Any]:
    """A message's part as JSON-able data, for digests."""
    fields = [getattr(part, name, None) for name in ("id", "name", "input", "text")]
    return [part.type, *fields, *map(plain, getattr(part, "content", ()))]


def as_json(value: Any) -> str:
    """JSON on one line, non-ASCII letters as they are: a small model reads them better than escapes."""
    return encodable(json.dumps(value, ensure_ascii=False, default=str))


def encodable(text: str) -> str:
    """The text with lone surrogates replaced: no server can receive one, and DSPy refuses them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
