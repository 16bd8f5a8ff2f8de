"""A run turned into what is shown of it: `Shown`. The page of the server and the one file show the same."""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from micro_agent.coding.gates import gates_line
from micro_agent.evaluation.report.replies import reply_view
from micro_agent.evaluation.report.texts import Text, cut, shown
from micro_agent.files.masking import mask_of
from micro_agent.page.items import (
    Item,
    Made,
    Marked,
    Mended,
    Question,
    ReplyItem,
    Shown,
    StepItem,
    Thrown,
    Turn,
    Word,
    Words,
)
from micro_agent.page.marks import marked
from micro_agent.replay import whole_call
from micro_agent.replay.replies import counted, said
from micro_agent.run import LMCall, Run, Step
from micro_agent.run.questions import about, preview_in
from micro_agent.text.printable import printable, visible

_LINE = 300
"""Characters of a reply that was thrown away, and of an earlier turn."""


class Place(NamedTuple):
    """Which reply, or which step."""

    kind: Literal["reply", "step"]
    at: int


def view_of(
    run: Run, *, first: int = 0, count: int | None = None, longest: int = 4000, open: bool = False,
    busy: bool = False, damage: str | None = None, decision: Literal["approve", "reject"] | None = None,
) -> Shown:  # fmt: skip
    """What is shown of a run.

    Args:
        run: The run; with those before it in its conversation, these are named.
        first: The first item to give.
        count: So many of them; ``None``: all.
        longest: Characters of each text. An open question is always whole.
        open: Whether it can go on.
        busy: Whether a process holds it.
        damage: What is wrong with its files.
        decision: The word on its question, once that is given.
    """
    places = _places(run)
    wanted = places[first:] if count is None else places[first : first + count]
    usage, message = run.usage, (run.error or {}).get("message")
    return Shown(
        **{name: getattr(run, name) for name in (
            "id", "ts", "status", "follows", "parent", "forked_at", "mode",
        )},
        termination_reason=_plain(run.termination_reason), provider=_plain(run.provider), model=_plain(run.model),
        open=open, busy=busy, damage=damage,
        question=printable(run.question),
        system=_maybe(run.system, longest),
        earlier=[_turn(one) for one in run.earlier],
        instead=[printable(f"{one.get('provider')} ({one.get('reason')})") for one in run.fallback_from],
        answer=_maybe(run.answer, longest),
        model_answer=_maybe(run.model_answer if run.model_answer != run.answer else None, longest),
        outputs=_fields(run.outputs, longest) if run.outputs and [*run.outputs.values()] != [run.answer] else [],
        gates=None if run.gates is None else gates_line(run.gates),
        error=None if message is None else printable(str(message)),
        **{name: getattr(usage, name) for name in (
            "lm_calls", "tool_calls", "input_tokens", "output_tokens", "cost_usd", "latency_s",
        )},
        repaired=sum(bool(call.repairs) for call in run.calls),
        confirmation=None if run.confirmation is None else _question(run.confirmation, decision),
        total=len(places), first=first, items=[_item(run, place, longest) for place in wanted],
    )  # fmt: skip


def _places(run: Run) -> list[Place]:
    """Replies and steps in the order in which they came: a reply before the first step that was made of it."""
    places, told = list[Place](), 0
    for number, step in enumerate(run.steps):
        until = min(len(run.calls), -1 if step.call is None else step.call + 1)
        places += [Place("reply", at) for at in range(told, until)]
        told = max(told, until)
        places.append(Place("step", number))
    places += [Place("reply", at) for at in range(told, len(run.calls))]
    return places


def _item(run: Run, place: Place, longest: int) -> Item:
    kind, at = place
    return _reply(at + 1, run.calls[at], longest) if kind == "reply" else _step(at + 1, run.steps[at], longest)


