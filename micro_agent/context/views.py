"""Steps as the planner sees them, whole or cut, and as lines."""

from collections.abc import Mapping, Sequence
from typing import Any

from micro_agent.context.tokens import estimate
from micro_agent.run import FINISH_ASKED, LMCall, Step
from micro_agent.text.encoding import as_json
from micro_agent.tools.shorten import cut_middle, shortened

View = Mapping[str, Any]
"""A step as the planner sees it: ``tool, args, observation`` and, in a live run, ``call, call_id, said, state``.

In JSON mode ``wrote`` is a reply that needed no repairs. ``asks``: its observation is the question of the run, which is
never cut.
"""

NEXT_QUESTION = "next question"
"""Stands in ``Step.tool`` where a turn ends and the next one asks. Such a step is on no record."""
YES_OR_NO = "yes or no"
"""Stands there where the model is asked about its last reply. Neither is this one: its answer is another."""
LEAST_CHARS = 24
"""Nothing is cut to less."""
LEAST_SHAPE = 200
"""In fewer characters than that no object or list is told by its parts."""
_ARGS_CHARS, _RESULT_CHARS = 56, 88
_BEFORE = "Note: This came before it in the conversation (each turn and each call is cut to a line):"


def view_of(step: Step, calls: Sequence[LMCall]) -> dict[str, Any]:
    """What the planner sees of a step: the prose beside a native call too, and the whole text of a refused reply.

    ``calls`` are the replies that ``step.call`` is the number of one of.
    """
    seen: dict[str, Any] = {"tool": step.tool, "args": step.args, "observation": step.observation}
    if step.state is not None:
        seen["state"] = step.state
    if step.call is not None:
        call = calls[step.call]
        reply, wrote = call.reply, call.reply.get("text")
        text = wrote if reply.get("tool_calls") or step.call_id is None else None
        seen |= {"call": step.call, "call_id": step.call_id, "said": _said(text) if text else ""}
        if call.mode == "json" and wrote and not call.repairs:
            seen["wrote"] = wrote
    return seen


def _said(text: str) -> str:
    """The words without thoughts. Most calls come without any, and then what knows thoughts is not loaded."""
    from micro_agent.decoding.clearing.thinking import without_thinking

    return without_thinking(text)


def cut(view: View, chars: int | None) -> dict[str, Any]:
    """The view with at most ``chars`` characters of each text that may be long; ``None`` leaves it as it is.

    These are the observation, what the model said beside it, and a final answer that was not taken.
    """
    if chars is None:
        return dict(view)
    args = dict(view["args"])
    if _refused_answer(view):
        args["answer"] = _cut_text(args["answer"], chars)
    observation = view["observation"] if view.get("asks") else _cut_text(view["observation"], chars)
    changed = {"args": args, "observation": observation}
    said = {"said": _cut_text(view["said"], chars)} if view.get("said") else {}
    return {**view, **changed, **said}


def tokens_of(view: View) -> int:
    """The estimated tokens of a view's texts that may be long."""
    return sum(map(estimate, _texts(view)))


def chars_for(view: View, tokens: int) -> int | None:
    """How many characters of its texts `cut` may leave so that they take ``tokens``; ``None`` if they need no cut."""
    texts = _texts(view)
    longest = max(map(len, texts))
    size = sum(map(estimate, texts))
    if size <= tokens or longest <= LEAST_CHARS:
        return None
    chars = longest * tokens // size
    while chars > LEAST_CHARS and _size_of_cut(view, chars) > tokens:
        chars = chars * 7 // 8
    return max(chars, LEAST_CHARS)


def _size_of_cut(view: View, chars: int) -> int:
    return tokens_of(cut(view, chars))


def lines_of(question: str, steps: Sequence[Step], most: int) -> list[str]:
    """A text that names the latest ``most`` calls among ``steps``, which are shown no more; none if there are none.

    A whole turn of a conversation is one line instead, the first that of ``question``.
    """
    turns, calls = list[str](), list[str]()
    for step in steps:
        if step.tool == NEXT_QUESTION:
            turns.append(f"- asked: {_short(_flat(question), _ARGS_CHARS)} -> {_answered(step)}")
            question, calls = step.observation, []
        elif step.call_id is not None and step.is_tool:
            calls.append(_line(step))
    lines = [*turns, *calls]
    left = max(0, len(lines) - most)
    told = [f"- ({left} earlier {'turns' if turns else 'calls'} are left out)"] if left else []
    begun = _BEFORE if turns else "Note: You have done this already (each result is cut to a line):"
    return ["\n".join([begun, *told, *lines[left:]])] if lines else []


def _answered(step: Step) -> str:
    answer = step.args.get("answer")
    return "no answer" if answer is None else f"answered: {_short(_flat(answer), _RESULT_CHARS)}"


def _line(step: Step) -> str:
    args, result = _flat(step.args), _flat(step.observation)
    return f"- {step.tool} {_short(args, _ARGS_CHARS)} -> {_short(result, _RESULT_CHARS)}"


def _short(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: chars * 2 // 3]} … {text[len(text) - chars // 3 :]}"


def _refused_answer(view: View) -> bool:
    refused = view.get("call_id") is None and view["tool"] != FINISH_ASKED
    return refused and isinstance(view["args"].get("answer"), str)


def _texts(view: View) -> list[str]:
    texts = ["" if view.get("asks") else _text(view["observation"]), view.get("said") or ""]
    return [*texts, view["args"]["answer"]] if _refused_answer(view) else texts


def _text(value: Any) -> str:
    return value if isinstance(value, str) else as_json(value)


def _flat(value: Any) -> str:
    return " ".join(_text(value).split())


def _cut_text(value: Any, chars: int) -> Any:
    """A text without its middle; an object or a list by its parts, where they are not too many for that."""
    text = _text(value)
    if len(text) <= chars:
        return value
    return (shortened(value, chars) if chars >= LEAST_SHAPE else None) or cut_middle(text, chars)
