# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
"""`DecisionAdapter` and its two wires: the steps of a run become a request, the reply becomes a decision.

It builds DSPy's typed ``Request`` itself. What was rendered is kept and only ever appended to, so that a local server
finds its prefix cache at every step.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

import dspy
from dspy.lm15 import Config, Message, Request, Response

from micro_agent.decoding import DecodeError, Final, ModelReply, decode
from micro_agent.models.reply import answered_by, reply_of, usage_of
from micro_agent.run import LMCall
from micro_agent.tools import Tool
from micro_agent.wires import NativeWire, View, as_json, demo_of, encodable, plain, turns_of

_SAMPLING = ("temperature", "max_tokens", "top_p", "top_k", "stop", "seed", "frequency_penalty", "presence_penalty")


class DecisionAdapter(dspy.Adapter):
    """Renders one run on one wire, and reads its replies. Made anew for every run; ``last`` is the latest call."""

    def __init__(self, wire: NativeWire, tools: Sequence[Tool], *, constrained: bool = True) -> None:
        super().__init__()
        self.wire, self.last = wire, LMCall(reply={})
        self._offered, self._tools = list(tools), wire.tools(tools)
        self._format = wire.response_format(tools) if constrained else None
        self._messages: list[Message] = []
        self._chain: list[str] = []
        self._system, self._rendered, self._sent = "", 0, 0
        self._config: tuple[dict[str, Any], Config] = ({}, Config(response_format=self._format))

    def __call__(
        self, lm: Any, lm_kwargs: Mapping[str, Any], signature: Any, demos: Sequence[View], inputs: View
    ) -> list[dict[str, Any]]:
        """Ask for one decision. Returns one completion, ``{"decision": {…}}``."""
        return self._read(lm(self._request(lm, lm_kwargs, signature.instructions, demos, inputs)), lm_kwargs)

    async def acall(
        self, lm: Any, lm_kwargs: Mapping[str, Any], signature: Any, demos: Sequence[View], inputs: View
    ) -> list[dict[str, Any]]:
        """The same, awaited."""
        request = self._request(lm, lm_kwargs, signature.instructions, demos, inputs)
        return self._read(await lm.acall(request), lm_kwargs)

    def _request(
        self, lm: dspy.LM, lm_kwargs: Mapping[str, Any], instructions: str, demos: Sequence[View], inputs: View
    ) -> Request:
        if not self._messages:
            self._system = encodable(self.wire.system(instructions, self._offered))
            tools = [[tool.name, tool.description, tool.parameters] for tool in self._tools]
            self._chain.append(_digest("", [self._system, tools, self._format]))
            for number, demo in enumerate(demos):
                self._append(demo_of(self.wire, number, demo))
            self._append([Message.user(encodable(inputs["question"]))])
        self._append(turns_of(self.wire, inputs["steps"][self._rendered :]))
        self._rendered = len(inputs["steps"])
        settings = {**lm.kwargs, **lm_kwargs}
        settings = {key: settings[key] for key in _SAMPLING if settings.get(key) is not None}
        if settings != self._config[0]:
            self._config = settings, Config(**settings, response_format=self._format)
        messages = tuple(self._messages)
        return Request(
            model=lm.model, system=self._system, messages=messages, tools=self._tools, config=self._config[1]
        )

    def _append(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._messages.append(message)
            self._chain.append(_digest(self._chain[-1], [message.role, *map(plain, message.parts)]))

    def _read(self, response: Response, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        return self.take(reply_of(response), settings, usage_of(response), answered_by(response))

    def take(
        self, reply: ModelReply, settings: Mapping[str, Any],
        tokens: tuple[int | None, int | None] = (None, None), model: str | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Read a reply to the latest request into `last`. Returns the completion."""
        decision = decode(reply, self._offered)
        self.last = LMCall(
            reply=reply.as_dict(), finish_reason=reply.finish_reason, model=model, mode=self.wire.mode,
            settings=dict(settings), input_tokens=tokens[0], output_tokens=tokens[1],
            request={"sha256": self._chain[-1], "messages": len(self._messages), "shared": self._sent,
                     "chain": self._chain[self._sent + 1 :]},
        )  # fmt: skip
        self._sent = len(self._messages)
        if isinstance(decision, DecodeError):
            self.last.error = asdict(decision)
            return [{"decision": {"error": self.last.error}}]
        self.last.repairs = [asdict(repair) for repair in decision.repairs]
        if isinstance(decision, Final):
            self.last.decision = {"final": decision.answer}
            return [{"decision": {"final": {"answer": decision.answer}}}]
        calls = [{"name": call.name, "args": call.args, "call_id": call.call_id} for call in decision.calls]
        self.last.decision = {"tool_calls": calls}
        first = decision.calls[0]
        return [{"decision": {"tool": {"name": first.name, "args": first.args}}}]


def _digest(before: str, value: Any) -> str:
    return sha256((before + as_json(value)).encode()).hexdigest()
