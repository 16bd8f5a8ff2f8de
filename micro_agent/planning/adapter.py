# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
"""`DecisionAdapter`: the steps of a run become DSPy's typed ``Request``, the reply becomes a decision."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import dspy
from dspy.lm15 import Config, Request, Response

from micro_agent.decoding import Decision, DecodeError, Final, ModelReply, decode
from micro_agent.decoding.fitting import outputs_fitted
from micro_agent.decoding.submitted import not_data
from micro_agent.models.reply import answered_by, others_of, reply_of, usage_of
from micro_agent.run import LMCall
from micro_agent.tools import Tool
from micro_agent.wires import SETTINGS, NativeWire, Page, View
from micro_agent.wires.names import named_back, renamed


class DecisionAdapter(dspy.Adapter):
    """Renders one run on one wire, and reads its replies. Made anew for every run; ``last`` is the latest call."""

    def __init__(self, wire: NativeWire, tools: Sequence[Tool], *, constrained: bool = True) -> None:
        super().__init__()
        self.wire, self.last = wire, LMCall(reply={})
        self._offered = renamed(tools, wire.names)
        self.tools = wire.tools(self._offered)
        self._format = wire.response_format(tools) if constrained else None
        self.page = Page(wire, self._offered, self._format)
        self._config: tuple[dict[str, Any], Config] = ({}, Config(response_format=self._format))

    def __call__(
        self, lm: Any, lm_kwargs: Mapping[str, Any], signature: Any, demos: Sequence[View], inputs: View
    ) -> list[dict[str, Any]]:
        """Ask for one decision. Returns one completion, ``{"decision": {…}}``."""
        request = self._request(lm, lm_kwargs, signature, demos, inputs)
        return self._read(lm(request, **self._anew), lm_kwargs)

    async def acall(
        self, lm: Any, lm_kwargs: Mapping[str, Any], signature: Any, demos: Sequence[View], inputs: View
    ) -> list[dict[str, Any]]:
        """The same, awaited."""
        request = self._request(lm, lm_kwargs, signature, demos, inputs)
        return self._read(await lm.acall(request, **self._anew), lm_kwargs)

    def _request(
        self, lm: dspy.LM, lm_kwargs: Mapping[str, Any], signature: Any, demos: Sequence[View], inputs: View
    ) -> Request:
        if not self.page.begun:
            self.page.open(signature.instructions, demos)
        self.page.render(inputs["question"], inputs["steps"])
        settings = {**lm.kwargs, **lm_kwargs}
        self._anew = {key: settings[key] for key in settings if key == "rollout_id"}  # asks past DSPy's cache
        settings = {key: settings[key] for key in SETTINGS if settings.get(key) is not None}
        if settings != self._config[0]:
            self._config = settings, self.wire.config(settings, self._format)
        return Request(
            model=lm.model, system=self.page.system, messages=tuple(self.page.messages),
            tools=self.wire.offered(self.tools, settings), config=self._config[1],
        )  # fmt: skip

    def read(self, reply: ModelReply) -> Decision:
        """A reply as a decision, with the names that tools have here."""
        outputs, native = self.wire.outputs, self.wire.mode == "native"
        found = decode(reply, self._offered, native=native, coerce=False, submit=outputs.submit)
        return named_back(found if native else not_data(found, outputs, self._offered), self.wire.names)

    def _read(self, response: Response, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        others = [self._call(reply, settings, (0, 0), answered_by(response)) for reply in others_of(response)]
        told = self.take(reply_of(response, self._config[0]), settings, usage_of(response), answered_by(response))
        self.last.samples = others  # what all of them took is told of the first
        return told

    def take(
        self, reply: ModelReply, settings: Mapping[str, Any],
        tokens: tuple[int | None, int | None] = (None, None), model: str | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Read a reply to the latest request into `last`. Returns the completion."""
        self.last = call = self._call(reply, settings, tokens, model)
        if call.error is not None:
            return [{"decision": {"error": call.error}}]
        decision = call.decision or {}
        if "final" in decision:
            return [{"decision": {"final": {"answer": decision["final"]}}}]
        first = decision["tool_calls"][0]
        return [{"decision": {"tool": {"name": first["name"], "args": first["args"]}}}]

    def _call(
        self, reply: ModelReply, settings: Mapping[str, Any], tokens: tuple[int | None, int | None], model: str | None
    ) -> LMCall:
        decision = self.read(reply)
        call = LMCall(
            reply=reply.as_dict(), finish_reason=reply.finish_reason, model=model, mode=self.wire.mode,
            settings=dict(settings), input_tokens=tokens[0], output_tokens=tokens[1], request=self.page.sent(),
        )  # fmt: skip
        if isinstance(decision, DecodeError):
            call.error = decision.as_dict()
            return call
        call.repairs = [asdict(one) for one in (*decision.repairs, *outputs_fitted(decision, self.wire.outputs.submit))]
        if isinstance(decision, Final):
            call.decision, call.prose = {"final": decision.answer}, decision.prose
        else:
            call.decision = {"tool_calls": [one.as_dict() for one in decision.calls]}
        return call
