"""An answer that is none: a call is announced and not made, the question or a result comes back, noise.

Weak models end with "Let me use the search tool:" and no call, or say the question again. Only what nothing else can be
meant by counts: the last sentence announces a call of a tool by name, without any condition; the whole answer is one
such announcement ("I'll look that up.", "Calling search..."); it is the question, word for word; it is what the loop
says of a result; or it is one sign again and again.
"""

import re

from micro_agent.rules.verdict import BeforeFinish, Event, Verdict, Violation
from micro_agent.run import Run

_MAX_SENTENCE = 300
_MIN_NOISE = 100
_SOON = r"(?: (?:now|first|then|quickly|also|just|go ahead and|start by))*"
_GOING_TO = r"I['’]ll|I will|I['’]m going to|I am going to|let me|let['’]s"
WILL = rf"\b(?:{_GOING_TO}|I need to|I have to|I must|we need to){_SOON}"
_CALLS = r"(?:us(?:e|ing)|call(?:ing)?|run(?:ning)?|invok(?:e|ing)|execut(?:e|ing)|try(?:ing)?)"
_LOOKS = r"(?:check|look|search|find|fetch|retrieve|query|calculate|compute|get|read|open|list|use|call|run)"
_ALONE = re.compile(
    r"(?:(?:sure|okay|ok|of course|certainly|alright|great|got it|yes|understood)[,.!]*\s+)?"
    rf"(?:{_GOING_TO}){_SOON} {_LOOKS}\b(?! (?:you|back))[^.!?\n]{{0,200}}[.:!…]*",
    re.IGNORECASE,
)
_WAIT = re.compile(
    r"(?:please (?:wait|hold on)|one moment|just a moment|give me a (?:moment|second|minute))\b[^.!?\n]{0,160}[.!…]*",
    re.IGNORECASE,
)
_LOOKING = re.compile(
    r"(?:looking|searching|checking|fetching|retrieving|calculating|computing|querying)\b[^.!?\n]{0,160}(?:\.{3}|…)",
    re.IGNORECASE,
)
_THOUGHT = re.compile(rf"Thought:[^\n]{{0,200}}{WILL}[^\n]{{0,200}}", re.IGNORECASE)
_ACTION = re.compile(r"\bAction:\W*\Z")
_CALLING = r"\A\W*(?:(?:now|okay|ok|sure)\W+)?(?:calling|running|invoking|using|executing)"
_RESULT = re.compile(r"Tool \[[^\]\n]{1,128}\] output:")
_NOISE = re.compile(r"(.{1,8}?)\1{15,}.{0,8}", re.DOTALL)
_MAX_NOISE = 10_000
_CONDITION = re.compile(
    r"\b(?:if|once|when|unless|would|could|may|might|should you|next time|later)\b|\?", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SIGN = re.compile(r"[\W_]+")


def check(run: Run, event: Event) -> Verdict | None:
    """Refuse to finish with an announcement or with the question.

    Args:
        run: The run so far.
        event: Anything but `BeforeFinish` gives ``None``. Without ``tools`` nothing can be announced.
    """
    if not isinstance(event, BeforeFinish):
        return None
    answer = event.answer.strip()
    if _plain(answer) == _plain(run.question) and " " in answer:
        return Violation("that is the question again and no answer.")
    if _RESULT.match(answer):
        return Violation("that is the result again and no answer. Answer the question in words.")
    if len(answer) >= _MIN_NOISE and _NOISE.fullmatch(answer[:_MAX_NOISE]):
        return Violation("that says the same again and again. Answer the question in words.")
    tool = _announced(answer, event.tools)
    if tool is not None:
        return Violation(f"you said that you would use {tool}, and made no call. Call it now.", wants=tool)
    alone = any(form.fullmatch(answer) for form in (_ALONE, _WAIT, _LOOKING, _THOUGHT)) or _ACTION.search(answer)
    if event.tools and alone and not _CONDITION.search(answer):
        return Violation("you said what you would do, and made no call. Call a tool now, or answer the question.")
    return None


def _announced(answer: str, tools: frozenset[str]) -> str | None:
    """The tool that the last sentence says will be used now, or whose name is the answer."""
    bare = answer.strip("[]()<>`\"'*:. \n")
    if bare in tools and (bare != answer or not bare.isalpha()):
        return bare
    last = _SENTENCE.split(answer[-2 * _MAX_SENTENCE :])[-1]
    if len(last) > _MAX_SENTENCE or _CONDITION.search(last):
        return None
    named = (name for name in sorted(tools) if name in last)
    return next((name for name in named if re.search(_use_of(name), last, re.IGNORECASE)), None)


def _use_of(name: str) -> str:
    before = rf"(?:{WILL}[^.!?\n]{{0,60}}\b{_CALLS}|{_CALLING})"
    return rf"{before} (?:the )?(?:tool |function )?[`\"'*\[]*{re.escape(name)}(?!\w)"


def _plain(text: str) -> str:
    return _SIGN.sub(" ", text).strip().casefold()
