"""Whether a question asks for an amount that follows from the numbers it gives."""

from micro_agent.rules.asked import Asked, operates, span_asked, technical
from micro_agent.rules.reading import Tokens, follow, has, holds

_OPERATORS = frozenset({"+", "*", "/", "^", "**", "//", "-", "x"})


def needs_sum(asked: Asked) -> bool:
    """Whether the answer has to be computed from what the question gives."""
    if not (asked.operands or asked.moments or holds(asked.every, "label")):
        return False
    if any(
        _expression(sentence) or _worded(sentence) or _converted(sentence, asked.operands)
        for sentence in asked.sentences
    ):
        return True
    return _amount(asked) or _compared(asked) or _moments_apart(asked)


def _expression(sentence: Tokens) -> bool:
    """Whether there are numbers with a sign between them, or nothing but one number written with a sign in it."""
    bare = [token for token in sentence if token.text not in ("(", ")", "=")]
    for at, token in enumerate(bare):
        if "function" in token.classes or (token.text == "!" and has(bare, at - 1, "operand")):
            return True
        if (
            token.text in _OPERATORS
            and has(bare, at - 1, "operand")
            and has(bare, at + 1 + has(bare, at + 1, "sign"), "operand")
        ):
            spaced = bare[at - 1].end < token.start
            if token.text != "-" or spaced == (token.end < bare[at + 1].start):
                return True
    rest = [token for token in bare if not token.classes & {"what", "be", "how_many", "operate", "end", "mark"}]
    signs = {character for token in rest for character in token.text if not character.isdigit()}
    return bool(rest) and all(token.text[0].isdigit() or token.text == "x" for token in rest) and signs in _ONE_SIGN


_ONE_SIGN = ({"-"}, {"/"}, {"x"}, {"e", "/"})


def _worded(sentence: Tokens) -> bool:
    """Whether an operation is named beside what it is done with: "12 plus 5", "18% of 250", "the square root of 2"."""
    for at, token in enumerate(sentence):
        if "operand" in token.classes:
            to = next((to for to in range(at + 1, at + 8) if has(sentence, to, "operand", "ordinal")), 0)
            between = sentence[at + 1 : to]
            share = token.classes & {"percent", "part"} or "/" in token.text
            fraction = "/" in token.text and has(sentence, 0, "operate")
            if (
                fraction
                or holds(between, "operator")
                or (share and has(between, 0, "of"))
                or has(sentence, at + 1, "suffix")
            ):
                return True
        elif "difference" in token.classes and has(sentence, at + 1, "operand"):
            return has(sentence, at + 1, "measured") or has(sentence, at + 2, "and")
        elif "prefix" in token.classes and (has(sentence, at + 1, "operand") or has(sentence, at + 2, "operand")):
            return True
    return False


def _converted(sentence: Tokens, numbers: Tokens) -> bool:
    """Whether a number with a unit is asked for in another unit of what it measures, or in another form."""
    if not numbers:
        return False
    bare = [
        (at, token)
        for at, token in enumerate(sentence)
        if "unit" in token.classes
        and (len(token.text) > 1 or has(sentence, at - 1, "convert_to") or has(sentence, at + 1, "convert_to"))
    ]
    for at, unit in bare:
        if (
            has(sentence, at + 1, "asks")
            or has(sentence, at - 1, "convert_to", "how_many")
            or has(sentence, at - 2, "convert")
            or follow(sentence[at:], "unit", "convert_to", "unit", gap=0)
        ):
            others = [*numbers, *(other for _, other in bare)]
            if any(other.measure == unit.measure and other.text != unit.text for other in others):
                return True
    return follow(sentence, "convert_to", "form")


