# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
"""`DecisionAdapter` and its two wires: the steps of a run become a request, the reply becomes a decision.

It builds DSPy's typed ``Request`` itself. What was rendered is kept and only ever appended to, so that a local server
finds its prefix cache at every step.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from time import perf_counter
from typing import Any

import dspy
from dspy.lm15 import Config, Message, Request, Response

from micro_agent.decoding import DecodeError, Final, ModelReply, decode
from micro_agent.models.reply import answered_by, reply_of, usage_of
from micro_agent.run import CONFIRMATION_REQUIRED, WARNING, LMCall
from micro_agent.tools import Tool
from micro_agent.wires import NO_REPLY, NativeWire, View, as_json, encodable, plain, shown

_SAMPLING = ("temperature", "max_tokens", "top_p", "top_k", "stop", "seed", "frequency_penalty", "presence_penalty")
_NOT_SHOWN = "(not shown)"


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
        self, lm: dspy.LM, lm_kwargs: Mapping[str, Any], signature: Any, demos: Sequence[View], inputs: View
    ) -> list[dict[str, Any]]:
        """Ask for one decision. Returns one completion, ``{"decision": {…}}``."""
        request, started = self._request(lm, lm_kwargs, signature.instructions, demos, inputs), perf_counter()
        response = lm(request)
        return self._read(response, perf_counter() - started, lm_kwargs)

    async def acall(
        self, lm: dspy.LM, lm_kwargs: Mapping[str, Any], signature: Any, demos: Sequence[View], inputs: View
    ) -> list[dict[str, Any]]:
        """The same, awaited."""
        request, started = self._request(lm, lm_kwargs, signature.instructions, demos, inputs), perf_counter()
        response = await lm.acall(request)
        return self._read(response, perf_counter() - started, lm_kwargs)

    def _request(
        self, lm: dspy.LM, lm_kwargs: Mapping[str, Any], instructions: str, demos: Sequence[View], inputs: View
    ) -> Request:
        if not self._messages:
            self._system = encodable(self.wire.system(instructions, self._offered))
            tools = [[tool.name, tool.description, tool.parameters] for tool in self._tools]
            self._chain.append(_digest("", [self._system, tools, self._format]))
            for number, demo in enumerate(demos):
                self._append(self._demo(number, demo))
            self._append([Message.user(encodable(inputs["question"]))])
        self._append(self._turns(inputs["steps"][self._rendered :]))
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

    def _demo(self, number: int, demo: View) -> Iterator[Message]:
        yield Message.user(encodable(demo["question"]))
        steps, decision = list(demo["steps"]), demo["decision"]
        if call := decision.get("tool"):
            steps.append({"tool": call["name"], "args": call["args"], "observation": _NOT_SHOWN})
        for index, step in enumerate(steps):
            yield from self.wire.calls([step], [f"demo_{number}_{index}"], ())
        if final := decision.get("final"):
            yield self.wire.answer(final["answer"])

    def _turns(self, steps: Sequence[View]) -> Iterator[Message]:
        """Whole turns: what a reply asked for, what came of it, then what the loop has to say."""
        turn = -1
        numbered = [(turn := turn if step.get("call") is None else step["call"], step) for step in steps]
        for _, group in groupby(numbered, key=itemgetter(0)):
            view = [step for _, step in group if step["tool"] != CONFIRMATION_REQUIRED]
            calls = [step for step in view if _is_call(step)]
            notes = [shown(step) for step in view if not _is_call(step)]
            if calls:
                yield from self.wire.calls(calls, [step["call_id"] for step in calls], notes)
                continue
            for step in view:
                if step.get("call") is not None:
                    answer = step["args"].get("answer")
                    yield (
                        Message.assistant(encodable(step["said"]) or NO_REPLY)
                        if answer is None
                        else self.wire.answer(answer)
                    )
            yield Message.user("\n\n".join(notes))

    def _read(self, response: Response, latency_s: float, lm_kwargs: Mapping[str, Any]) -> list[dict[str, Any]]:
        tokens = usage_of(response)
        return self.take(reply_of(response), latency_s, lm_kwargs, tokens, answered_by(response))

    def take(
        self, reply: ModelReply, latency_s: float, settings: Mapping[str, Any],
        tokens: tuple[int | None, int | None] = (None, None), model: str | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Read a reply to the latest request into `last`. Returns the completion."""
        decision = decode(reply, self._offered)
        self.last = LMCall(
            reply=reply.as_dict(), finish_reason=reply.finish_reason, latency_s=latency_s, model=model,
            mode=self.wire.mode, settings=dict(settings), input_tokens=tokens[0], output_tokens=tokens[1],
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
        self.last.decision = {"tool_calls": [asdict(call) for call in decision.calls]}
        first = decision.calls[0]
        return [{"decision": {"tool": {"name": first.name, "args": first.args}}}]


def _is_call(step: View) -> bool:
    return bool(step.get("call_id")) and step["tool"] != WARNING


def _digest(before: str, value: Any) -> str:
    return sha256((before + as_json(value)).encode()).hexdigest()
