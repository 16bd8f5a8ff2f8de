# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""The two wires: how a decision, an observation and a word of the loop are said to a model in each mode.

`turns_of` and `demo_of` render whole turns and demos on either.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from dspy.lm15 import Config, FunctionTool, Message, TextPart, ToolCallPart, ToolChoice, ToolResultPart

from micro_agent.context.views import View
from micro_agent.demos import json_form
from micro_agent.encoding import as_json, encodable
from micro_agent.models.reply import mended
from micro_agent.run import (
    CONFIRMATION_REQUIRED,
    CONTEXT_TRIMMED,
    MALFORMED_DECISION,
    MARKERS,
    NO_ACTION,
    POLICY_VIOLATION,
    REPETITION,
    SELF_CORRECTION,
    VALIDATION_ERROR,
    WARNING,
    Mode,
)
from micro_agent.tools import Tool

SETTINGS = (
    "temperature", "max_tokens", "top_p", "top_k", "stop", "seed", "frequency_penalty", "presence_penalty",
    "tool_choice",
)  # fmt: skip
"""The settings of a model that go on the wire, as `NativeWire.config` takes them."""

NO_REPLY = "(no reply)"
_NOT_SHOWN = "(not shown)"
_SAYS = {
    POLICY_VIOLATION: "Policy: ",
    MALFORMED_DECISION: "Format: ",
    NO_ACTION: "Format: ",
    VALIDATION_ERROR: "Format: ",
    WARNING: "Note: ",
    REPETITION: "Note: ",
    SELF_CORRECTION: "Note: ",
    CONTEXT_TRIMMED: "Note: ",
}


class NativeWire:
    """Tools on the wire as JSON Schema, results as ``role=tool`` messages."""

    mode: Mode = "native"

    def __init__(self, names: Mapping[str, str] = MappingProxyType({})) -> None:
        self.names = names
        """The names of tools that are others on the wire, and which."""

    def system(self, instructions: str, tools: Sequence[Tool]) -> str:
        """The system prompt."""
        return instructions

    def tools(self, tools: Sequence[Tool]) -> tuple[FunctionTool, ...]:
        """What stands on the wire as tools."""
        return tuple(FunctionTool(name=t.name, description=t.description, parameters=t.parameters) for t in tools)

    def response_format(self, tools: Sequence[Tool]) -> dict[str, Any] | None:
        """What a server that can constrain decoding is to hold the reply to."""
        return None

    def config(self, settings: View, response_format: dict[str, Any] | None) -> Config:
        """The settings of a request. ``tool_choice`` among them, if any, is ``required``: a call and no answer."""
        sampling = {name: value for name, value in settings.items() if name != "tool_choice"}
        forced = None if sampling == settings else ToolChoice("required")
        return Config(**sampling, tool_choice=forced, response_format=response_format)

    def asks(self, question: str) -> Message:
        """The question."""
        return Message.user(encodable(question))

    def answer(self, text: str) -> Message:
        """A final answer, as the model should have said it."""
        return Message.assistant(encodable(text) or NO_REPLY)

    def decided(self, step: View, demo: int) -> Iterator[Message]:
        """The call that a demo ends with, and a stand-in for its result: every call on this wire wants one."""
        return self.calls([step], [f"demo_{demo}_decision"], ())

    def calls(self, steps: Sequence[View], ids: Sequence[str], notes: Sequence[str]) -> Iterator[Message]:
        """One reply's calls, what came of each, and what the loop has to say after them."""
        said = [TextPart(encodable(steps[0]["said"]))] if steps[0].get("said") else []
        asked = [(ident, *_asked(step)) for ident, step in zip(ids, steps, strict=True)]
        asked = [(ident, self.names.get(name, name), args) for ident, name, args in asked]
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

    def config(self, settings: View, response_format: dict[str, Any] | None) -> Config:
        """The settings of a request. Where a call is required, a server that can hold the reply to it is told so."""
        sampling = {name: value for name, value in settings.items() if name != "tool_choice"}
        if response_format is not None and sampling != settings:
            *calls, _ = response_format["schema"]["anyOf"]
            response_format = {**response_format, "schema": {"anyOf": calls}}
        return Config(**sampling, response_format=response_format)

    def answer(self, text: str) -> Message:
        """A final answer in the form of a decision."""
        return Message.assistant(as_json({"final": {"answer": text}}))

    def decided(self, step: View, demo: int) -> Iterator[Message]:
        """The call that a demo ends with."""
        yield Message.assistant(as_json({"tool": dict(zip(("name", "args"), _asked(step), strict=True))}))

    def calls(self, steps: Sequence[View], ids: Sequence[str], notes: Sequence[str]) -> Iterator[Message]:
        """Each call as a decision of its own, its result as a user message."""
        for step in steps:
            name, args = _asked(step)
            yield Message.assistant(as_json({"tool": {"name": name, "args": args}}))
            said = shown(step) if step["tool"] == POLICY_VIOLATION else f"Tool [{name}] output:\n{shown(step)}"
            yield Message.user("\n\n".join([said, *(notes if step is steps[-1] else ())]))