def _reply(number: int, call: LMCall, longest: int) -> ReplyItem:
    seen, text = reply_view(call, longest), cut(str(call.reply.get("text") or ""), longest)
    return ReplyItem(
        number=number,
        text=_pieces(text, call), left=text.left,
        reasoning=_words(seen.reasoning),
        calls=[Made(name=printable(name), text=_pieces(args, call), left=args.left) for name, args in seen.calls],
        repairs=[Mended(kind=one.kind, before=_named("", one.before), after=_named("", one.after))
                 for one in seen.repairs],
        read=_words(seen.read),
        fault=_words(seen.fault),
        choice=counted(call) if call.samples else None,
        others=[_thrown(one) for one in call.samples],
        model=_plain(call.model), input_tokens=call.input_tokens, output_tokens=call.output_tokens,
        cost_usd=call.cost_usd, latency_s=call.latency_s, retries=call.retries,
    )  # fmt: skip


def _pieces(text: Text, call: LMCall) -> list[Marked]:
    # No piece of a secret would be known as one.
    whole = mask_of().text(text.shown) if call.repairs else text.shown
    return [Marked(text=printable(piece.text), mark=piece.mark) for piece in marked(whole, call.repairs)]


def _thrown(call: LMCall) -> Thrown:
    why = None if call.fault is None else _short(shown(call.fault.observation, _LINE).shown)
    return Thrown(said=_short(said(call.reply)), why=why)


def _step(number: int, step: Step, longest: int) -> StepItem:
    return StepItem(
        number=number, tool=printable(step.tool), marker=not step.is_tool,
        args=_fields(step.args, longest),
        observation=_fields(step.observation, longest),
        fault=None if step.ok else printable(step.error or "failed"),
        latency_s=step.latency_s, state=_plain(step.state),
        edited=_fields(step.edited, longest),
        read_as=[_named("", shown(one, longest)) for one in step.coercions],
        approval=None if step.approval is None else _word(step.approval),
    )  # fmt: skip


def _word(approval: Mapping[str, Any]) -> Word:
    said = {name: approval.get(name) for name in ("kind", "id", "feedback")}
    texts = {name: printable(text) if isinstance(text, str) else None for name, text in said.items()}
    return Word(granted=approval.get("granted") is True, **texts)


def _question(question: Mapping[str, Any], decision: Literal["approve", "reject"] | None) -> Question:
    """All that a person has to see of it. Texts are whole, and what does not show is told."""
    (kind, named), preview = about(question), preview_in(question)
    text, edited, fault = preview.get("text"), question.get("edited"), question.get("fault")
    more = {name: value for name, value in preview.items() if name not in ("kind", "id", "text")}
    if not isinstance(text, str) and "text" in preview:
        more["text"] = text
    return Question(
        call=visible(whole_call(question["tool"], question["args"])),
        tool=visible(question["tool"]),
        args=json.dumps(question["args"], indent=2),
        kind=kind, id=named and visible(named),
        text=visible(text) if isinstance(text, str) else None,
        more=[Words(name=visible(name), text=json.dumps(value)) for name, value in more.items()],
        ungrounded=[visible(path) for path in question.get("ungrounded", ())],
        edited=None if edited is None else json.dumps(edited),
        fault=None if not fault else visible(str(fault)),
        reason=visible(str(question["reason"])), expires=_plain(question.get("expires")), sha256=question.get("sha256"),
        decision=decision,
    )  # fmt: skip


def _turn(run: Run) -> Turn:
    answer = run.termination_reason if run.answer is None else run.answer
    return Turn(id=run.id, question=_short(run.question), said=None if answer is None else _short(answer))


def _fields(value: Any, longest: int) -> list[Words]:
    """An object field by field, anything else as one text; nothing of what is not there or empty."""
    if value is None or value == {}:
        return []
    if isinstance(value, dict):
        pairs: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [_named(name, shown(one, longest)) for name, one in pairs.items()]
    return [_named("", shown(value, longest))]


def _named(name: str, text: Text) -> Words:
    return Words(name=printable(name), text=printable(text.shown), left=text.left)


def _words(text: Text | None) -> Words | None:
    return None if text is None else _named("", text)


def _plain(text: str | None) -> str | None:
    return None if text is None else printable(text)


def _maybe(text: str | None, longest: int) -> Words | None:
    return None if text is None else _named("", cut(text, longest))


def _short(text: str) -> str:
    return printable(cut(" ".join(text.split()), _LINE).shown)