def _wants_amount(asked: Asked, sentence: Tokens) -> bool:
    if operates(sentence):
        return True
    if has(sentence, 0, "operate") and len(sentence) > 2:
        sentence = sentence[1:]
    start = has(sentence, 0, "article", "the")
    own = sum("operand" in token.classes for token in sentence)
    if any(has(sentence, at, "quantity", "prefix", "formula") for at in (0, start)) or (
        has(sentence, 0, "operand")
        and own > 1
        and any("measured" in token.classes or "." in token.text for token in sentence)
    ):
        stated = technical(sentence) or holds(sentence, "be")
        if not stated or holds(sentence, "asks", "what"):
            return True
    if holds(sentence, "asks") and (has(sentence, len(sentence) - 2, "unit") or (len(sentence) == 2 and not own)):
        return True
    if own and follow(sentence, "what", "be", "operand", gap=0):
        return True
    if has(sentence, 0, "yes_no", "be") and own > 2:
        return not technical(sentence)
    if own > 1 and holds(sentence, "if") and holds(sentence, "what", "how_many"):
        return not technical(sentence)
    if holds(sentence, "what", "asks") and ((own > 1 and holds(sentence, "calculate")) or _share_of_another(asked)):
        return not technical(sentence) and not holds(sentence, "who")
    if not holds(sentence, "how_many", "quantity", "prefix", "formula", "operator"):
        fragment = (
            holds(sentence, "asks")
            and not holds(sentence, "what", "who", "explain")
            and not has(sentence, 0, "yes_no", "be")
        )
        return fragment and (own > 1 or ((own > 0 or len(sentence) < 5) and _shares_word(asked, sentence)))
    return holds(sentence, "how_many", "what", "asks") or (sentence == asked.sentences[-1] and not technical(sentence))


def _share_of_another(asked: Asked) -> bool:
    """Whether a percentage is given and something else that it can be taken of."""
    shares = sum("percent" in token.classes for token in asked.operands)
    spans = sum(token.measure in ("time", "temperature") for token in asked.operands)
    return 0 < shares < len(asked.operands) - spans


def _amount(asked: Asked) -> bool:
    """Whether an amount is asked that follows from two numbers or more, before or after the request."""
    clocks = sum("clock" in token.classes for token in asked.moments)
    unasked = not holds(asked.every, "asks", "what", "how_many", "yes_no", "request", "code", "software")
    if unasked and (_share_of_another(asked) or sum("." in token.text for token in asked.operands) > 2):
        return True
    for sentence in asked.sentences:
        if not _wants_amount(asked, sentence):
            continue
        own = sum("operand" in token.classes for token in sentence)
        if (own or clocks) and holds(sentence, "formula"):
            return True
        if asked.operands and len(_rates(asked.every)) > 1 and holds(sentence, "how_many", "what"):
            return True
        if len(asked.operands) + clocks > 1 and (own or _refers_back(asked, sentence)):
            return True
    return False


def _rates(tokens: Tokens) -> set[str]:
    """The units that something is counted per: "per minute", "a day", "req/s"."""
    return {
        token.text
        for at, token in enumerate(tokens)
        if "unit" in token.classes and (has(tokens, at - 1, "article", "per") or (at and tokens[at - 1].text == "/"))
    }


def _refers_back(asked: Asked, request: Tokens) -> bool:
    """Whether a request is about what the other sentences tell: by a pronoun, or a word of theirs."""
    return holds(request, "refers") or len(request) < 6 or _shares_word(asked, request)


def _shares_word(asked: Asked, request: Tokens) -> bool:
    told = {
        token.text[:4]
        for sentence in asked.sentences
        if sentence is not request
        for token in sentence
        if len(token.text) > 2
    }
    return any(token.text[:4] in told for token in request)


def _compared(asked: Asked) -> bool:
    """Whether the numbers given are to be compared, and that takes more than looking at them."""
    if len(asked.operands) < 2 or not any(
        holds(s, "compare") and holds(s, "what", "yes_no", "asks") for s in asked.sentences
    ):
        return False
    simple = all(
        token.text.replace(" ", "").isalnum() and token.classes.isdisjoint({"measured", "part"})
        for token in asked.operands
    )
    return len(asked.operands) > 2 or not simple


def _moments_apart(asked: Asked) -> bool:
    """Whether a sum on moments is asked that the question states itself, so that the present does not matter."""
    spans = [token for token in asked.operands if token.measure == "time"]
    if len(asked.moments) > 1 and any(map(span_asked, asked.sentences)):
        return True
    if asked.moments and asked.operands and holds(asked.every, "born") and follow(asked.every, "what", "place", gap=0):
        return True
    if follow(asked.every, "what", "day_asked", gap=0):
        return False
    return bool(asked.moments and spans) and holds(asked.every, "when", "what", "place")
