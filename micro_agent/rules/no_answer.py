"""An answer that is none, in any language: the question, a result, a tool's bare name, one sign for ever.

Whether prose is an answer or says what comes next, only the model knows: see `micro_agent.loop.finishing`.
"""

import re
from collections.abc import Iterator

from micro_agent.rules.question import question_in
from micro_agent.rules.verdict import BeforeFinish, Event, Verdict, Violation
from micro_agent.run import FINISH_ASKED, Run

_MIN_WORDS = 5
"""A shorter question may well be its own answer: "Red or blue?"."""
_MIN_NOISE = 100
_MAX_NOISE = 10_000
_NOISE = re.compile(r"(.{1,8}?)\1{15,}.{0,8}", re.DOTALL)
_RESULT = re.compile(r"Tool \[[^\]\n]{1,128}\] output:")
_SIGN = re.compile(r"[\W_]+")


def check(run: Run, event: Event) -> Verdict | None:
    """Refuse to finish with what cannot be an answer.

    Args:
        run: The run so far.
        event: Anything but `BeforeFinish` gives ``None``. Without ``tools`` no name can be one of theirs.
    """
    if not isinstance(event, BeforeFinish) or (event.outputs and event.answer not in event.outputs.values()):
        return None  # what is told as JSON is not words
    answer = event.answer.strip()
    asked = _plain(question_in(run) or run.question)
    if len(asked.split()) >= _MIN_WORDS and _plain(answer) == asked:
        return Violation("that is the question again and no answer.")
    if any(_plain(answer) == _plain(denied) for denied in _denied(run)):
        return Violation("you said that this is not your final answer. Call a tool now, or answer the question.")
    if _RESULT.match(answer):
        return Violation("that is the result again and no answer. Answer the question in words.")
    if len(answer) >= _MIN_NOISE and _NOISE.fullmatch(answer[:_MAX_NOISE]):
        return Violation("that says the same again and again. Answer the question in words.")
    bare = answer.strip("[]()<>`\"'*:. \n")
    if bare in event.tools and (bare != answer or not bare.isalpha()):
        return Violation(f"that is the name of the tool {bare}, and no call was made. Call it now.", wants=bare)
    return None


def _denied(run: Run) -> Iterator[str]:
    """What the model has said and then, when it was asked, called not final."""
    for step in run.steps:
        if step.tool == FINISH_ASKED and step.args.get("done") is False:
            yield str(step.args.get("answer"))


def _plain(text: str) -> str:
    return _SIGN.sub(" ", text).strip().casefold()
