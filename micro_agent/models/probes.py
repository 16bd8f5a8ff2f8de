# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Tiny calls that show what a model and its server can do: native tools, constrained decoding, speed."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any, cast

from dspy import lm15
from dspy.lm15 import Config, FunctionTool, Message

from micro_agent.decoding import ModelReply
from micro_agent.models.failures import LM_ERRORS, Failure, failure_of, refuses_schema, refuses_tools
from micro_agent.models.reply import reply_of, usage_of
from micro_agent.models.scope import CallScope, calling

WORD = "pineapple"
"""A word that no model says unless it is asked to."""
TOOL = FunctionTool(
    name="say_word",
    description="Say one word aloud.",
    parameters={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
)
SCHEMA: dict[str, Any] = {
    "type": "object", "properties": {"word": {"const": WORD}}, "required": ["word"], "additionalProperties": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Probe:
    """What came of one call: a reply, or why there is none.

    ``refused`` says that the server takes no such request. ``seconds`` is the whole call, ``decode_s`` the part of it
    in which the server says it produced the ``output_tokens`` (Ollama's ``eval_duration``, llama.cpp's
    ``timings.predicted_per_second``), ``None`` when unknown.
    """

    reply: ModelReply | None
    failure: Failure | None
    refused: bool
    seconds: float
    output_tokens: int | None = None
    decode_s: float | None = None

    @property
    def tokens_per_s(self) -> float | None:
        """Output tokens a second, of the whole call where the server does not tell them apart; ``None``: unknown."""
        seconds = self.decode_s or self.seconds
        return None if not self.output_tokens or not seconds else self.output_tokens / seconds


def native_tools(lm: Any, *, timeout_s: float) -> Probe:
    """Ask for one native tool call, of `TOOL` with `WORD`."""
    return _probe(lm, f"Call the tool {TOOL.name} with the word {WORD}.", 96, timeout_s, tools=(TOOL,))


def constrained(lm: Any, *, timeout_s: float) -> Probe:
    """Ask for a greeting and hold the reply to `SCHEMA`: what comes shows whether the server enforces it."""
    form = {"type": "json_schema", "name": "word", "schema": SCHEMA}
    return _probe(lm, "Greet me in one short sentence.", 48, timeout_s, response_format=form)


def speed(lm: Any, *, timeout_s: float) -> Probe:
    """Ask for some fifty tokens of text."""
    return _probe(lm, "Count from 1 to 20, in words.", 64, timeout_s)


def _probe(
    lm: Any, prompt: str, max_tokens: int, timeout_s: float, *,
    tools: tuple[FunctionTool, ...] = (), response_format: Mapping[str, Any] | None = None,
) -> Probe:  # fmt: skip
    settings: dict[str, Any] = {"temperature": lm.kwargs.get("temperature"), "max_tokens": max_tokens}
    if lm.kwargs.get("max_tokens") is None:  # a reasoning model that DSPy gives no bound thinks longer than this
        settings = {}
    form = None if response_format is None else dict(response_format)
    request = lm15.Request(
        model=lm.model, messages=(Message.user(prompt),), tools=tools, config=Config(**settings, response_format=form)
    )
    started = perf_counter()
    try:
        with calling(CallScope(deadline=monotonic() + timeout_s)):
            response = lm.copy(num_retries=0, cache=False)(request)
    except LM_ERRORS as error:
        refused = refuses_tools(error) if tools else refuses_schema(error)
        failure = failure_of(error, base_url=getattr(lm.engine, "base_url", None), model=lm.model)
        return Probe(None, failure, refused, perf_counter() - started)
    seconds = perf_counter() - started
    tokens = usage_of(response)[1]
    return Probe(reply_of(response), None, False, seconds, tokens, _decoding_s(response.provider_data or {}, tokens))


def _decoding_s(body: Mapping[str, Any], tokens: int | None) -> float | None:
    """In how many seconds the server made these tokens, by its own clock."""
    timings = body.get("timings")
    rate = cast(Mapping[str, Any], timings).get("predicted_per_second") if isinstance(timings, Mapping) else None
    if isinstance(rate, int | float) and rate > 0 and tokens:
        return tokens / rate
    nanoseconds = body.get("eval_duration")
    return nanoseconds / 1e9 if isinstance(nanoseconds, int) and nanoseconds > 0 else None
