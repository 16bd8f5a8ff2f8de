"""What the next request of a run changes in its settings, after replies or servers that failed (see `ASKING`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from micro_agent.rules.asking_again import Change, Row, fruitless
from micro_agent.run import POLICY_VIOLATION, Run, Step
from micro_agent.run.sampling import most_samples, replies, requests, thrown_away, under_way

SAME_REPLIES = 2
"""A model that says the same thing so often in a row, to no avail, is asked with other sampling."""
SERVER_FAILURES = 2
"""A server that failed so often on one and the same request is asked with other sampling."""
HOTTER = 0.3
"""Added to the temperature for each time that the same came again, up to `HOTTEST`."""
HOTTEST = 1.0
VARIED = 0.7
"""The temperature of further samples, unless that of the run is higher: at a lower one they say the same."""
LONGER = 4
"""So many times its length is the most that a reply gets after it was cut off."""
LONGER_UNKNOWN = 2
"""The same where the length of the context is not known."""
FORCED_AFTER = 2
"""After so many answers were refused for the want of one tool, which was not called between, its call is forced."""


def changes(
    run: Run, held: Mapping[str, Any], *, room: int | None = None, failed: int = 0, number: int = 0
) -> dict[str, Any]:
    """The settings that the next request of ``run`` changes. Pure: a replay finds the same.

    Args:
        run: As it stands before the request.
        held: The settings of the model, such as ``temperature`` and ``max_tokens``.
        room: How many tokens the context leaves for the reply; ``None`` when its length is not known.
        failed: How often the server has failed on this very request.
        number: Of replies that are asked for at once, which one it is, from 0.

    Returns:
        ``seed`` and ``temperature``, ``max_tokens``, or ``tool_choice`` (the tool to call); mostly nothing.
    """
    bad = fruitless(run.steps)
    if not bad and not under_way(run) and failed < SERVER_FAILURES:
        return {}
    return {**_longer(bad, held, room), **_resampled(run, len(bad), held, failed, number), **_forced(run)}


def _longer(bad: list[list[Row]], held: Mapping[str, Any], room: int | None) -> dict[str, Any]:
    cuts = _latest(bad, "max_tokens")
    limit: int | None = held.get("max_tokens")
    if not cuts or limit is None:
        return {}
    wanted = limit * min(2**cuts, LONGER if room is not None else LONGER_UNKNOWN)
    wanted = wanted if room is None else min(wanted, room)
    return {"max_tokens": wanted} if wanted > limit else {}


def _resampled(run: Run, bad: int, held: Mapping[str, Any], failed: int, number: int) -> dict[str, Any]:
    others, thrown = under_way(run), thrown_away(run) if under_way(run) else 0
    again = max(_same(run, bad) - SAME_REPLIES + 1, failed - SERVER_FAILURES + 1, 0) + thrown
    if again + others < 1:
        return {}
    seeds: list[int] = [one.settings.get("seed", 0) for one in replies(run.calls[-1])] if others else []
    first = max([(held.get("seed") or 0) + sum(1 for _ in requests(run)), *(seed + 1 for seed in seeds)])
    changed: dict[str, Any] = {"seed": first + failed + number}
    temperature: float | None = held.get("temperature")
    if temperature is not None and temperature < HOTTEST:
        most = max(VARIED, temperature) if others else HOTTEST
        warmer = most if most_samples(run) > 1 and others else temperature + HOTTER * max(again, others)
        changed["temperature"] = min(most, round(warmer, 2))
    return changed


def _forced(run: Run) -> dict[str, Any]:
    """A call of the tool for whose want the last answer was refused, if that was not the first for the same."""
    latest = list(takewhile(lambda step: not step.is_tool, reversed(run.steps)))
    wanted = next((tool for step in latest if (tool := _wanted(step))), None)
    since = takewhile(lambda step: not (step.is_tool and step.tool == wanted), reversed(run.steps))
    refused = [step for step in since if wanted and _wanted(step) == wanted]
    return {"tool_choice": wanted} if len(refused) >= FORCED_AFTER else {}


def _wanted(step: Step) -> str | None:
    return step.args.get("wants") if step.tool == POLICY_VIOLATION else None


def _latest(bad: list[list[Row]], change: Change) -> int:
    """How many replies in a row, up to the last, came to nothing in a way that asks for this change."""
    return len(list(takewhile(lambda of_reply: any(change in row.changes for row in of_reply), bad)))


def _same(run: Run, bad: int) -> int:
    """How often the last reply came in a row, if it came to nothing, as the last ``bad`` replies did."""
    end = len(run.calls) - (under_way(run) > 0)
    replies = [_said(call.reply) for call in reversed(run.calls[end - bad : end])]
    return len(list(takewhile(lambda said: said == replies[0], replies)))


def _said(reply: Mapping[str, Any]) -> Any:
    """A reply without what differs each time: the ids of its calls, the thoughts before it."""
    return reply.get("text"), [(call.get("name"), call.get("arguments")) for call in reply.get("tool_calls") or ()]


@dataclass
class Tries:
    """The requests for one decision that a server did not answer, and the changes that it takes none of in this run."""

    failed: int = 0
    refused: set[str] = field(default_factory=set[str])
    changed: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the request under way changes."""

    def settings(
        self, run: Run, held: Mapping[str, Any], *, room: int | None = None, number: int = 0, count: int = 1
    ) -> dict[str, Any]:
        """`changes`, and ``n`` where several replies are asked for, without those that the server refuses."""
        found = changes(run, held, room=room, failed=self.failed, number=number)
        found |= {"n": count} if count > 1 else {}
        self.changed = {name: value for name, value in found.items() if name not in self.refused}
        return dict(self.changed)

    def answered(self) -> None:
        """There is a reply: failures are counted anew for the next request."""
        self.failed = 0

    def without(self, error: BaseException) -> bool:
        """Count a failure; whether the request is to be made again without the changes, because the server refuses one.

        Nothing else can be to blame where the request was one that had been taken before, but for them. A server that
        breaks is not asked to force a call again.
        """
        status: int = getattr(error, "status", None) or 0
        self.failed += status == 500
        if status == 500:
            self.refused |= self.changed.keys() & {"tool_choice"}
            return False
        found = self.changed.keys() if status in (400, 413, 422) else set[str]()
        words = str(getattr(error, "body", None) or error)
        self.refused |= {name for name in found if name in words} or found
        return bool(found)
