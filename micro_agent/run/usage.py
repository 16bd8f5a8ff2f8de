"""What a run has used, counted by the same functions while it runs and when its journal is folded."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from micro_agent.run import FINISH_ASKED, MAKE_ASKED, LMCall, Step, Usage

_Number = TypeVar("_Number", int, float)

_OTHER = 8
"""Bytes that a number counts, and what else is not text."""
NEVER_RAN = frozenset({
    "NOT_RUN", "UNKNOWN_TOOL", "VALIDATION_FAILED", "APPROVAL_REQUIRED", "APPROVAL_REJECTED", "APPROVAL_EXPIRED",
})  # fmt: skip
"""Error codes of tool steps behind which no tool ran. ``INTERRUPTED`` is not one: that tool had started."""


def add_call(usage: Usage, call: LMCall) -> None:
    """Count one model call in ``usage``, in place. A total is unknown (``None``) once one call's part of it is."""
    usage.lm_calls += 1
    usage.input_tokens = _sum(usage.input_tokens, call.input_tokens)
    usage.output_tokens = _sum(usage.output_tokens, call.output_tokens)
    usage.cost_usd = _sum(usage.cost_usd, call.cost_usd)
    usage.latency_s += call.latency_s
    usage.recorded_bytes = _sum(usage.recorded_bytes, size_of(call.reply))


def add_step(usage: Usage, step: Step) -> None:
    """Count what is behind ``step`` in ``usage``, in place; words of the loop and calls that never ran count nothing.

    Of the agents that a tool asked, calls of a model, tokens and cost count; their tools and records are their own.
    ``latency_s`` is the time spent in model calls and tools; it leaves out the time a person took to decide.
    """
    if step.tool in (FINISH_ASKED, MAKE_ASKED):
        usage.latency_s += step.latency_s or 0.0
        usage.recorded_bytes = _sum(usage.recorded_bytes, size_of(step.args.get("reply", "")))
    elif step.is_tool and step.error not in NEVER_RAN:
        usage.tool_calls += 1
        usage.latency_s += step.latency_s or 0.0
        usage.recorded_bytes = _sum(usage.recorded_bytes, size_of([step.observation, step.result or []]))
    if step.usage is not None:
        usage.lm_calls += step.usage.lm_calls
        usage.input_tokens = _sum(usage.input_tokens, step.usage.input_tokens)
        usage.output_tokens = _sum(usage.output_tokens, step.usage.output_tokens)
        usage.cost_usd = _sum(usage.cost_usd, step.usage.cost_usd)


def together(parts: Iterable[Usage]) -> Usage:
    """The sum of what several runs have used. What is unknown of one of them is unknown of all."""
    total = Usage(recorded_bytes=0)
    for part in parts:
        sums: dict[str, Any] = {name: _sum(getattr(total, name), getattr(part, name)) for name in Usage.model_fields}
        total = Usage(**sums)
    return total


def since(usage: Usage, before: Usage) -> Usage:
    """What was used after ``before``, which is a part of ``usage``."""
    rest: dict[str, Any] = {name: _less(getattr(usage, name), getattr(before, name)) for name in Usage.model_fields}
    return Usage(**rest)


def size_of(data: Any) -> int:
    """Bytes of the text in JSON data, as UTF-8. Pure ASCII is not looked through."""
    size, left = 0, [data]
    while left:
        part = left.pop()
        if isinstance(part, str):
            size += len(part) if part.isascii() else len(part.encode(errors="surrogatepass"))
        elif isinstance(part, (dict, Mapping)):  # a dict is told much faster
            fields = cast("Mapping[str, Any]", part)
            left += fields
            left += fields.values()
        elif isinstance(part, (list, tuple)):
            left += cast("list[Any]", part)
        else:
            size += _OTHER
    return size


def _sum(total: _Number | None, part: _Number | None) -> _Number | None:
    return None if total is None or part is None else total + part


def _less(total: _Number | None, part: _Number | None) -> _Number | None:
    return None if total is None or part is None else total - part
