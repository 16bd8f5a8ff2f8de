# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Asking a model yes or no about its last reply: one short request, which no call can answer.

It is the request before it and the reply to that, as they stand, with the question behind them: a server computes only
what is new. Where the next request goes on, it has other words in the question's place.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import dspy
from dspy.lm15 import Request, Response, ToolChoice

from micro_agent.context import Window
from micro_agent.context.views import YES_OR_NO, view_of
from micro_agent.decoding import ModelReply, ToolCalls
from micro_agent.decoding.clearing.thinking import without_thinking
from micro_agent.effects import Asked, Failure
from micro_agent.models.failures import refuses_schema
from micro_agent.models.identity import traits_of
from micro_agent.models.reply import answered_by, reply_of, usage_of
from micro_agent.planning.adapter import DecisionAdapter
from micro_agent.run import LMCall, Run, Step, Usage
from micro_agent.run.asking import YesOrNo
from micro_agent.run.usage import add_call
from micro_agent.wires import SETTINGS
from micro_agent.wires.turns import turns_of

_SAID = r"""["']?\b{}["']?\s*[:=]\s*["']?(true|false)\b"""
_REFUSES = (400, 422, 501)
_MAX_TOKENS = 10
"""Of a reply without thinking: ``{"done": false}`` takes five. A model that does not understand writes more."""
AGAIN = 0.3
"""The temperature of a question that is asked again: the same would give the same."""


@dataclass(frozen=True)
class Asking:
    """What is needed to ask one run's model."""

    lm: dspy.LM
    adapter: DecisionAdapter
    window: Window
    settings: Mapping[str, Any]
    context: Callable[[], Any]
    """The block in which the model is asked."""
    cost: Callable[[LMCall], float | None]

    def ask(self, run: Run, asks: YesOrNo) -> Asked | Failure:
        """Ask once, or say why the question does not fit. Raises what DSPy raises when the model cannot be asked."""
        while True:
            if isinstance(request := self._request(run, asks), Failure):
                return request
            try:
                with self.context(), dspy.context(send_stream=None):
                    return self._asked(asks, self.lm(request))
            except dspy.LMError as error:
                self._give_way(error)

    async def aask(self, run: Run, asks: YesOrNo) -> Asked | Failure:
        """The same, awaited."""
        while True:
            if isinstance(request := self._request(run, asks), Failure):
                return request
            try:
                with self.context(), dspy.context(send_stream=None):
                    return self._asked(asks, await self.lm.acall(request))
            except dspy.LMError as error:
                self._give_way(error)

    def _request(self, run: Run, asks: YesOrNo) -> Request | Failure:
        step = Step(tool=YES_OR_NO, observation=asks.text, call=len(run.calls) - 1)
        if self.window.fit(run, self.adapter.page) is not None or not self.window.takes(view_of(step, run.calls)):
            told = f"the question {asks.about} does not fit into the context"
            return Failure("context_overflow", {"code": "CONTEXT_OVERFLOW", "message": told, "retries": 0}, "stopped")
        adapter, format_ = self.adapter, None if traits_of(self.lm).plain_questions else asks.format
        held = {**self.settings, **self.window.bounded({}, self.settings), "temperature": AGAIN if asks.again else 0.0}
        if not run.calls[-1].reply.get("reasoning"):
            held["max_tokens"] = _MAX_TOKENS
        sampling = {key: held[key] for key in SETTINGS if held.get(key) is not None}
        config = adapter.wire.config(sampling, format_)
        if adapter.tools and format_ is not None:
            config = replace(config, tool_choice=ToolChoice("none"))
        messages = (*adapter.page.messages, *turns_of(adapter.wire, [view_of(step, run.calls)]))
        return Request(
            model=self.lm.model, system=adapter.page.system, messages=messages, tools=adapter.tools, config=config
        )

    def _give_way(self, error: dspy.LMError) -> None:
        """Ask without a schema from now on, where the server may have refused the request for it. Else raises."""
        traits = traits_of(self.lm)
        refused = getattr(error, "status", None) in _REFUSES or refuses_schema(error)
        if traits.plain_questions or not refused:
            raise error
        traits.plain_questions = True

    def _asked(self, asks: YesOrNo, response: Response) -> Asked:
        reply, (given, made), usage = reply_of(response), usage_of(response), Usage()
        call = LMCall(reply=reply.as_dict(), input_tokens=given, output_tokens=made, model=answered_by(response))
        call.cost_usd = self.cost(call)
        add_call(usage, call)
        return Asked(said(asks, reply, self.adapter), reply.text, usage)


def said(asks: YesOrNo, reply: ModelReply, adapter: DecisionAdapter) -> bool | None:
    """What a reply says to a question: yes, no or neither. A call in its place is never run."""
    text = without_thinking(reply.text)
    words = re.findall(_SAID.format(asks.key), text, re.IGNORECASE)
    found = {word.lower() for word in words} or {text.strip().lower()} & {"true", "false"}
    if len(found) == 1:
        return found == {"true"}
    return asks.a_call_says if not found and isinstance(adapter.read(reply), ToolCalls) else None
