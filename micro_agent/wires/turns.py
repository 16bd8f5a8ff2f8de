"""Whole turns and demos, on either wire."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from dspy.lm15 import Message

from micro_agent.context.views import View
from micro_agent.run import CONFIRMATION_REQUIRED, EDITED, FINISH_ASKED, MAKE_ASKED, WARNING
from micro_agent.text.encoding import encodable
from micro_agent.wires.images import with_images
from micro_agent.wires.native import NativeWire
from micro_agent.wires.said import NO_REPLY, shown

_NOT_SHOWN = "(not shown)"
_SILENT = (CONFIRMATION_REQUIRED, MAKE_ASKED)
"""What a model is not told: it shows in what came of the call, or of the reply."""


def turns_of(wire: NativeWire, steps: Sequence[View]) -> Iterator[Message]:
    """Whole turns: what a reply asked for, what came of it, then what the loop has to say."""
    turn = -1
    numbered = [(turn := turn if step.get("call") is None else step["call"], step) for step in steps]
    for _, group in groupby(numbered, key=itemgetter(0)):
        if not (view := [step for _, step in group if step["tool"] not in _SILENT]):
            continue
        calls = [step for step in view if _is_call(step)]
        notes = [shown(step) for step in view if not _is_call(step)]
        images = [image for step in view for image in step.get("images", ())]
        if calls:
            *messages, last = wire.calls(calls, [step["call_id"] for step in calls], notes)
            yield from messages
            yield with_images(last, images)
            continue
        yield from (_refused_reply(wire, step) for step in view if step.get("call") is not None)
        yield with_images(Message.user("\n\n".join(notes)), images)


def demo_of(wire: NativeWire, number: int, demo: View) -> Iterator[Message]:
    """A few-shot demo, the ``number``-th, as if it were the beginning of the conversation."""
    yield wire.asks(demo["question"])
    steps, decision = demo["steps"], demo["decision"]
    if not any("call" in step for step in steps):  # written by hand; recorded ones have it
        steps = [{"call": index, "call_id": str(index), **step} for index, step in enumerate(steps)]
    named = [{**step, "call_id": f"demo_{number}_{step['call_id']}"} if step.get("call_id") else step for step in steps]
    yield from turns_of(wire, named)
    if call := decision.get("tool"):
        yield from wire.decided({"tool": call["name"], "args": call["args"], "observation": _NOT_SHOWN}, number)
    if final := decision.get("final"):
        yield wire.answer(final["answer"])


def _refused_reply(wire: NativeWire, step: View) -> Message:
    """The reply behind a step of the loop: an answer that a rule refused, or what stands as the model said it."""
    answer = step["args"].get("answer")
    if answer is not None and step["tool"] != FINISH_ASKED:
        return wire.answer(answer, step.get("wrote"))
    return Message.assistant(encodable(step["said"]) or NO_REPLY)


def _is_call(step: View) -> bool:
    return bool(step.get("call_id")) and step["tool"] not in (WARNING, EDITED)
