"""A question as sentences of tokens: words by class, numbers that can be computed with, moments, and what is set aside.

Numbers that only name something (versions, lines, ports, scores) are labels; text in quotes and code is one token.
"""

import re

from micro_agent.rules.tokens import Token, Tokens, has, holds, pieces_of
from micro_agent.rules.words import Words
from micro_agent.text.attached import own_words

_A_YEAR = re.compile(r"1\d\d\d|2[01]\d\d")
# A longer question is a document with a request before or after it; its two ends are read.
_END = 3000


def read(question: str, words: Words) -> list[Tokens]:
    """The sentences of a question, without what is attached to it; of a long one those of its two ends. Linear."""
    question = own_words(question)
    text = question if len(question) <= 2 * _END else f"{question[:_END]}\n{question[-_END:]}"
    sentences: list[Tokens] = [[]]
    for token in _with_units(_with_dates(_with_numbers(_classified(pieces_of(text, words), words)))):
        sentences[-1].append(token)
        if "end" in token.classes:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


def _classified(pieces: Tokens, words: Words) -> Tokens:
    """The pieces with the classes of their words; a known phrase becomes one token."""
    texts = [piece.text.lower() for piece in pieces]
    tokens: Tokens = []
    at = 0
    while at < len(pieces):
        piece, length = pieces[at], 1
        classes = piece.classes
        if not classes & {"quoted", "code", "end"}:
            length, known = words.at(texts, at)
            classes |= known
        if "number" in piece.classes:
            classes = frozenset({"operand", "fraction"} if "/" in piece.text else {"operand"})
        elif piece.text == "x" and has(pieces, at - 1, "number") and has(pieces, at + 1, "number"):
            classes = frozenset({"operator"})
        text, end = " ".join(texts[at : at + length]), pieces[at + length - 1].end
        tokens.append(piece._replace(text=text, classes=classes, measure=words.units.get(text, ""), end=end))
        at += length
    return tokens


def _with_numbers(tokens: Tokens) -> Tokens:
    """Numbers in words, such as "two hundred and fifty", "1.2 million" and "three quarters", as one operand."""
    joined: Tokens = []
    at = 0
    while at < len(tokens):
        end = _number_end(tokens, at)
        if end == at or (end == at + 1 and has(tokens, at, "operand")):
            joined.append(tokens[at])
            at += 1
            continue
        classes = {"operand"} | ({"part"} if holds(tokens[at:end], "part") else set[str]())
        if end == at + 1:
            classes |= tokens[at].classes & {"prefix"}
        text = " ".join(token.text for token in tokens[at:end])
        joined.append(Token(text, frozenset(classes), tokens[at].start, tokens[end - 1].end))
        at = end
    return joined


def _number_end(tokens: Tokens, start: int) -> int:
    """Where a number that begins here ends; ``start`` if none does."""
    at = start
    if has(tokens, at, "part"):
        joint = at + 1 + has(tokens, at + 1, "article")
        counted = has(tokens, at + 1, "of") or has(tokens, joint, "unit")
        alone = has(tokens, at - 1, "article") and (has(tokens, at + 1, "end", "mark") or at + 1 == len(tokens))
        return at + 1 if counted or alone else start
    if has(tokens, at, "article") and has(tokens, at + 1, "scale"):
        at += 1
    elif not has(tokens, at, "operand", "number"):
        return start
    at += 1
    while True:
        if has(tokens, at, "scale", "part") or (has(tokens, at, "number") and has(tokens, at - 1, "number", "scale")):
            at += 1
        elif has(tokens, at + 1, "number") and (
            (has(tokens, at, "sign") and has(tokens, at - 1, "number"))
            or (has(tokens, at, "and") and has(tokens, at - 1, "scale"))
        ):
            at += 2
        elif has(tokens, at, "and") and has(tokens, at + 1, "article") and has(tokens, at + 2, "part"):
            at += 3
        else:
            return at


def _with_dates(tokens: Tokens) -> Tokens:
    """Days of a month, such as "3 May 2024" and "the 1st of June", and hours, such as "5 o'clock", as one moment."""
    dated: Tokens = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if has(tokens, at, "operand") and has(tokens, at + 1, "ordinal") and tokens[at + 1].start == token.end:
            token = token._replace(classes=frozenset({"ordinal"}), end=tokens[at + 1].end)
            at += 1
        elif (has(tokens, at, "operand") and has(tokens, at + 1, "hour_mark")) or (
            has(tokens, at, "clock_part") and has(tokens, at + 1, "operand")
        ):
            token = token._replace(classes=frozenset({"clock"}), end=tokens[at + 1].end)
            at += 1
        elif token.classes & {"month", "maybe_month"}:
            day = len(dated) - 1 - has(dated, len(dated) - 1, "of")
            before = has(dated, day, "ordinal") or (has(dated, day, "operand") and dated[day].text in _DAYS)
            if before:
                token = token._replace(start=dated[day].start)
                del dated[day:]
            end = at + 1
            if (
                not before
                and has(tokens, end, "operand", "ordinal")
                and tokens[end].text in _DAYS
                and not has(tokens, end + 1, "unit", "percent")
            ):
                end += 1 + (has(tokens, end + 1, "ordinal") and tokens[end + 1].start == tokens[end].end)
            comma = end + (has(tokens, end, "mark") and end > at)
            if comma < len(tokens) and _A_YEAR.fullmatch(tokens[comma].text):
                end = comma + 1
            if before or end > at + 1:
                token = token._replace(classes=frozenset({"date"}), end=tokens[end - 1].end)
            at = end - 1
        dated.append(token)
        at += 1
    return dated


_DAYS = frozenset(f"{zero}{day}" for day in range(1, 32) for zero in ("", "0"))


def _with_units(tokens: Tokens) -> Tokens:
    """Each number together with its unit or percent sign."""
    counted: Tokens = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        after = at + 1
        while "operand" in token.classes and after < len(tokens) and tokens[after].text in ("-", "°"):
            if tokens[after].text == "-" and tokens[after].start > tokens[after - 1].end:
                break
            after += 1
        after += "part" in token.classes and has(tokens, after, "article")
        if "operand" in token.classes and (has(tokens, after, "percent") or has(tokens, after, "unit")):
            unit = tokens[after]
            kept = {"percent"} & unit.classes
            token = token._replace(
                text=unit.text, classes=token.classes | kept | {"measured"}, measure=unit.measure, end=unit.end
            )
            at = after
        elif (
            "operand" in token.classes and counted and counted[-1].measure == "money" and "unit" in counted[-1].classes
        ):
            token = token._replace(text=counted.pop().text, classes=token.classes | {"measured"}, measure="money")
        elif "operand" in token.classes and has(tokens, after, "article") and not has(tokens, after + 1, "operand"):
            token = token._replace(classes=token.classes | {"measured"})
        counted.append(token)
        at += 1
    return counted
