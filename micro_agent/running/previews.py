"""What a tool itself says of a call beside its handler: what it would do, and what a rejection of it is worth.

Both are functions of the tool's, so they run where a tool may: in a thread, for as long as the tool may take.
"""

import logging
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

from micro_agent.effects import Approval, refusal
from micro_agent.tools import Outcome, Ready, Tool
from micro_agent.tools.jobs import TimedOut, done
from micro_agent.tools.jsonable import jsonable
from micro_agent.tools.outcome import Seen, failed, observed, outcome_of, timed_out

_log = logging.getLogger("micro_agent")


def preview_of(ready: Ready) -> dict[str, Any] | Outcome | None:
    """What a person is to be shown of a call; ``None`` where its tool has no preview.

    What the preview raised, or that it took too long, is the outcome of the call, which is not made then.
    """
    tool, preview = ready.tool, ready.tool.preview
    if preview is None:
        return None
    made, fault = _in_time(tool, lambda: _object(preview(deepcopy(ready.args))))
    return made if fault is None else _not_called(fault)


def rejection_of(ready: Ready, word: Approval) -> Outcome:
    """What stands for a call that a person rejected: as its tool says, where it says something."""
    tool, rejected = ready.tool, ready.tool.rejected
    if rejected is None:
        return refusal(word)
    said, fault = _in_time(tool, lambda: observed(tool, rejected(deepcopy(ready.args), word.feedback)))
    if fault is None:
        return _not_called(said)
    _log.warning("tool %r: rejected failed (%s); the model is told of a refusal", tool.name, fault.observation)
    return refusal(word)


def _in_time(tool: Tool, call: Callable[[], Any]) -> tuple[Any, Seen | None]:
    """What a function of a tool's gives, or what is seen of its failure."""

    def work(_: object) -> tuple[Any, Seen | None]:
        try:
            return call(), None
        except BaseException as error:  # noqa: BLE001 it is the tool's failure, whatever it is
            return None, failed(tool, error)

    try:
        return done(work, tool.timeout_s)
    except TimedOut:
        return None, timed_out(tool)


def _object(made: object) -> dict[str, Any]:
    if not isinstance(made, dict):
        raise TypeError(f"a preview is an object, not a value of type {type(made).__name__}")
    return jsonable(cast("dict[Any, Any]", made))


def _not_called(seen: Seen) -> Outcome:
    return replace(outcome_of(seen, 0.0), latency_s=None)
