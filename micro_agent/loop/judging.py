"""What a reply is worth before it is taken: the loop itself is asked what it would do with it, on a copy of the run."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import Any, Protocol

from micro_agent.decoding import ToolCall
from micro_agent.effects import Answer, Effect, Plan
from micro_agent.loop.finishing import given_in
from micro_agent.loop.preparing import prepared
from micro_agent.run import LMCall, Run
from micro_agent.sampling.agreement import of_data, of_text, values_told
from micro_agent.sampling.choosing import Sample
from micro_agent.sampling.grounding import ungrounded, ungrounded_numbers
from micro_agent.tools import Ready, Refused, Tool, resolve
from micro_agent.tools.outputs import Outputs


class Loop(Protocol):
    """As much of the loop as is needed for it."""

    @property
    def run(self) -> Run:
        """The run under way."""
        ...

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name."""
        ...

    @property
    def outputs(self) -> Outputs:
        """What an answer has to hold."""
        ...

    @property
    def forbids(self) -> Callable[[Ready], bool]:
        """Whether a rule refuses a call."""
        ...

    @property
    def effects(self) -> Callable[[], Generator[Effect, Answer, None]]:
        """What the loop does next."""
        ...


def judged(loop: Loop, reply: LMCall) -> Sample:
    """What a reply to the last request is worth. The run stays as it is."""
    copied: Any = loop
    alone = reply.model_copy(update={"samples": [], "fault": None, "open": False, "chosen": {}})
    run = loop.run.model_copy(update={"steps": [*loop.run.steps], "calls": [*loop.run.calls[:-1], alone]})
    run.usage, run.sampling = run.usage.model_copy(), {}
    given = given_in(reply, loop.outputs)
    made = (reply.decision or {}).get("tool_calls", ()) if given is None else ()
    calls = [prepared(run, loop.tools, ToolCall.of(call)) for call in made]
    if given is None:
        says = "\n".join(of_data(_named(call)) for call in calls) or of_data(reply.reply)
    else:
        says = of_text(given.text, run) if given.call is None else of_data(given.outputs)
    if reply.fault is not None:
        return Sample(says, usable=True, grounded=True, tried=True)
    effect = next(replace(copied, run=run).effects(), None)
    refused = run.status in ("stopped", "failed") or (isinstance(effect, Plan) and effect.asks is None)
    usable = not refused and all(isinstance(call, Ready) and not loop.forbids(call) for call in calls)
    grounded = not any(_is_loose(call, run) for call in calls) if given is None else _is_founded(given.text, run)
    early = given is not None and not any(step.is_tool and step.ok for step in run.steps)
    effects = has_effects(loop, reply) and not isinstance(effect, Plan)  # else the model is asked about it in any case
    return Sample(says, usable=usable, grounded=grounded, effects=effects, early=early)


def changes_unfounded(loop: Loop, reply: LMCall) -> bool:
    """Whether a reply calls a tool that may change something with words that stand nowhere."""
    made = (reply.decision or {}).get("tool_calls", ()) if has_effects(loop, reply) else ()
    calls = [prepared(loop.run, loop.tools, ToolCall.of(call)) for call in made]
    return any(_is_loose(call, loop.run) and not _is_shown_before(call) for call in calls)


def has_effects(loop: Loop, reply: LMCall) -> bool:
    """Whether a reply calls a tool that may change something."""
    names = [resolve(loop.tools, call["name"]) or "" for call in (reply.decision or {}).get("tool_calls", ())]
    return any(not loop.tools[name].read_only for name in names if name in loop.tools)


def _is_shown_before(call: Ready | Refused) -> bool:
    """Whether a person sees what a call would do: new code, say, stands nowhere before."""
    return isinstance(call, Ready) and call.tool.preview is not None


def _named(call: Ready | Refused) -> list[Any]:
    return [call.tool.name if isinstance(call, Ready) else call.name, call.args]


def _is_founded(answer: str, run: Run) -> bool:
    """Whether the numbers of an answer stand somewhere, and a value that the tools gave stands in it, if they did."""
    return not ungrounded_numbers(answer, run) and values_told(answer, run) != set()


def _is_loose(call: Ready | Refused, run: Run) -> bool:
    """Whether something in a call stands nowhere."""
    return isinstance(call, Ready) and bool(ungrounded(call.args, run, call.tool))
