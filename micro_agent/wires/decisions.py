# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""Decisions as JSON objects in the text."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from dspy.lm15 import Config, FunctionTool, Message

from micro_agent.context.views import View
from micro_agent.demos import json_form
from micro_agent.models.wire_schemas import Form, has_references, held
from micro_agent.run import POLICY_VIOLATION, Mode
from micro_agent.text.encoding import as_json, encodable
from micro_agent.tools import Tool
from micro_agent.tools.form import final_form
from micro_agent.tools.inlined import moved
from micro_agent.tools.outputs import PLAIN, Outputs
from micro_agent.tools.signature import described
from micro_agent.wires.native import NativeWire
from micro_agent.wires.said import asked, shown

_ANSWER = "what stands under final"
_MAX_FORM = 300
_TOOLS = "Tools (an argument with ? or = may be left out):"


class JsonWire(NativeWire):
    """Tools described in the system prompt, one JSON object a reply, observations as user messages."""

    mode: Mode = "json"
    as_written: bool = True
    """Whether a reply that was read strictly goes back as the model wrote it: a server has computed that already."""

    def __init__(self, schemas: Form = "verbatim", schema_in_prompt: bool = True, outputs: Outputs = PLAIN) -> None:
        super().__init__(schemas=schemas, outputs=outputs)
        self.schema_in_prompt = schema_in_prompt
        """Whether the server may tell the model the schema of a reply, which then takes up context."""

    @property
    def told(self) -> dict[str, Any]:
        """What a record of a request says of the wire beside its digests."""
        format_ = {} if self.schema_in_prompt else {"format": "grammar"}
        return {**super().told, **({"replies": "as_written"} if self.as_written else {}), **format_}

    def system(self, instructions: str, tools: Sequence[Tool]) -> str:
        """The system prompt, with the form of a decision and the tools."""
        lines = [_TOOLS, *map(described, tools)] if tools else ["Tools:", "(none)"]
        if (submit := self.outputs.submit) is None:
            return "\n".join([instructions, json_form(), *lines])
        answer = replace(submit, name="final", description=_ANSWER)
        return "\n".join([instructions, json_form(final_form(submit.parameters, _MAX_FORM)), *lines, described(answer)])

    def tools(self, tools: Sequence[Tool]) -> tuple[FunctionTool, ...]:
        """None: they stand in the system prompt."""
        return ()

    def response_format(self, tools: Sequence[Tool]) -> dict[str, Any] | None:
        """The schema of a decision."""
        schema = decision_schema(tools, self.schemas, self.outputs.submit)
        return {"type": "json_schema", "name": "decision", "schema": schema}

    def config(self, settings: View, response_format: dict[str, Any] | None) -> Config:
        """The settings of a request. Where a call is required, a server that can hold the reply to it is told so.

        A ``tool_choice`` that is the name of a tool wants a call of that one.
        """
        sampling = {name: value for name, value in settings.items() if name != "tool_choice"}
        if response_format is not None and sampling != settings:
            *calls, _ = response_format["schema"]["anyOf"]
            wanted = {"const": settings["tool_choice"]}
            calls = [call for call in calls if call["properties"]["tool"]["properties"]["name"] == wanted] or calls
            response_format = {**response_format, "schema": {**response_format["schema"], "anyOf": calls}}
        return Config(**sampling, response_format=response_format)

    def answer(self, text: str, wrote: str | None = None) -> Message:
        """A final answer in the form of a decision."""
        return self._said({"final": {"answer": text}}, wrote)

    def decided(self, step: View, demo: int) -> Iterator[Message]:
        """The call that a demo ends with."""
        yield Message.assistant(as_json(self._decision(*asked(step))))

    def calls(self, steps: Sequence[View], ids: Sequence[str], notes: Sequence[str]) -> Iterator[Message]:
        """Each call as a decision of its own, its result as a user message."""
        for step in steps:
            name, args = asked(step)
            yield self._said(self._decision(name, args), step.get("wrote"))
            plain = step["tool"] == POLICY_VIOLATION or self._submits(name)
            said = shown(step) if plain else f"Tool [{name}] output:\n{shown(step)}"
            yield Message.user("\n\n".join([said, *(notes if step is steps[-1] else ())]))

    def _submits(self, name: str) -> bool:
        return self.outputs.submit is not None and name == self.outputs.submit.name

    def _decision(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        return {"final": args} if self._submits(name) else {"tool": {"name": name, "args": args}}

    def _said(self, decision: dict[str, Any], wrote: str | None) -> Message:
        """A decision as the model wrote it, if that is JSON for just this, else in our own spelling."""
        if self.as_written and wrote is not None and _json(wrote) == decision:
            return Message.assistant(encodable(wrote))
        return Message.assistant(as_json(decision))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def decision_schema(tools: Sequence[Tool], form: Form = "verbatim", submit: Tool | None = None) -> dict[str, Any]:
    """JSON Schema of a decision in JSON mode. A tool's schema with references stands under ``$defs``, by its name.

    ``submit`` is the tool whose arguments are what stands under ``final``; without one that is ``{"answer": "…"}``.
    """
    definitions: dict[str, Any] = {}

    def only(key: str, fields: dict[str, Any]) -> dict[str, Any]:
        inner = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
        return {"type": "object", "properties": {key: inner}, "required": [key], "additionalProperties": False}

    def args(tool: Tool) -> Any:
        schema = held(tool.schema.inlined, form)
        if not has_references(schema):
            return schema
        place = f"#/$defs/{tool.name}"
        definitions[tool.name] = moved(schema, place)
        return {"$ref": place}

    calls = [only("tool", {"name": {"const": tool.name}, "args": args(tool)}) for tool in tools]
    final = only("final", {"answer": {"type": "string"}})
    if submit is not None:
        final["properties"]["final"] = args(submit)
    found = {"anyOf": [*calls, final]}
    return {**found, "$defs": definitions} if definitions else found
