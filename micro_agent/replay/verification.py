"""Recorded runs driven through today's loop: replies, confirmations and observations come from the record.

No network, no model, and no tool is run (but read-only ones, where that is asked for).
"""

from collections.abc import Iterable, Iterator
from typing import Any

from micro_agent.agent import MicroAgent
from micro_agent.errors import ConfigurationError
from micro_agent.replay.beginning import replies_behind
from micro_agent.replay.driving import Replay
from micro_agent.replay.files import Recorded
from micro_agent.replay.parts import Parts, parts_of
from micro_agent.replay.planning import reply_of
from micro_agent.replay.verdict import Verdict
from micro_agent.rules.limits import limits_of
from micro_agent.run import Run
from micro_agent.run.chain import require_earlier
from micro_agent.tools.registry import callable_names

_NEVER_PREPARED = frozenset({"UNKNOWN_TOOL", "NOT_RUN"})


def verify(runs: Iterable[Run | Recorded], agent: MicroAgent, *, live_tools: bool = False) -> Iterator[Verdict]:
    """Drive recorded runs through today's loop with an agent's tools, rules, instructions and demos.

    Compared are the digests of each request, how each reply is read, every step, the answer and how the run ended.
    Times, tokens, costs, ids and who answered are not.

    Args:
        runs: Runs, or records as `recorded` reads them.
        agent: The agent as it is today; its model is never asked.
        live_tools: Run read-only tools for real and compare what they observe; the replay goes on with the record.

    Yields:
        A `Verdict` for each run, in their order.
    """
    parts = parts_of(agent)
    for item in runs:
        found = item if isinstance(item, Recorded) else Recorded(None, item)
        yield _verdict(found, parts, live_tools)


def _verdict(found: Recorded, parts: Parts, live_tools: bool) -> Verdict:
    run = found.run
    if run is None:
        return Verdict("not_replayed", source=found.source, reason=found.fault)
    named: dict[str, Any] = {"run_id": run.id, "source": found.source, "question": run.question}
    try:
        limits = limits_of(run)
        _check(run, parts)
        replay = Replay(run, parts, limits, live_tools=live_tools)
    except (ValueError, ConfigurationError) as error:
        return Verdict("not_replayed", reason=str(error), **named)
    first, later = replay.diverges()
    outcome = "same" if first is None else "differs"
    return Verdict(outcome, divergence=first, later=later, notes=replay.notes, **named)


def _check(run: Run, parts: Parts) -> None:
    """Raises `ValueError` with one line that says why the run cannot be replayed."""
    if (run.model_extra or {}).get("door") == "proxy":
        raise ValueError("it went through micro-agent proxy: the agent that ran its tools is not this one")
    require_earlier(run)
    copied = run.forked_at or 0
    used = {step.tool for step in run.steps[copied:] if step.is_tool and step.error not in _NEVER_PREPARED}
    if unknown := sorted(used - callable_names(parts.tools)):
        raise ValueError(
            f"it used tools that are not there: {', '.join(unknown)} (name them with --tools or TOOLS_MODULES)"
        )
    behind = replies_behind(run, copied)
    for number, call in enumerate(run.calls[behind:], behind + 1):
        try:
            reply_of(call)
        except ValueError as error:
            raise ValueError(f"reply {number}: {error}") from error
