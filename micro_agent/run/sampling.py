"""Several replies to one request, of which one is in force: the others stand in its record and not in the context.

A reply that comes to nothing is replaced by another before the model is told what was wrong: a mistake that it is told
of stays in its context. With ``samples`` above 1, several replies are asked for
in any case, and the best of them is chosen (self-consistency: Wang et al. 2022, arXiv 2203.11171).
"""

from collections.abc import Iterator

from micro_agent.run import LMCall, Run
from micro_agent.run.usage import add_call


def replies(call: LMCall) -> list[LMCall]:
    """All replies to the request of a call, itself among them, in the order in which they came."""
    at = call.chosen["index"] if call.chosen else len(call.samples)
    return [*call.samples[:at], call, *call.samples[at:]]


def requests(run: Run) -> Iterator[LMCall]:
    """Every reply of the model, those that are not in force included, in order."""
    for call in run.calls:
        yield from replies(call)


def most_samples(run: Run) -> int:
    """How many replies to one request are asked for before one is chosen; 1: the first is taken."""
    return run.sampling.get("samples", 1)


def under_way(run: Run) -> int:
    """How many replies there are to a request of which none is in force yet; 0 where the last one is."""
    last = run.calls[-1] if run.calls else None
    return len(last.samples) + 1 if last is not None and last.open else 0


def thrown_away(run: Run) -> int:
    """How many replies to the last request came to nothing, and were thrown away for it."""
    return sum(one.fault is not None for one in replies(run.calls[-1])) if run.calls else 0


def take_replies(run: Run, came: LMCall) -> None:
    """Add a reply, or it and those beside it in the place of the last one where that is not in force. Count them."""
    for reply in (new := [came, *came.samples]):
        add_call(run.usage, reply)
    if under_way(run):
        put(run, [*replies(run.calls[-1]), *new])
    else:
        run.calls.append(came)


def put(run: Run, order: list[LMCall], index: int = -1) -> LMCall:
    """Put one of these replies in the place of the last one, the others with it. Returns it."""
    others = [one.model_copy(update={"samples": [], "chosen": None, "open": False}) for one in order]
    reply = others.pop(index)
    reply.samples = others
    run.calls[-1] = reply
    return reply
