"""What the index keeps of a run for those who look for examples, from the last record of its trace as plain JSON.

A record of any version, or one that was changed by hand, has to be good enough for this.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any, cast

from micro_agent.index.words import words_of
from micro_agent.run import MARKERS
from micro_agent.text.attached import own_words
from micro_agent.text.encoding import encodable
from micro_agent.text.printable import visible

_TASK, _ARGUMENT, _CALL = 2_000, 60, 120
"""Characters of a task that are kept, of an argument that tells something, and of a call with its arguments."""
_ARGUMENTS, _CALLS = 2, 12
_UNAPPROVED = frozenset({"APPROVAL_REQUIRED", "APPROVAL_REJECTED", "APPROVAL_EXPIRED"})
_JSON = json.JSONEncoder(ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """A run that may be shown as an example, see `_is_good`.

    Attributes:
        task: What was asked, on one line, without what was attached.
        key: The same for all runs of the same kind and task.
        tools: Each call that worked, with the arguments that tell something.
        patches: The ids of the patches that it applied.
    """

    ts: str | None
    kind: str | None
    task: str
    key: str
    tools: tuple[str, ...]
    patches: tuple[str, ...]


def entry_of(run_id: str, record: Mapping[str, Any]) -> Entry | None:
    """What is kept of a record, whatever stands in it; ``None`` where it is no example."""
    steps = [_object(step) for step in _list(record.get("steps"))]
    task = _line(own_words(_text(record.get("question")) or ""))[:_TASK]
    results = [_result(step) for step in steps]
    if not task or record.get("id") != run_id or not _is_good(record, steps, results):
        return None
    tools, kind = tuple(_calls(steps)), _text(_object(record.get("coach")).get("kind"))
    if not tools:
        return None
    return Entry(_text(record.get("ts")), kind, task, _key(kind, task), tools, tuple(_patches(results)))


def _is_good(record: Mapping[str, Any], steps: list[dict[str, Any]], results: list[dict[str, Any]]) -> bool:
    """Whether a run ended well and with everybody's consent.

    Its gates passed where it has any, the last command with a verdict (tests) succeeded, and nobody refused anything.
    What follows another run is about what was said there: alone it shows nothing.
    """
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
        if not tool or tool in MARKERS or step.get("ok", True) is not True:
            continue
        call = _line(f"{tool}({', '.join(_telling(_object(step.get('args'))))})")[:_CALL]
        if call == last:
            continue
        if told == _CALLS:
            yield "…"
            return
        yield call
        last, told = call, told + 1


def _telling(args: Mapping[str, Any]) -> list[str]:
    """The first arguments that are a short line: a path, a pattern, a command. A text that was written is none."""
    texts = (value for value in args.values() if isinstance(value, str))
    short = (text for text in texts if 0 < len(text) <= _ARGUMENT and "\n" not in text)
    return [_JSON.encode(text) for text in islice(short, _ARGUMENTS)]


def _patches(results: list[dict[str, Any]]) -> Iterator[str]:
    for result in results:
        if result.get("ok") is True and isinstance(result.get("patch_id"), str):
            yield encodable(result["patch_id"])


def _key(kind: str | None, task: str) -> str:
    return sha256("\0".join([kind or "", *words_of(task)]).encode()).hexdigest()[:20]


def _line(text: str) -> str:
    """A text on one line, with what does not show, or moves what does, as an escape."""
    return visible(" ".join(encodable(text).split()))


def _text(value: object) -> str | None:
    return encodable(value) if isinstance(value, str) else None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - a cast takes time


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
