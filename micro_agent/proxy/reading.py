"""What a reply comes to: passed on as it came, or with its calls mended. What is not certain is passed on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from micro_agent.decoding import Decision, ModelReply, ToolCalls, ToolSpec, decode
from micro_agent.models.bodies import counted
from micro_agent.proxy.whole_numbers import with_whole_numbers
from micro_agent.proxy.wires import Asked

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reply, its decision, and the kinds of what was mended in it: none, it goes out as it came."""

    reply: ModelReply
    decision: Decision | None = None
    kinds: tuple[str, ...] = ()

    @property
    def mends(self) -> ToolCalls | None:
        """The calls that the reply is to say in its place."""
        return self.decision if self.kinds and isinstance(self.decision, ToolCalls) else None


def read(
    reply: ModelReply, asked: Asked, *, embedded: bool = False, told: Mapping[str, Any] = _NOTHING,
    lacks: Sequence[str] = (),
) -> Verdict:  # fmt: skip
    """Read a reply to a request.

    Args:
        reply: What the server says.
        asked: What the request offers and wants.
        embedded: Whether calls with other text before them are mended too. Who goes on behind one may only speak of it.
        told: What the server says of its tokens. A reply that took all that it might have was cut off, whatever its end
            is called: llama.cpp's ``/v1/responses`` says ``completed`` of it.
        lacks: What is wrong with the way in which the server's calls came, see `StreamReader`.
    """
    tools, made = offered(asked), counted(told)[1]
    if asked.most is not None and made is not None and made >= asked.most:
        reply = replace(reply, finish_reason="length")
    if not tools:
        return Verdict(reply)
    named = None if reply.calls else next((tool for tool in tools if tool.name == asked.choice), None)
    decision = decode(reply, tools, native=True, submit=named)
    if not isinstance(decision, ToolCalls):
        return Verdict(reply, decision)
    decision = with_whole_numbers(decision, tools)
    if not reply.calls:
        where = {"bare" if call.standing == "native" else call.standing for call in decision.calls}
        if "embedded" in where and not (embedded and not any(call.text_follows for call in decision.calls)):
            return Verdict(reply, decision)
        return Verdict(reply, decision, _kinds([*sorted(where), *(one.kind for one in decision.repairs)]))
    return Verdict(reply, decision, _kinds([*(one.kind for one in decision.repairs), *lacks, *_lacks(reply, asked)]))


def read_refused(said: str, asked: Asked, *, embedded: bool = False) -> Verdict:
    """Read what a model said where its server could not. Whether it had ended is not known: no call is closed."""
    verdict = read(ModelReply(said, finish_reason="stop"), asked, embedded=embedded)
    if "closing_brackets" in verdict.kinds:
        return Verdict(verdict.reply)
    return replace(verdict, kinds=("parser_error", *verdict.kinds)) if verdict.kinds else verdict


def offered(asked: Asked) -> list[ToolSpec]:
    """The tools that may be called: none where the request forbids it."""
    return [] if asked.choice == "none" else list(asked.tools)


def unmet(verdict: Verdict, asked: Asked) -> bool:
    """Whether a request wants a call, or one of a certain tool, and the reply has none."""
    if asked.choice in ("auto", "none") or not asked.tools:
        return False
    calls = verdict.decision.calls if isinstance(verdict.decision, ToolCalls) else []
    if not (verdict.kinds or verdict.reply.calls):
        return True
    return not calls or (asked.choice != "required" and any(call.name != asked.choice for call in calls))


def _lacks(reply: ModelReply, asked: Asked) -> list[str]:
    ids = [raw.id for raw in reply.calls]
    lacks = ["call_id"] if None in ids or len(set(ids)) < len(ids) else []
    if any(not _is_text(raw.arguments) for raw in reply.calls):
        lacks.append("arguments_type")
    # Where a call is asked for, ``stop`` is the word for it in some: OpenAI itself says so of a named tool.
    if reply.finish_reason in ("stop", None) and asked.choice == "auto":
        lacks.append("finish_reason")
    return lacks


def _is_text(arguments: Any) -> bool:
    return isinstance(arguments, str) and arguments.strip() != ""


def _kinds(kinds: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kinds))
