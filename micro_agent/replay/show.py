"""Reading runs back: shown to a person, counted."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

from micro_agent.coding.gates import gates_line
from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.replay.files import with_earlier
from micro_agent.replay.replies import Replies
from micro_agent.run import Run, Step
from micro_agent.run.finishing import stands
from micro_agent.run.questions import preview_in
from micro_agent.run.totals import Totals
from micro_agent.text.encoding import as_json
from micro_agent.text.printable import printable, visible
from micro_agent.traces import Record, read_records

MARGIN = "| "
"""Stands before each line of what a tool shows of a call."""
_NAMED = ("kind", "id", "text")
_WIDTH = 100
_LONGEST = 2000


def record_of(path: str | Path, index: int = -1) -> Run:
    """A record of a trace file; ``index`` counts its readable records as a list does.

    Raises:
        StorageError: The file cannot be read, or holds no record.
        ConfigurationError: There is no such index; the message names those that there are.
    """
    records = list(read_records(path))
    runs = [record.run for record in records if record.run is not None]
    faults = [_fault(record) for record in records if record.fault is not None]
    if not runs:
        raise StorageError(f"no run in {path}: {'; '.join(faults) or 'it is empty'}")
    if not -len(runs) <= index < len(runs):
        count = _count(len(runs), "record")
        raise ConfigurationError(f"{path} has {count}: --index goes from {-len(runs)} to {len(runs) - 1}")
    return with_earlier(runs[index], Path(path))


def describe(run: Run) -> Iterator[str]:
    """The run as lines of text: question, steps with what was repaired, answer, how it ended and what it took."""
    yield f"Run {run.id}  {run.ts}"
    yield f"{run.provider or 'unknown'} {run.model or 'unknown'}, {run.mode or 'unknown'} mode" + _instead(run)
    yield ""
    if run.system:
        yield f"System: {run.system}"
    if run.follows:
        yield f"Follows: run {run.follows}"
    yield from map(_turn, range(1, len(run.earlier) + 1), run.earlier)
    if given := [message for message in run.history if message["role"] == "user"]:
        yield f"History: {_count(len(given), 'turn')} that no run was made for"
    yield f"Question: {run.question}"
    for number, image in enumerate(run.images, 1):
        yield f"Image {number}: {image.url or f'{image.media_type}, {image.size} bytes'}"
    yield ""
    replies = Replies(run)
    for number, step in enumerate(run.steps, 1):
        yield from _step(number, step, replies)
        yield ""
    if run.answer is not None:
        yield f"Answer: {run.answer}"
    if run.outputs is not None and [*run.outputs.values()] != [run.answer]:
        yield f"Outputs: {as_json(run.outputs)}"
    if run.status == "completed":
        yield from replies.last()
    if run.confirmation is not None:
        first, *more = _shown(run.confirmation)
        yield f"Waits for confirmation of: {first}"
        yield from (f"  {line}" for line in more)
        if run.confirmation.get("sha256") is None:
            yield "  (not as it was asked: a secret in it is masked, or it was changed on record)"
    if run.gates is not None and (line := gates_line(run.gates)) is not None:
        yield f"Gates: {line}"
    message = f": {run.error.get('message')}" if run.error else ""
    yield f"{run.status.capitalize()} ({run.termination_reason or 'under way'}){message}"
    usage = run.usage
    counts = ["unknown" if count is None else str(count) for count in (usage.input_tokens, usage.output_tokens)]
    tokens = "unknown" if counts == ["unknown"] * 2 else f"{counts[0]} in, {counts[1]} out"
    cost = "unknown" if usage.cost_usd is None else f"${usage.cost_usd:.6f}"
    calls = f"{_count(usage.lm_calls, 'model call')}, {_count(usage.tool_calls, 'tool call')}"
    yield f"{calls}, tokens {tokens}, cost {cost}, {usage.latency_s:.2f} s"


def step_line(tool: str, args: dict[str, Any], observation: Any = None) -> str:
    """A step on one line, cut to the width of a page."""
    said = f"{tool} {_text(args)}" if args else tool
    line = said if observation is None else f"{said} -> {_text(observation)}"
    return printable(_cut(" ".join(line.split()), _WIDTH))


def whole_call(tool: str, args: dict[str, Any]) -> str:
    """A call as a person must see it to approve it: on one line, nothing cut, and in ASCII, so that nothing hides."""
    return f"{tool} {json.dumps(args, ensure_ascii=True)}"


def asked(question: Mapping[str, Any]) -> Iterator[str]:
    """What a person is asked about a call, as lines: all that `_shown` gives of it, and why it is asked."""
    yield from _shown(question)
    yield question["reason"]


def _shown(question: Mapping[str, Any]) -> Iterator[str]:
    """The whole call, and what it was before a person changed it; its preview in full; what to look at closely.

    Each line of the preview's text stands behind `MARGIN`, so that no text can look like a line of ours.
    """
    yield whole_call(question["tool"], question["args"])
    if (edited := question.get("edited")) is not None:
        yield f"Edited by a person; the model gave: {json.dumps(edited)}"
    if preview := preview_in(question):
        head = " ".join(
            json.dumps(preview[name])[1:-1] for name in ("kind", "id") if isinstance(preview.get(name), str)
        )
        yield f"{head or 'preview'}:"
        text = preview.get("text")
        yield from (MARGIN + line for line in visible(text).split("\n")) if isinstance(text, str) else ()
        told = [name for name in _NAMED if isinstance(preview.get(name), str)]
        more = {name: value for name, value in preview.items() if name not in told}
        yield from (f"{json.dumps(name)[1:-1]}: {json.dumps(value)}" for name, value in more.items())
    yield from ungrounded(question)
    if fault := question.get("fault"):
        yield f"The edited arguments were not taken: {json.dumps(fault)[1:-1]}"


def ungrounded(question: Mapping[str, Any]) -> Iterator[str]:
    """A line that names the arguments which stand nowhere, if a question has such: in ASCII, as the call is."""
    if paths := question.get("ungrounded"):
        yield f"Not in the question or any result: {', '.join(json.dumps(path)[1:-1] for path in paths)}"


def statistics(runs: Iterable[Run]) -> dict[str, Any]:
    """Runs by status and by termination reason, their calls, tokens, cost (US dollars), median latency (seconds).

    Tokens and cost are sums over the model calls where they are known; ``unknown`` says of how many calls they are not.
    A sum of which nothing is known is ``None``; so is the median of no runs.
    """
    totals = Totals()
    for run in runs:
        totals.add(run)
    return totals.figures()


def _fault(record: Record) -> str:
    return f"line {record.line_number}: {record.fault}" if record.line_number else str(record.fault)


def _step(number: int, step: Step, replies: Replies) -> Iterator[str]:
    took = "" if step.latency_s is None else f"  ({step.latency_s:.3f} s)"
    yield f"{number}. {step.tool}{took}"
    yield from replies.at(step.call)
    if step.args and not stands(step):
        yield indent(_cut(_text(step.args), _LONGEST), "     ")
    if step.observation is not None:
        yield indent(_cut(_text(step.observation), _LONGEST), "  -> ", predicate=lambda line: True)
    if step.state is not None:
        yield indent(step.state, "     ")
    if step.edited is not None:
        yield f"     edited by a person; the model gave: {_text(step.edited)}"
    for coercion in step.coercions:
        yield f"     read as: {_text(coercion)}"


def _turn(number: int, run: Run) -> str:
    """An earlier turn on one line."""
    said = run.termination_reason if run.answer is None else run.answer
    return "  " + _cut(" ".join(f"{number}. {run.question} -> {said}".split()), _WIDTH)


def _instead(run: Run) -> str:
    return "".join(f", instead of {one.get('provider')} ({one.get('reason')})" for one in run.fallback_from)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
