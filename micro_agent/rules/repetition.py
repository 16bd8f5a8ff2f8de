"""The same call with the same observation, again and again: warned about first, then stopped.

A weak model repeats a call that has told it everything already. Calls are counted over the whole run, not in a row. Two
or three calls that take turns (A-B-A-B) are seen as such, too, and sooner. A call whose observation differs (a poll, a
clock) is not a repetition. Nothing is stopped in the reply that earned the warning: the model has not read it yet.
"""

from collections.abc import Callable, Sequence

from micro_agent.rules.same import alike, shown, was_told
from micro_agent.rules.verdict import AfterStep, Event, Rule, Stop, Verdict, Warn
from micro_agent.run import Run, Step

WARN_AT = 3
STOP_AT = 5
CYCLES = (2, 3)
"""So many calls that take turns are looked for."""
WARN_AT_CYCLE = 2
STOP_AT_CYCLE = 3
"""Three rounds of two calls are six steps, the default of ``max_steps``: the run then ends for what it did."""


def check(run: Run, event: Event) -> Verdict | None:
    """Warn at the third call with equal tool, arguments and observation, stop the run at the fifth.

    Calls that take turns are warned about after the second round and stopped after the third.

    Args:
        run: The run so far; the step of ``event`` is the last of its steps.
        event: Anything but `AfterStep` of a tool step gives ``None``.
    """
    if not isinstance(event, AfterStep) or not event.step.is_tool:
        return None
    steps = [step for step in run.steps if step.is_tool]
    rounds = max(_rounds(steps, length) for length in CYCLES)
    same = [step for step in steps if alike(step, event.step)]
    tool, count = event.step.tool, len(same)
    if count >= STOP_AT and was_told(same[WARN_AT - 1], event.step):
        return Stop("repetition", f"{tool} was called {count} times with the same arguments and the same result")
    if rounds >= STOP_AT_CYCLE:
        return Stop("repetition", f"the same calls were made in turns, {rounds} times, with the same results")
    if count >= WARN_AT:
        return Warn(_again(event.step, count))
    if rounds == WARN_AT_CYCLE:
        return Warn(
            f"You make the same calls in turns, {', '.join(_turns(steps))}, and get the same results. They will not "
            "change. Call another tool or use other arguments, or give your answer now."
        )
    return None


def unless(changed: Callable[[Step], bool]) -> Rule:
    """The rule for an agent that changes what its tools tell of: a call after a ``changed`` step is another one.

    Tests that fail in the same way after each of several edits are no repetition.
    """

    def since_change(run: Run, event: Event) -> Verdict | None:
        begin = max((at for at, step in enumerate(run.steps, 1) if changed(step)), default=0)
        return check(run.model_copy(update={"steps": run.steps[begin:]}) if begin else run, event)

    return since_change


def _again(step: Step, count: int) -> str:
    """The warning: at first what is wrong, then the result that the model has already."""
    if count == WARN_AT:
        return (
            f"You called {step.tool} {count} times with the same arguments and got the same result each time. "
            f"The result will not change. Call another tool or use other arguments, or give your answer now."
        )
    called = f"{step.tool} {shown(step.args, 100)}"
    if not step.ok:
        return f"{called} fails each time: {shown(step.observation)}. Do not call it again. Answer now."
    return f"The result of {called} is {shown(step.observation)}. Do not call it again. Answer now with it."


def _rounds(steps: Sequence[Step], length: int) -> int:
    """How often the last ``length`` steps, which are not all alike, came one after the other up to the end.

    A round counts once the model has read what came of the one before.
    """
    latest = steps[-length:]
    if len(latest) < length or all(alike(latest[0], step) for step in latest):
        return 0
    rounds = 1
    while _repeats(steps, latest, rounds) and was_told(steps[-length * rounds - 1], steps[-length * rounds]):
        rounds += 1
    return rounds


def _repeats(steps: Sequence[Step], latest: Sequence[Step], rounds: int) -> bool:
    start = len(steps) - len(latest) * (rounds + 1)
    return start >= 0 and all(alike(a, b) for a, b in zip(steps[start:], latest, strict=False))


def _turns(steps: Sequence[Step]) -> list[str]:
    length = next(length for length in CYCLES if _rounds(steps, length) == WARN_AT_CYCLE)
    return [step.tool for step in steps[-length:]]
