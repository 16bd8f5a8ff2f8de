"""What a question asks for, when the tasks on texts, explanations and edits in it are set aside."""

from functools import lru_cache
from typing import NamedTuple

from micro_agent.rules.reading import PLAIN, Token, Tokens, follow, has, holds, place_of, read
from micro_agent.rules.words import Words


class Asked(NamedTuple):
    """What is left of a question when tasks on texts, explanations and edits are set aside."""

    sentences: list[Tokens]
    written: list[Tokens]
    """The sentences that ask for a text or an entry, which may have to bear today's date."""
    every: Tokens
    """All tokens of ``sentences``."""
    operands: Tokens
    """Its numbers that can be computed with."""
    moments: Tokens
    """Its dates, clock times and years."""
    told_now: bool
    """Whether the question says itself what the present is."""


@lru_cache(maxsize=16)
def asked_of(question: str, language: Words) -> Asked:
    """What the question asks for; of the last ones read it is remembered, since a run asks more than once."""
    kept: list[Tokens] = []
    written: list[Tokens] = []
    for sentence in read(question, language):
        body = _without_greeting(sentence)
        task = _task(body)
        kept.append(_before_explanation(body) if task is None else _further_request(body))
        if task == "write" or (task == "edit" and not technical(body)):
            written.append(body)
        if task == "text_task" and not holds(body, "quoted"):
            break
    every = [token for sentence in kept for token in sentence]
    told = any(map(_tells_now, kept)) or (holds(every, "clock", "date") and holds(every, "ahead"))
    operands = [token for token in every if "operand" in token.classes]
    moments = [token for token in every if token.classes & {"date", "clock", "year"}]
    return Asked(kept, written, every, operands, moments, told)


def _without_greeting(sentence: Tokens) -> Tokens:
    at = 0
    while has(sentence, at, "polite", "mark", "and"):
        at += 1
    return sentence[at:]


def _task(body: Tokens) -> str | None:
    """What a sentence asks for when that is neither an amount nor a moment."""
    if holds(body, "meaning") and (holds(body, "what_does") or (has(body, 0, "what") and not holds(body, "quantity"))):
        return "explain"
    if not technical(body) and (operates(body) or (has(body, 0, "quantity") and holds(body, "asks"))):
        return None
    numbers = sum("operand" in token.classes for token in body)
    if (has(body, 1, "operand") and follow(body, "convert_to", "form")) or (
        has(body, 0, "write")
        and numbers > 1
        and (follow(body, "quantity", "of", gap=0) or follow(body, "prefix", "operand"))
        and not technical(body)
    ):
        return None
    tasks = ("explain", "text_task", "write", "edit")
    return next((task for task in tasks if has(body, 0, task)), None)


def operates(body: Tokens) -> bool:
    """Whether a sentence begins with an operation on what is given: "add 3 and 4", "split it", "total: 3, 4"."""
    if not has(body, 0, "operate") or technical(body):
        return False
    return any(has(body, at, "operand", "prefix") for at in (1, 2)) or (
        has(body, 1, "mark", "refers")
        and (len(body) < 3 or not (body[2].classes == PLAIN or has(body, 2, "label", "code")))
    )


def _before_explanation(body: Tokens) -> Tokens:
    at = place_of(body, "explain")
    return body if at < 0 else body[:at] if at > 2 else []


def _further_request(task: Tokens) -> Tokens:
    """What else a task asks for in the same breath: "define a prime and calculate 7*13"."""
    for at in range(1, len(task)):
        if has(task, at, "and", "mark") and has(
            task, at + 1 + has(task, at + 1, "and", "polite"), "calculate", "what", "how_many"
        ):
            return task[at + 1 :]
    return []


def technical(sentence: Tokens) -> bool:
    """Whether a sentence is about code."""
    return holds(sentence, "code", "software")


def _tells_now(sentence: Tokens) -> bool:
    """Whether the sentence says what the present is: "it is 3 pm", "if today is Monday", "when I ring at 21:45"."""
    supposed = place_of(sentence, "if")
    if supposed >= 0 and holds(sentence[supposed:], "clock", "date") and not holds(sentence, "born"):
        return True
    return any(
        has(sentence, at, "it", "now", "place")
        and has(sentence, at + 1, "be")
        and any(has(sentence, to, "clock", "date", "year", "weekday", "noon") for to in (at + 2, at + 3))
        and not has(sentence, at - 1, "be", "yes_no", "what", "until")
        for at in range(len(sentence))
    )


def span_asked(sentence: Tokens) -> bool:
    """Whether a span of time is asked for: "how long", "how many weeks", "days until …", "is it more than a week"."""
    if holds(sentence, "how_long", "age_asked"):
        return True
    if holds(sentence, "how_many") or (has(sentence, 0, "yes_no") and holds(sentence, "compare")):
        return any("weekday" in token.classes or token.measure == "time" for token in sentence)
    if (
        holds(sentence, "asks")
        and len(sentence) > 1
        and is_span_unit(sentence[-2])
        and has(sentence, len(sentence) - 3, "mark")
    ):
        return True
    start = next((at for at in range(3) if not has(sentence, at, "left", "operate", "the")), 3)
    return has(sentence, start, "unit") and is_span_unit(sentence[start]) and not has(sentence, start + 1, "be")


def is_span_unit(token: Token) -> bool:
    """Whether it is a unit of time without a number, such as the "days" of "how many days"."""
    return token.measure == "time" and "unit" in token.classes
