"""Which of `calculator` and `now` a question cannot be answered without.

The question is read as sentences of words by class (`reading`, `words`); what it asks for (`asked`) decides: an amount
that follows from the numbers given (`asked_amount`), the present moment, or what is counted from it (`asked_moment`).
"""

from micro_agent.rules.asked import asked_of
from micro_agent.rules.asked_amount import needs_sum
from micro_agent.rules.asked_moment import asks_clock, from_now
from micro_agent.rules.reading import has, read
from micro_agent.rules.words import Words, words

CALCULATOR, NOW = "calculator", "now"


def implied(question: str, language: Words | None = None) -> frozenset[str]:
    """Name the tools that the question implies: ``calculator``, ``now``, both or none.

    Pure, never raises, and bounded in time whatever the length: of a long question the two ends are read.

    Args:
        question: As it was asked.
        language: The words to read it with; ``None`` is English.
    """
    asked = asked_of(question, language or words())
    if from_now(asked):
        return frozenset({CALCULATOR, NOW})
    if asks_clock(asked):
        return frozenset({CALCULATOR, NOW} if needs_sum(asked) else {NOW})
    if needs_sum(asked):
        return frozenset({CALCULATOR})
    return frozenset()


def counts_from_now(question: str, language: Words | None = None) -> bool:
    """Whether what is asked is one value that is counted from the present: "days until Christmas", "in 45 minutes"."""
    return from_now(asked_of(question, language or words()))


def asks_weekday(question: str, language: Words | None = None) -> bool:
    """Whether the question asks which day of the week it is, so that its name is an answer."""
    return any(
        has(sentence, at, "weekday", "day_asked") and not (at + 1 < len(sentence) and sentence[at + 1].text == "'s")
        for sentence in read(question, language or words())
        for at in range(len(sentence))
    )
