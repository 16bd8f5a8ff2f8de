"""Which of `calculator` and `now` a question cannot be answered without.

The question is read in three passes. First it is made plain: lower case, one kind of quote, number words as digits, the
commonest misspellings mended. Then what it merely mentions is set aside: quoted text, dates, clock times, identifiers,
and sentences that ask for a text, an explanation or code. The wording of what is left decides. All wording stands in
``required_tools.yaml`` beside this file.
"""

import re
from functools import cache

from micro_agent.rules.wording import found, hit, mended, named, pattern, wording

CALCULATOR, NOW = "calculator", "now"

# An expression and nothing else, with a sign between numbers that stands for no date, fraction, range or phone number.
_EXPRESSION = re.compile(
    r"(?:what is |what's |how much is |calculate |compute )?(?!.*\.\d*\.)[\d\s+\-*/^().,%=?!]+", re.IGNORECASE
)
_OPERATES = re.compile(r"[\d)] ?[*^+] ?\(?-?\d")

# A longer question is a document with a request before or after it; its two ends are read.
_END = 3000

_TYPOGRAPHY = str.maketrans({
    "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "’": "'", "‘": "'", "−": "-", "–": "-", "‑": "-", "—": ", ",
    "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "⁄": "/", "²": "^2", "³": "^3", "√": "sqrt ", "½": " 1/2",
    "¼": " 1/4", "¾": " 3/4", "？": "?", "¿": "",
})  # fmt: skip
_SMALL_NUMBERS = (
    "zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen"
    "|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
)
_SCALES = "hundred|thousand|million|billion"
_NUMBER_WORDS = re.compile(
    rf"\b(?:(?:{_SMALL_NUMBERS})|(?:an?|one)(?= (?:{_SCALES})\b))"
    rf"(?:[ -](?:(?:{_SCALES}) and (?=(?:{_SMALL_NUMBERS})\b)|(?:{_SMALL_NUMBERS}|one|{_SCALES})\b(?!-)))*\b"
    r"|\b(?:half )?(?:a )?dozen\b"
)
_NUMBERED = re.compile(r"\b([a-z]+)\.? ?(?:number |no\.? |#)?\d[\d.]*(?:-\d+)?(?![\w%]|,\d| ?[+*^/=]| -)")
_UNIT_SUFFIX = (
    r"(?:[kcm]?m|kmh|kph|[km]?gs?|[mcd]?l|[hskpwcfmgx]|hrs?|min|ms|mph|lbs?|oz|ft|in|kwh?|[kmgt]i?b|[mg]hz)\b"
)
# A year is not a quantity: 1998 always, 1500 only after "in" and the like.
_QUANTITY = (
    r"[$€£] ?\d[\d,]*|(?<![\w.,:/#])(?<!\w-)(?!(?:1[4-9]|20|21)(?!00)\d\d(?![\d,]))"
    r"(?!(?:(?<=in )|(?<=since )|(?<=from )|(?<=year ))\d{4}\b)"
    rf"\d[\d,]*+(?:/\d+)?(?:%|(?![\w/:])(?!-\d)| ?{_UNIT_SUFFIX}|x(?=\d))"
    r"|\b(?:in|took|takes|of) CLOCK|CLOCK (?:to|until|till|-) CLOCK"
)


def implied(question: str) -> frozenset[str]:
    """Name the tools that the question implies: ``calculator``, ``now``, both or none.

    Pure, never raises, and bounded in time whatever the length: of a long question the two ends are read.
    """
    if len(question) < _END and _EXPRESSION.fullmatch(question) and _OPERATES.search(question):
        return frozenset({CALCULATOR})  # a first answer need not wait for the wording to be compiled
    text = _asked(_plain(question))
    stated = hit("stated_now", text)
    from_now = _from_now(text)
    if from_now and not stated:
        return frozenset({CALCULATOR, NOW})
    clock = hit("clock_asked", text)
    calculator = _arithmetic(text) or (stated and (clock or from_now))
    return frozenset(name for name, wanted in ((CALCULATOR, calculator), (NOW, clock and not stated)) if wanted)


def _arithmetic(text: str) -> bool:
    if not re.search(r"\d|CLOCK|DATE", text):
        return False
    if re.fullmatch(r"[\d\s+\-*/^().,%!=?x$€£e]+", text) and re.search(r"\d\)? ?[-+*/^x%] ?\(?-?\d|\d!", text):
        return True
    return (
        hit("arithmetic", text)
        or hit("conversion", text)
        or _times_stated(text)
        or _figure_asked(text)
        or (found("age_asked", text) and found("birth", text))
    )


def _figure_asked(text: str) -> bool:
    """Whether an amount is asked that follows from two numbers or more, before or after the request."""
    if _quantities(text) < 2 or found("general_fact", text):
        return False
    asked = list(named("amount_asked").finditer(text))
    if not asked:
        return found("compared", text) and found("uneven", text)
    start = max(text.rfind(mark, 0, asked[-1].start() + 1) for mark in ".?!;")
    return _refers_back(text[: start + 1], text[start + 1 :])


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?!;]) +|\n+", text)


def _quantities(text: str) -> int:
    return len(pattern(_QUANTITY).findall(text)) + len(named("size_word").findall(text))


