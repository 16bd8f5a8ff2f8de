"""Which message of a request differs from the recorded one, and what kind of message it is.

A record keeps digests of messages, not their texts: what was sent is known only as it would be sent today.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from micro_agent.replay.divergence import Divergence, shortened, text_of
from micro_agent.replay.parts import Parts
from micro_agent.replay.planning import RecordedPlanner
from micro_agent.run import LMCall, Run
from micro_agent.wires import demo_of, turns_of

_DIGITS = 12


def chain_of(calls: Iterable[LMCall]) -> list[str]:
    """The digests of the last request's messages, each over everything up to it."""
    chain: list[str] = []
    for call in calls:
        chain = [*chain[: call.request.get("shared", 0)], *call.request.get("chain", ())]
    return chain


def request_divergence(
    record: Run, calls: Sequence[LMCall], run: Run, planner: RecordedPlanner, parts: Parts
) -> Divergence:
    """What differs in the last request of ``calls``, which are today's, from the recorded one of the same number.

    ``run`` is as it stood when the request was rendered.
    """
    number = len(calls)
    recorded, today = chain_of(record.calls[:number]), chain_of(calls)
    at = next(i for i, (was, now) in enumerate(zip_longest(recorded, today)) if was != now)
    if at == 0 and (found := _head(record, calls[-1], number, planner, parts)):
        return found
    messages = planner.sent.messages
    where = f"request {number}, message {at + 1} of {len(messages)}"
    if at == len(messages):
        return Divergence("request", where, f"a message ({recorded[at][:_DIGITS]}…)", "no message")
    expected = f"another text (sha256 {recorded[at][:_DIGITS]}…)" if at < len(recorded) else "no message"
    place = f"{where} ({messages[at].role}): {_place(at, run, planner)}"
    return Divergence("request", place, expected, shortened(said(messages[at])))


def _head(record: Run, call: LMCall, number: int, planner: RecordedPlanner, parts: Parts) -> Divergence | None:
    """What differs before the first message, as far as the run's digests tell; ``None`` if nothing does."""
    then, now = record.calls[number - 1].request.get("head"), call.request.get("head")
    if then is not None and then == now:
        return None
    sent, was, today = planner.sent, record.digests, parts.digests(planner.lm, planner.mode)
    named = f"request {number}, before its messages"
    if was.get("tools") not in (None, today["tools"]):
        return _digests(f"{named}: tools", was["tools"], today["tools"], ", ".join(parts.tools) or "none")
    if was.get("demos") not in (None, today["demos"]):
        instructions = shortened(parts.plan.signature.instructions)
        what = "instructions or demos" if then is None else "instructions"  # demos are messages
        return _digests(f"{named}: {what}", was["demos"], today["demos"], instructions)
    if then is None and planner.mode == "native" and {"tools", "demos"} <= was.keys():
        return None
    where = f"{named}: system prompt or schema" if then else f"{named}, or in the first of them"
    expected = "another text, with the same tools, instructions and demos"
    return Divergence("request", where, expected, shortened(sent.system or ""))


def _digests(where: str, was: str, now: str, today: str) -> Divergence:
    return Divergence("request", where, f"sha256 {was[:_DIGITS]}…", f"sha256 {now[:_DIGITS]}…: {today}")


def _place(at: int, run: Run, planner: RecordedPlanner) -> str:
    """What a message says: a demo, the question, or what came of a step."""
    count = 0
    for number, demo in enumerate(planner.demos):
        count += len(list(demo_of(planner.wire, number, demo)))
        if at < count:
            return f"demo {number + 1}"
    talk = planner.conversation(run)
    if at == count:
        return "the question of an earlier turn" if talk.own else "the question"
    views = planner.views
    left_out = len(talk.steps) - len(views)  # the oldest ones, where the context was too short for them
    shown = range(1, len(views) + 1)
    step = next(n for n in shown if n == len(views) or at <= count + len(list(turns_of(planner.wire, views[:n]))))
    own = left_out + step - talk.own
    if own <= 0:
        return "an earlier turn" if own < 0 else "the answer before the question, or the question"
    return f"step {own} ({views[step - 1]['tool']})"


def said(message: Any) -> str:
    """The text of a message, calls and results included."""
    return " ".join(filter(None, map(_part, message.parts)))


def _part(part: Any) -> str:
    if text := getattr(part, "text", None):
        return text
    if content := getattr(part, "content", None):
        return " ".join(filter(None, map(_part, content)))
    asked: Mapping[str, Any] | None = getattr(part, "input", None)
    return "" if asked is None else f"{part.name} {text_of(dict(asked))}"