def turns_of(wire: NativeWire, steps: Sequence[View]) -> Iterator[Message]:
    """Whole turns: what a reply asked for, what came of it, then what the loop has to say."""
    turn = -1
    numbered = [(turn := turn if step.get("call") is None else step["call"], step) for step in steps]
    for _, group in groupby(numbered, key=itemgetter(0)):
        view = [step for _, step in group if step["tool"] != CONFIRMATION_REQUIRED]
        calls = [step for step in view if _is_call(step)]
        notes = [shown(step) for step in view if not _is_call(step)]
        if calls:
            yield from wire.calls(calls, [step["call_id"] for step in calls], notes)
            continue
        yield from (_refused_reply(wire, step) for step in view if step.get("call") is not None)
        yield Message.user("\n\n".join(notes))


def demo_of(wire: NativeWire, number: int, demo: View) -> Iterator[Message]:
    """A few-shot demo, the ``number``-th, as if it were the beginning of the conversation."""
    yield wire.asks(demo["question"])
    steps, decision = demo["steps"], demo["decision"]
    if not any("call" in step for step in steps):  # written by hand; recorded ones have it
        steps = [{"call": index, "call_id": str(index), **step} for index, step in enumerate(steps)]
    named = [{**step, "call_id": f"demo_{number}_{step['call_id']}"} if step.get("call_id") else step for step in steps]
    yield from turns_of(wire, named)
    if call := decision.get("tool"):
        yield from wire.decided({"tool": call["name"], "args": call["args"], "observation": _NOT_SHOWN}, number)
    if final := decision.get("final"):
        yield wire.answer(final["answer"])


def _refused_reply(wire: NativeWire, step: View) -> Message:
    """The reply behind a step of the loop: a final answer that was not taken, or one that could not be read."""
    answer = step["args"].get("answer")
    return Message.assistant(encodable(step["said"]) or NO_REPLY) if answer is None else wire.answer(answer)


def _is_call(step: View) -> bool:
    return bool(step.get("call_id")) and step["tool"] != WARNING


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
    """The call behind a step, as JSON can carry it: a refused one stands in the arguments of its marker."""
    name, args = (
        (step["args"]["tool"], step["args"]["args"]) if step["tool"] in MARKERS else (step["tool"], step["args"])
    )
    return encodable(name), mended(args)


def shown(step: View) -> str:
    """What the model reads of a step. Only words of the loop have its prefix, not the results of calls."""
    said = step["observation"]
    return encodable(_SAYS.get(step["tool"], "") + said) if isinstance(said, str) else as_json(said)


def plain(part: Any) -> list[Any]:
    """A message's part as JSON-able data, for digests."""
    fields = [getattr(part, name, None) for name in ("id", "name", "input", "text")]
    return [part.type, *fields, *map(plain, getattr(part, "content", ()))]