def _refers_back(story: str, request: str) -> bool:
    """Whether the request is about the story before it: by a pronoun, a number or a word of it, or with no new verb."""
    if not re.search(r"\d", story):
        return True
    words = {word[:4] for word in re.findall(r"[a-z]{3,}", story)}
    shared = any(word[:4] in words for word in re.findall(r"[a-z]{3,}", request))
    return shared or found("refers_back", request) or not re.search(r"\b(?:do|does|did|can|should)\b", request)


def _times_stated(text: str) -> bool:
    """Whether a sum on moments is asked that the question states itself, so that the present does not matter."""
    moments, spans = (len(named(name).findall(text)) for name in ("stated_moment", "stated_span"))
    years = len(named("year_stated").findall(text))
    return (
        (moments > 1 and found("distance_asked", text))
        or (moments > 0 and spans > 0 and found("moment_asked", text))
        or (moments + years > 1 and found("years_asked", text))
        or found("old_then", text)
        or (found("year_of_birth", text) and found("year_asked", text))
    )


def _from_now(text: str) -> bool:
    """Whether a moment, a span or an age counted from the present is asked."""
    if found("age_asked", text) and found("birth", text):
        return not (found("age_elsewhen", text) or _times_stated(text))
    if _times_stated(text) and not re.search(r"\b(?:now|today)\b", text):
        return False
    return hit("from_now", text)


def _plain(question: str) -> str:
    """The question in lower case and plain typography, with digits for number words and common misspellings mended."""
    text = question if len(question) <= 2 * _END else f"{question[:_END]}\n{question[-_END:]}"
    text = re.sub(r"[^\S\n]+", " ", text.translate(_TYPOGRAPHY).lower()).strip()
    if mended().keys() & set(re.findall(r"[a-z0-9]+", text)):
        text = re.sub(r"[a-z0-9]+", lambda word: mended().get(word[0], word[0]), text)
    text = re.sub(r"\b(what|it|that|there|who|how|when|where|time)'s\b|\b(what)s\b", r"\1\2 is", text)
    text = re.sub(r"(?<=\d) ?[€£](?! ?\d)", "", text.replace("i'm ", "i am ").replace("we're ", "we are "))
    text = _NUMBER_WORDS.sub("12", text)
    text = re.sub(rf"(?<=\d) (?:{_SCALES}|trillion)\b", "", text)
    text = re.sub(r"\b(\d+) and a (?:half|quarter)\b", r"\1.5", text)
    # A height in feet and inches, and a lap time, are one quantity each.
    text = re.sub(r"(?<![\w'.])(\d)' ?(\d{1,2})\b(?:\"|''|in\b)?", r"\1 feet \2 inches", text)
    text = re.sub(r"\b(\d{1,2}):(\d\d)(?=\.\d)", r"\1\2", text)
    return re.sub(r"\d{16,}", "ID", text)


def _asked(text: str) -> str:
    """What is left of the text when that which is only mentioned is set aside; nothing if it is about code."""
    text = re.sub(r"```.*?(?:```|\Z)", " TEXT ", text, flags=re.DOTALL)
    text = re.sub(r"`([^`\n]{0,300})`|\"([^\"]{0,400})\"|(?<!\w)'([^'\n]{1,200})'(?!\w)", _unquoted, text)
    if hit("code", text):
        return ""
    if re.search(r"\d", text):
        for entry in wording()["mentioned"]:
            if pattern(entry.get("when", "")).search(text):
                text = pattern(entry["where"]).sub(entry["word"], text)
        text = re.sub(_NUMBERED, lambda name: f"{name[1]} ID" if name[1] in _labels() else name[0], text)
    # A decimal point is not the end of a sentence.
    text = re.sub(r"(?<=\d)\.(?=\d)", ",", text)
    return " ".join(_without_tasks(text)).strip()


@cache
def _labels() -> frozenset[str]:
    return frozenset(wording()["labels"].split())


def _unquoted(match: re.Match[str]) -> str:
    inner = next(group for group in match.groups() if group is not None)
    return inner if re.fullmatch(r"[\d\s+\-*/^().,%!=]+", inner) else " TEXT "


def _without_tasks(text: str) -> list[str]:
    """The sentences that are not a task on text or code, and what else such a task asks for in the same breath."""
    kept: list[str] = []
    for sentence in _sentences(text):
        bare = named("polite").sub("", sentence, count=1)
        on_text = named("text_task").match(bare) is not None
        writing = named("writing_task").match(bare) is not None
        if not (on_text or writing or named("explanation").match(bare)):
            kept.append(sentence)
            continue
        if ":" in bare or (on_text and "TEXT" not in bare):
            break
        kept.extend(_other_requests(bare, dated=writing and not found("program", bare)))
    return kept


def _other_requests(task: str, *, dated: bool) -> list[str]:
    """The further clauses that ask for something: "define a prime and calculate 7*13", "a letter with today's date"."""
    joint = r"(?:,|;| and| then| also| but)+ (?=(?:then |also |please )*{another_request})"
    if dated:
        joint += r"|(?: with| including| containing| dated)(?= today's date| the current date)|(?= dated today)"
    return pattern(joint).split(task)[1:]


def counts_from_now(question: str) -> bool:
    """Whether what is asked is one value that is counted from the present: "days until Christmas", "in 45 minutes"."""
    return _from_now(_asked(_plain(question)))


def asks_weekday(question: str) -> bool:
    """Whether the question asks which day of the week it is, so that its name is an answer."""
    return found("weekday_asked", _plain(question))
