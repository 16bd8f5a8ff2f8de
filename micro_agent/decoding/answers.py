"""What an answer must be to be one: words of the model's own, whole, and no decision wrapped in another."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from micro_agent.decoding.clearing.thinking import without_thinking
from micro_agent.decoding.clearing.tokens import without_end_of_turn
from micro_agent.decoding.decision import Decision, DecodeError, Final, ToolCalls
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair.mending import Unreadable, exact, repair, unfenced
from micro_agent.decoding.settle import error
from micro_agent.decoding.wording import shorten

_PLACEHOLDER = re.compile(
    r"\.{3}|…|answer"
    r"|[<\[{(](?:(?:your|the) )?(?:final[ _])?(?:answer|response|text)(?: (?:here|goes here|text))?[>\])}]"
)
_KEYS = {"tool", "final", "name", "args", "arguments", "answer"}
_OUR_FORM = '{"tool": {"name": "<tool name>"'
_MAX_NOTHING = 200
_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>.*</\1>\s*+\S", re.DOTALL)
_DECISION = re.compile(r"[{\[<]|[A-Za-z_][\w.]{0,63}\(|Action:")


def checked(found: Final, text: str, read: Callable[[str], Decision | None], offer: Offer) -> Final | DecodeError:
    """The answer without the markup around it; an error where it says nothing, or is a tool call itself.

    Args:
        found: What was read.
        text: The reply that it was read in.
        read: Reads a text as a decision; ``None`` when it is prose.
        offer: The tools.
    """
    answer = said = found.answer
    wrapped = "{" in text and answer != text.strip()
    if wrapped:  # a bare text has lost these already
        said = without_end_of_turn(without_thinking(answer) if _THOUGHT.match(answer) else answer).strip()
    if _says_nothing(said) or (not wrapped and _is_empty_json(said)):
        return error("empty", f"{shorten(answer, 60)!r} and no answer.", offer)
    if wrapped and _DECISION.match(said) and isinstance(read(said), ToolCalls | DecodeError):
        return error("malformed", "A tool call where the words of a final answer are wanted.", offer)
    if said == answer:
        return found
    return replace(found, answer=said, repairs=[*found.repairs, repair("special_tokens", answer, said)])


def _says_nothing(answer: str) -> bool:
    """Whether it is blank, a placeholder, or the form that was asked for."""
    bare = _inside(answer)
    return not bare or bare.startswith(_OUR_FORM) or _PLACEHOLDER.fullmatch(bare) is not None


def _is_empty_json(answer: str) -> bool:
    """Whether it is an object or a list with nothing in it, as a whole."""
    try:
        return len(answer) <= _MAX_NOTHING and _is_empty(exact(_inside(answer)))
    except Unreadable:
        return False


def _inside(answer: str) -> str:
    """``answer`` without a fence around it; a backtick alone is an answer."""
    fenced = len(answer) <= _MAX_NOTHING and answer[:3] == "```" == answer[3:][-3:]
    return unfenced(answer) if fenced else answer.strip()


def _is_empty(value: Any) -> bool:
    if isinstance(value, dict):
        inside = cast("dict[str, Any]", value)
        return inside.keys() <= _KEYS and all(map(_is_empty, inside.values()))
    return value is None or value in ("", [])
