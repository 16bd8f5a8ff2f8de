"""Whether a question asks for the present moment, or for what is counted from it."""

from micro_agent.rules.asked import Asked, is_span_unit, span_asked, technical
from micro_agent.rules.reading import PLAIN, Tokens, follow, has, holds


def asks_clock(asked: Asked) -> bool:
    """Whether the present time or date is asked for, or something that depends on it."""
    if asked.told_now:
        return False
    return any(_clock_asked(asked, sentence) for sentence in asked.sentences) or any(_dated(s) for s in asked.written)


def _clock_asked(asked: Asked, sentence: Tokens) -> bool:
    if holds(sentence, "clock_phrase") or (holds(sentence, "how_late") and holds(sentence, "it")):
        return True
    # "What time is it?", "which weekday is today", "what year are we in"
    if (
        follow(sentence, "what", "place", "be", "it|now")
        or follow(sentence, "what", "place", "it|now", "be")
        or (follow(sentence, "what", "place", "we_have", gap=0))
    ):
        return True
    if follow(sentence, "what", "be", "now", gap=0) and len(sentence) < 5:
        return True
    if technical(sentence) and not holds(sentence, "what", "request"):
        return False
    return _moment_named(sentence) or _holds_at_present(asked, sentence)


def _moment_named(sentence: Tokens) -> bool:
    """Whether the time or date of the present is asked for by a noun: "the current date", "tell me the time"."""
    short = not holds(sentence, "be") and len(sentence) < 8
    for at, token in enumerate(sentence):
        if "place" not in token.classes:
            continue
        start = at
        while has(sentence, start - 1, "now", "article", "the", "adjective") or (
            start and sentence[start - 1].text == "'s"
        ):
            start -= 1
        present = holds(sentence[start:at], "now") or (has(sentence, at + 1, "of") and has(sentence, at + 2, "now"))
        plain = at + 1 < len(sentence) and sentence[at + 1].classes == PLAIN and not sentence[at + 1].capital
        asks = has(sentence, start - 1, "be", "request", "what", "me")
        ends = has(sentence, at + 1, "end", "mark", "here", "polite", "now") or at + 1 == len(sentence)
        if (present and "stamp" in token.classes and not plain) or (
            asks and ends and (holds(sentence[start:at], "the", "adjective") or holds(sentence, "now"))
        ):
            return True
        if (
            start == 0
            and (short or has(sentence, at + 1, "polite"))
            and ends
            and (at > 0 or holds(sentence, "now") or len(sentence) < 5)
        ):
            return True
    return False


def _holds_at_present(asked: Asked, sentence: Tokens) -> bool:
    """Whether it is asked if something holds that the clock or the calendar decides."""
    starts = [0, *(at + 1 for at in range(len(sentence)) if has(sentence, at, "mark", "sign", "and"))]
    start = next((at for at in starts if has(sentence, at, "yes_no", "be", "state")), -1)
    if start < 0 or (has(sentence, start, "state") and holds(sentence, "when", "what")):
        return False
    sentence = sentence[start:]
    moments = "daypart|clock|date|year|weekday|month|feast"
    if follow(sentence[:6], "be|yes_no", "it|now", moments, gap=3):
        return True
    moment = holds(sentence, "daypart", "clock", "date", "year", "weekday", "month", "feast")
    moment = moment or (
        holds(sentence, "now") and any(token.measure == "time" and "unit" in token.classes for token in sentence)
    )
    if moment and holds(sentence, "now", "begun"):
        return True
    if (
        follow(sentence, "be|yes_no", "it", "day")
        or follow(sentence, "be|yes_no", "it", "adjective", "place")
        or (follow(sentence, "be|yes_no", "it", "here") and holds(sentence, "place"))
    ):
        return True
    stated = any(token.classes & {"clock", "date"} for token in asked.moments)
    if stated and holds(sentence, "now"):
        return True
    if holds(sentence, "open") and holds(sentence, "now") and not technical(sentence):
        return True
    return holds(sentence, "state") and stated


def _dated(task: Tokens) -> bool:
    """Whether a text that is asked for has to bear the present date or time."""
    if holds(task, "software"):
        return False
    stamps = [at for at, token in enumerate(task) if "stamp" in token.classes]
    return follow(task, "dated", "now") or any(
        (has(task, at - 1, "now") or has(task, at - 2, "now"))
        and not (at + 1 < len(task) and task[at + 1].classes == PLAIN)
        for at in stamps
    )


def from_now(asked: Asked) -> bool:
    """Whether a moment, a span or an age counted from the present is asked."""
    if asked.told_now or len(asked.moments) > 1 or follow(asked.every, "operand", "until", "clock|date|year", gap=0):
        return False
    span = any(map(span_asked, asked.sentences))
    if (
        span
        and asked.moments
        and (
            holds(asked.every, "until", "since", "left", "ago", "been", "born")
            or follow(asked.every, "have", "it|refers", gap=0)
        )
    ):
        return True
    if asked.moments and any(
        (holds(sentence, "how_many") or span_asked(sentence)) and holds(sentence, "now") for sentence in asked.sentences
    ):
        return True
    return any(_counted_from_now(asked, sentence) for sentence in asked.sentences)


def _counted_from_now(asked: Asked, sentence: Tokens) -> bool:
    spans = any(token.measure == "time" for token in asked.operands) or any(
        has(sentence, at - 1, "article") and has(sentence, at - 2, "within", "ago", "prefix") and is_span_unit(token)
        for at, token in enumerate(sentence)
    )
    span = span_asked(sentence)
    if span and follow(sentence, "until|since", "weekday|month|feast|daypart|now|period", gap=2):
        return True
    if span and follow(sentence, "until|since", "the|own|now", "place|event"):
        return True
    if (
        span
        and holds(sentence, "left")
        and (holds(sentence, "now", "weekday", "period") or follow(sentence, "the", "place"))
    ):
        return True
    if follow(sentence, "into", "period", gap=0) or follow(sentence, "into", "the", "place"):
        return holds(sentence, "quantity", "how_many", "percent") and holds(sentence, "left", "begun", "it")
    if not spans or asked.moments:
        return (
            follow(sentence, "into", "year", gap=0)
            and holds(sentence, "begun", "it")
            and holds(sentence, "quantity", "how_many")
        )
    if follow(sentence, "what|when", "place", gap=2) or follow(sentence[:4], "place", "within", "operand", gap=0):
        return True
    if follow(sentence, "now", "operator", "operand", gap=0) or follow(sentence, "operand|unit", "ago", gap=0):
        return holds(asked.every, "place", "when") or len(sentence) < 6
    return holds(sentence, "when") and (holds(asked.every, "now", "ago") or not has(sentence, 0, "when"))
