"""Which reply to a request is in force: one that came to nothing is replaced unseen, of several the best is taken."""

from collections.abc import Mapping

from micro_agent.decoding import ToolCall
from micro_agent.effects import Answer, Failure
from micro_agent.loop.finishing import given_in
from micro_agent.loop.judging import Loop, changes_unfounded, judged
from micro_agent.loop.preparing import confirmation, prepared
from micro_agent.rules.asking_again import ASKING
from micro_agent.run import LMCall, Run, Step
from micro_agent.run.sampling import most_samples, put, replies, thrown_away, under_way
from micro_agent.sampling.choosing import best, is_agreed, wanted, why
from micro_agent.sampling.miscopied import miscopied
from micro_agent.tools import Ready, Refused

_TOLD = frozenset({"CUT_OFF", "INTERRUPTED", "REPLIES_DIFFER"})
"""Codes of what another sample would come to again: the same limit, the same end of the process, the same doubt."""


def may_sample_again(run: Run) -> bool:
    """Whether the last reply may be thrown away: nothing was done for it, and there were not too many before it."""
    latest = len(run.calls) - 1
    may = thrown_away(run) < run.sampling.get("resamples", 0)
    return may and not any(step.call == latest for step in run.steps)


def throws_away(run: Run, step: Step, *, harmless: bool = True) -> bool:
    """Throw the last reply away, if it may be; ``step`` is what it came to, and ``harmless`` that it changed nothing.

    Of several calls none is tried again: others may have run beside it.
    """
    several = step.is_tool and len((run.calls[-1].decision or {}).get("tool_calls", ())) > 1
    if not harmless or several or step.error in _TOLD or not may_sample_again(run):
        return False
    run.calls[-1].fault, run.calls[-1].open = step, True
    return True


def repeatable(ready: Ready) -> bool:
    """Whether a call may be made again for another sample: it only reads, and nobody has to be asked."""
    return ready.tool.read_only and ready.tool.requires_confirmation is False


def agreed(loop: Loop, call: ToolCall) -> Ready | Refused:
    """As `prepared`; what changes something is refused where the replies differ and this one looks miscopied.

    Nothing is refused for its words alone: where there is no other reply, or most agree, nobody knows better.
    """
    ready, last = prepared(loop.run, loop.tools, call), loop.run.calls[-1]
    chosen = last.chosen or {}
    of = 1 + len(last.samples) - len(chosen.get("unusable", ()))
    unsure = chosen.get("index") in chosen.get("ungrounded", ()) and not is_agreed(chosen["agree"], of)
    if of == 1 or not unsure or isinstance(ready, Refused) or ready.tool.read_only:
        return ready
    words = miscopied(ready.args, loop.run, ready.tool)
    if not words or confirmation(loop.run, ready) is not None:  # a person sees them marked
        return ready
    told = {"error": "REPLIES_DIFFER", "message": _not_made(ready.tool.name, words)}
    return Refused(ready.tool.name, ready.args, ready.call_id, told, "REPLIES_DIFFER")


def more_wanted(loop: Loop) -> int:
    """How many more replies to the last request are to be asked for; 0: the best of them is the last reply now."""
    run = loop.run
    last, most = run.calls[-1] if run.calls else None, most_samples(run)
    if last is None or not (last.open or _is_new(run, last)):
        return 0
    extra = run.sampling.get("resamples", 0)
    if most < 2 and not last.samples and not last.open and not (extra and changes_unfounded(loop, last)):
        return 0  # the one reply that was asked for
    return _best_or_wanted(loop, most, extra and max(extra, most))


def taken_as_it_is(loop: Loop) -> Step | None:
    """No other reply comes: the last one or the best is in force. Returns what it came to, if it was tried."""
    there = under_way(loop.run)
    fault = loop.run.calls[-1].fault if there else None
    if fault is None and there:
        _best_or_wanted(loop, there, 0)
    if there:
        last = loop.run.calls[-1]
        last.fault, last.open = None, False
        last.chosen = {**(last.chosen or {"index": len(last.samples)}), "missed": True}
    return fault


def goes_on(loop: Loop, failure: Answer) -> bool:
    """Whether a run that failed to get another reply goes on with those that are there.

    It does after a fault of the model's side, and at the end of its time if all that is left to do is to answer.
    """
    reason = failure.reason if isinstance(failure, Failure) else ""
    return reason == "lm_error" or (reason == "max_time" and given_in(loop.run.calls[-1], loop.outputs) is not None)


def _best_or_wanted(loop: Loop, most: int, extra: int) -> int:
    """Put the best of the replies in force and return 0; or how many more are to be asked for before that."""
    order = replies(loop.run.calls[-1])
    samples = [judged(loop, one) for one in order]
    index = best(samples, most, extra)
    if index is None:
        loop.run.calls[-1].open = True
        return wanted(samples, most)
    if len(samples) > 1 or loop.run.calls[-1].open:
        put(loop.run, order, index).chosen = why(samples, index)
    return 0


def _not_made(tool: str, words: Mapping[str, str | None]) -> str:
    nowhere = ", ".join(f"'{word}'" + (f" (or is it '{like}'?)" if like else "") for word, like in words.items())
    advice = ASKING["replies_differ"].asked
    return f"{tool} was not called. Your replies differ, and nobody said {nowhere}. {advice}"


def _is_new(run: Run, last: LMCall) -> bool:
    """Whether nothing came of a reply yet, and it was not chosen."""
    latest = len(run.calls) - 1
    return last.chosen is None and not any(step.call == latest for step in reversed(run.steps))
