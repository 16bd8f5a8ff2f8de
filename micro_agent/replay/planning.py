"""The planner of a replay: today's, with the recorded replies in the place of a model."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from micro_agent.context import Conversation
from micro_agent.decoding import ModelReply, RawCall
from micro_agent.effects import Failure, Trimmed
from micro_agent.models.identity import Traits
from micro_agent.models.wire_schemas import FORMS, Form
from micro_agent.planning.planner import Planner
from micro_agent.replay.parts import Parts
from micro_agent.run import LMCall, Mode, Run
from micro_agent.wires import JsonWire, NativeWire, View

_MEASURED = ("model", "server", "settings", "input_tokens", "output_tokens", "cost_usd", "latency_s", "retries")


class NoReply(Exception):
    """The record has no reply to the request that was rendered."""


class _Rendered(Exception):
    """A request is complete, and nobody is to be asked."""


@dataclass(frozen=True, slots=True)
class _Said:
    """How a recorded request says things, as its wire is told."""

    mode: Mode
    schemas: Form = "verbatim"
    as_written: bool = True
    """Whether it has replies as they were written."""
    schema_in_prompt: bool = True


class _Model(Traits):
    """Stands where a `dspy.LM` does: keeps the request it is sent, and never answers."""

    def __init__(self, name: str | None, provider: str | None) -> None:
        self.model = name or "recorded"
        self.provider = provider
        self.kwargs: dict[str, Any] = {}
        self.engine, self.cache = self, False
        self.request: Any = None

    def __call__(self, request: Any) -> Any:
        self.request = request
        raise _Rendered


class _Predict:
    """Stands where `dspy.Predict` does, with its instructions and demos."""

    def __init__(self, plan: Any, ask: Callable[[Mapping[str, Any]], None]) -> None:
        self.signature, self.demos, self._ask = plan.signature, plan.demos, ask

    def __call__(self, **inputs: Any) -> None:
        self._ask(inputs)


class RecordedPlanner(Planner):
    """Renders each request as today, and reads the recorded reply as today."""

    def __init__(self, parts: Parts, run: Run) -> None:
        self._recorded: LMCall | None = None
        self._fixed = False
        self._views: Sequence[View] = ()
        self._model, self._said = _Model(run.model, run.provider), _Said(run.mode or "native")
        predict: Any = _Predict(parts.plan, self._ask)
        model: Any = self._model
        mode = run.mode or "native"
        super().__init__(predict, model, list(parts.tools.values()), mode, parts.given, system=run.system,
                         outputs=parts.outputs_of(run))  # fmt: skip

    def answered(self, run: Run, recorded: LMCall | None) -> LMCall | Trimmed | Failure:
        """The recorded reply as it is read today, with what was measured then; or what has to come before it.

        Raises:
            NoReply: There is none; the request was rendered.
        """
        self._recorded = recorded
        if recorded is not None and (said := _said_of(recorded)) != self._said:
            # The server refused tools or a schema, a fork changed the mode, or the record is of an older version.
            self._said, self.mode, run.mode = said, said.mode, said.mode
            self._wire()
        call: Any = self.plan(run)
        if recorded is None or isinstance(call, Trimmed | Failure):
            return call
        _standing_as_in(recorded, call)
        for name in _MEASURED:
            setattr(call, name, getattr(recorded, name))
        return call

    def keep_to_the_cuts_on_record(self) -> None:
        """From here on, cut nothing but what the run's steps say: today more or less would be cut."""
        self._fixed = self._window.fixed = True

    @property
    def sent(self) -> Any:
        """The latest request."""
        return self._model.request

    @property
    def views(self) -> Sequence[View]:
        """The steps in the latest request."""
        return self._views

    def conversation(self, run: Run) -> Conversation:
        """The turns up to the run, as it stands."""
        return self._window.conversation(run)

    @property
    def wire(self) -> NativeWire:
        """The wire of the latest request."""
        return self._adapter.wire

    @property
    def demos(self) -> Sequence[View]:
        """The demos of the latest request."""
        return self._demos

    def _wire(self) -> None:
        self._model.schemas, self._model.schema_in_prompt = self._said.schemas, self._said.schema_in_prompt
        super()._wire()
        self._window.fixed = self._fixed
        if isinstance(self.wire, JsonWire):
            self.wire.as_written = self._said.as_written

    def _context(self) -> Any:
        return nullcontext()

    def _ask(self, inputs: Mapping[str, Any]) -> None:
        self._render(inputs)
        if self._recorded is None:
            raise NoReply
        recorded = self._recorded.request.get("sha256")
        if recorded in (None, self._adapter.last.request["sha256"]):
            return
        # What the server refused is not on record, but the digest of what it was sent is.
        trait = "refuses_dots" if self.mode == "native" else "refuses_schema"
        before, refused = (self._adapter, self._window), getattr(self._model, trait)
        setattr(self._model, trait, not refused)
        self._wire()
        self._adapter.page.images = before[0].page.images
        self._render(inputs)
        if self._adapter.last.request["sha256"] != recorded:
            self._adapter, self._window = before
            setattr(self._model, trait, refused)

    def _render(self, inputs: Mapping[str, Any]) -> None:
        fields, self._views = {"question": inputs["question"], "steps": inputs["steps"]}, inputs["steps"]
        settings: dict[str, Any] = dict(inputs.get("config", {}))
        try:
            self._adapter(self._model, settings, inputs["signature"], inputs["demos"], fields)
        except _Rendered:
            reply = ModelReply() if self._recorded is None else reply_of(self._recorded)
            self._adapter.take(reply, settings)


def _standing_as_in(recorded: LMCall, today: LMCall) -> None:
    """Forget where the calls of a reply stand if its record does not say so: before that was known, they were made."""
    then, now = ((call.decision or {}).get("tool_calls", ()) for call in (recorded, today))
    if not any("standing" in one for one in then):
        for one in now:
            one.pop("standing", None)


def _said_of(call: LMCall) -> _Said:
    form = call.request.get("schemas", "verbatim")
    known = form if form in FORMS else "verbatim"
    in_prompt = call.request.get("format") != "grammar"
    return _Said(call.mode, known, "replies" in call.request or call.mode == "native", in_prompt)


def reply_of(call: LMCall) -> ModelReply:
    """The reply that a recorded call keeps.

    Raises:
        ValueError: It keeps none, or something else.
    """
    try:
        reply = call.reply
        calls = tuple(RawCall(one["name"], one["arguments"], one["id"]) for one in reply["tool_calls"])
        return ModelReply(reply["text"], reply["reasoning"], calls, call.finish_reason)
    except (KeyError, TypeError) as error:
        raise ValueError(f"no whole reply is on record ({type(error).__name__}: {error})") from error
