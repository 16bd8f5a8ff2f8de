# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""Native tool calls on the wire."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dspy.lm15 import Config, FunctionTool, Message, TextPart, ToolCallPart, ToolChoice, ToolResultPart

from micro_agent.context.views import View
from micro_agent.models.wire_schemas import Form, wired
from micro_agent.run import Mode
from micro_agent.run.images import Image
from micro_agent.text.encoding import encodable
from micro_agent.tools import Tool
from micro_agent.tools.outputs import PLAIN, Outputs
from micro_agent.wires.images import part_of
from micro_agent.wires.said import NO_REPLY, asked, shown

_SUBMITS = "Give the final answer by calling {name}, never as text."
SETTINGS = (
    "temperature", "max_tokens", "top_p", "top_k", "stop", "seed", "frequency_penalty", "presence_penalty",
    "tool_choice",
)  # fmt: skip
"""The settings of a model that go on the wire, as `NativeWire.config` takes them."""


class NativeWire:
    """Tools on the wire as JSON Schema, results as ``role=tool`` messages."""

    mode: Mode = "native"
    schema_in_prompt: bool = True

    def __init__(
        self, names: Mapping[str, str] = MappingProxyType({}), schemas: Form = "verbatim", outputs: Outputs = PLAIN
    ) -> None:
        self.names = names
        """The names of tools that are others on the wire, and which."""
        self.schemas: Form = schemas
        self.outputs = outputs
        """What an answer has to hold. The tool that takes it, if there is one, is the last on the wire."""

    @property
    def told(self) -> dict[str, Any]:
        """What a record of a request says of the wire beside its digests: what is not as it is said by itself."""
        return {} if self.schemas == "verbatim" else {"schemas": self.schemas}

    def system(self, instructions: str, tools: Sequence[Tool]) -> str:
        """The system prompt."""
        submit = self.outputs.submit
        return instructions if submit is None else f"{instructions}\n\n{_SUBMITS.format(name=submit.name)}"

    def tools(self, tools: Sequence[Tool]) -> tuple[FunctionTool, ...]:
        """What stands on the wire as tools."""
        offered = [*tools, *filter(None, [self.outputs.submit])]
        sent = [(tool, wired(tool.schema.inlined, self.schemas)) for tool in offered]
        return tuple(FunctionTool(name=t.name, description=t.description, parameters=schema) for t, schema in sent)

    def response_format(self, tools: Sequence[Tool]) -> dict[str, Any] | None:
        """What a server that can constrain decoding is to hold the reply to."""
        return None

    def config(self, settings: View, response_format: dict[str, Any] | None) -> Config:
        """The settings of a request. With a ``tool_choice`` among them, it wants a call and no answer."""
        sampling = {name: value for name, value in settings.items() if name != "tool_choice"}
        forced = None if sampling == settings else ToolChoice("required")
        return Config(**sampling, tool_choice=forced, response_format=response_format)

    def offered(self, tools: Sequence[FunctionTool], settings: View) -> tuple[FunctionTool, ...]:
        """The tools of a request: where a call of one is wanted, that one alone.

        Not by its name in ``tool_choice``, which not every server takes; ``required`` they do.
        """
        wanted: str = settings.get("tool_choice") or ""
        return tuple(tool for tool in tools if tool.name == self.names.get(wanted, wanted)) or tuple(tools)

    def asks(self, question: str, images: Sequence[Image] = ()) -> Message:
        """The question, and the images that it is about."""
        return Message.user([TextPart(encodable(question)), *map(part_of, images)] if images else encodable(question))

    def answer(self, text: str, wrote: str | None = None) -> Message:
        """A final answer, as the model should have said it; ``wrote``: what it said."""
        return Message.assistant(encodable(text) or NO_REPLY)

    def decided(self, step: View, demo: int) -> Iterator[Message]:
        """The call that a demo ends with, and a stand-in for its result: every call on this wire wants one."""
        return self.calls([step], [f"demo_{demo}_decision"], ())

    def calls(self, steps: Sequence[View], ids: Sequence[str], notes: Sequence[str]) -> Iterator[Message]:
        """One reply's calls, what came of each, and what the loop has to say after them."""
        said = [TextPart(encodable(steps[0]["said"]))] if steps[0].get("said") else []
        named = [(ident, *asked(step)) for ident, step in zip(ids, steps, strict=True)]
        named = [(ident, self.names.get(name, name), args) for ident, name, args in named]
        yield Message.assistant(
            [*said, *(ToolCallPart(id=ident, name=name, input=args) for ident, name, args in named)]
        )
        for (ident, name, _), step in zip(named, steps, strict=True):
            yield Message(role="tool", parts=(ToolResultPart(id=ident, content=(TextPart(shown(step)),), name=name),))
        if notes:
            yield Message.user("\n".join(notes))
