"""What the index keeps of one run, read from the last record of its trace as plain JSON.

A record is not made into a `Run` for this: that takes longer than everything else, and a record of any version, or one
that was changed by hand, has to be good enough for a cache.
"""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

from pydantic_core import from_json

from micro_agent.files.jsonl import parse
from micro_agent.index.words import words_of
from micro_agent.run import MARKERS
from micro_agent.text.attached import own_words
from micro_agent.text.encoding import encodable
from micro_agent.text.printable import visible

_TASK, _ARGUMENT, _CALL = 2_000, 60, 120
"""Characters of a task that are kept, of an argument that tells something, and of a call with its arguments."""
_ARGUMENTS, _CALLS = 2, 12
_UNAPPROVED = frozenset({"APPROVAL_REQUIRED", "APPROVAL_REJECTED", "APPROVAL_EXPIRED"})
_INTEGERS = 2**63


@dataclass(frozen=True, slots=True)
class Entry:
    """A run as it stands in the index. The counts are those of ``Run.usage``; ``None`` is unknown.

    Attributes:
        task: What was asked, on one line, without what was attached.
        key: The same for all runs of the same kind and task.
        tools: Of a good run each call that worked, with the arguments that tell something.
        patches: The ids of the patches that it applied.
        good: Whether it may be shown as an example, see `_is_good`.
    """

    ts: str | None = None
    status: str | None = None
    reason: str | None = None
    kind: str | None = None
    model: str | None = None
    follows: str | None = None
    steps: int | None = None
    lm_calls: int | None = None
    tool_calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    task: str = ""
    key: str = ""
    tools: tuple[str, ...] = ()
    patches: tuple[str, ...] = ()
    good: bool = False


def last_record(raw: bytes) -> dict[str, Any] | None:
    """The last whole line of a part of a trace that can be read."""
    for line in reversed(raw[: raw.rfind(b"\n") + 1].split(b"\n")):
        with suppress(ValueError):
            return _fast(line) or parse(line)
    return None


def _fast(line: bytes) -> dict[str, Any] | None:
    """The object in a line, in a third of the time; it does not read all that `parse` does."""
    try:
        return _object(from_json(line)) or None
    except ValueError:
        return None


def entry_of(run_id: str, record: Mapping[str, Any]) -> Entry:
    """What the index keeps of a record, whatever stands in it. A field of another type is unknown."""
    usage = _object(record.get("usage"))
    steps = [_object(step) for step in _list(record.get("steps"))]
    kind = _text(_object(record.get("coach")).get("kind"))
    task = _line(own_words(_text(record.get("question")) or ""))[:_TASK]
    good = bool(task) and record.get("id") == run_id and _is_good(record, steps)
    tools = tuple(_calls(steps)) if good else ()
    return Entry(
        ts=_text(record.get("ts")), status=_text(record.get("status")), reason=_text(record.get("termination_reason")),
        kind=kind, model=_text(record.get("model")), follows=_text(record.get("follows")), steps=len(steps),
        lm_calls=_integer(usage.get("lm_calls")), tool_calls=_integer(usage.get("tool_calls")),
        input_tokens=_integer(usage.get("input_tokens")), output_tokens=_integer(usage.get("output_tokens")),
        cost_usd=_number(usage.get("cost_usd")), latency_s=_number(usage.get("latency_s")),
        task=task, key=_key(kind, task) if tools else "", tools=tools, patches=tuple(_patches(steps)) if tools else (),
        good=bool(tools),
    )  # fmt: skip


def _is_good(record: Mapping[str, Any], steps: list[dict[str, Any]]) -> bool:
    """Whether a run ended well and with everybody's consent.

    Its gates passed where it has any, the last command with a verdict (tests) succeeded, and nobody refused anything.
    What follows another run is about what was said there: alone it shows nothing.
    """
    results = [_result(step) for step in steps]
    verdicts = [result["ok"] for result in results if "cmd" in result and "ok" in result]
    return (
        record.get("status") == "completed"
        and record.get("error") is None
        and bool(record.get("answer"))
        and record.get("follows") is None
        and _object(record.get("gates")).get("all_passed") is not False
        and not any(step.get("error") in _UNAPPROVED for step in steps)
        and not any(result.get("approved") is False for result in results)
        and verdicts[-1:] != [False]
    )


def _result(step: Mapping[str, Any]) -> dict[str, Any]:
    whole = step.get("result")
    return _object(step.get("observation") if whole is None else whole)


def _calls(steps: list[dict[str, Any]]) -> Iterator[str]:
    """The calls that worked, one behind the other the same but once, up to a number of them."""
    last, told = "", 0
    for step in steps:
        tool = _text(step.get("tool"))
        if tool and tool not in MARKERS and step.get("ok", True) is True:
            call = _line(f"{tool}({', '.join(_telling(_object(step.get('args'))))})")[:_CALL]
            told += call != last
            if call != last and told <= _CALLS:
                yield call
            last = call
    if told > _CALLS:
        yield "…"


def _telling(args: Mapping[str, Any]) -> list[str]:
    """The first arguments that are a short line: a path, a pattern, a command. A text that was written is none."""
    short = [value for value in args.values() if isinstance(value, str) and 0 < len(value) <= _ARGUMENT]
    return [json.dumps(value, ensure_ascii=False) for value in short if "\n" not in value][:_ARGUMENTS]


def _patches(steps: list[dict[str, Any]]) -> Iterator[str]:
    for step in steps:
        result = _result(step)
        if result.get("ok") is True and isinstance(result.get("patch_id"), str):
            yield encodable(result["patch_id"])


def _key(kind: str | None, task: str) -> str:
    return sha256("\0".join([kind or "", *words_of(task)]).encode()).hexdigest()[:20]


def _line(text: str) -> str:
    """A text on one line, with what does not show, or moves what does, as an escape."""
    return visible(" ".join(encodable(text).split()))


def _text(value: object) -> str | None:
    return encodable(value) if isinstance(value, str) else None


def _integer(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and -_INTEGERS <= value < _INTEGERS
    return cast("int", value) if whole else None


def _number(value: object) -> float | None:
    if isinstance(value, float) and math.isfinite(value):
        return value
    return _integer(value)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
