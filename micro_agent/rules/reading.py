"""A question as sentences of tokens: words by class, numbers that can be computed with, moments, and what is set aside.

Numbers that only name something (versions, lines, ports, scores) are labels; text in quotes and code is one token.
"""

import re
from typing import NamedTuple

from micro_agent.attached import own_words
from micro_agent.rules.words import Words

# A longer question is a document with a request before or after it; its two ends are read.
_END = 3000

_TYPOGRAPHY = str.maketrans({
    "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "’": "'", "‘": "'", "−": "-", "–": "-", "‑": "-", "—": " - ",
    "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "⁄": "/", "²": "^2", "³": "^3", "½": " 1/2", "¼": " 1/4",
    "¾": " 3/4", "？": "?", "¿": " ", "√": "sqrt ", "→": "->",
})  # fmt: skip
_FEET = re.compile(r"(?<![\w'.])(\d)'\s?(\d\d?)(?:\"|''|\b)")
_TOKEN = re.compile(
    r"""
    (?P<quoted>```.*?(?:```|\Z)|`[^`\n]{0,300}`|"[^"]{0,400}"|(?<!\w)'[^'\n]{1,200}'(?!\w))
    |(?P<code>[a-z]{2,9}://\S+|[\w.+-]{1,64}@[\w-]{1,64}\.\w[\w.]{0,64}|(?<!\S)\.{0,2}/[a-zA-Z_][\w./-]*
        |(?<![\w.])[a-zA-Z][\w-]{1,40}(?:[./][\w-]{1,40}){0,9}\.[a-zA-Z]{2,5}(?![\w.]*\w)(?:\([^()\n]{0,80}\))?
        |(?<![\w.])(?!(?:sqrt|cbrt|log(?:2|10)?|ln|exp|sin|cos|tan|abs|round|min|max|pow|factorial)\(\s?[\d(])
            [a-zA-Z]\w{1,40}(?:\.\w{1,40}){0,5}\([^()\n]{0,80}\)
        |(?<!\w)[^\W_]*_\w+|(?<![\w-])--?[a-z][\w-]+|\b[a-z]+[A-Z]\w*
        |\b(?=[0-9]{0,40}[a-f])(?=[a-f]{0,40}[0-9])[0-9a-f]{7,40}\b
        |[=!<>]=+|&&|\|\||=>|\+\+|[-+*/]=|::|[{}\[\]]|\b[a-zA-Z]\+\+)
    |(?P<date>\d{4}-\d\d?-\d\d?(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?|\d\d?/(?:19|20)\d\d\b
        |\d{1,2}(?P<dot>[./])\d{1,2}(?P=dot)(?:\d{4}|\d\d)(?![\d./]))
    |(?P<clock>(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?(?![.:]?\d)(?:\ ?[ap]\.?m\b\.?)?
        |\d{1,2}(?:[.:]\d\d)?\ ?[ap]\.?m\b\.?)
    |(?P<function>(?:sqrt|cbrt|log(?:2|10)?|ln|exp|sin|cos|tan|abs|round|min|max|pow|factorial)(?=\()|sqrt(?=\ \d))
    |(?P<label>\d+(?:\.\d+){2,}\w*|\d+(?:-\d+)+(?![.\d])|[^\W\d_]+-?\d[\w.-]*\b|\#\d+|\d{16,}|\+\d\d?\ \d+
        |\d+[a-zA-Z]-\d+)
    |(?P<number>0[xb][\da-fA-F]+\b|\d+(?:[.,]\d+)*(?:e[+-]?\d+\b)?(?:[:/]\d+(?:[.,]\d+)*)*)
    |(?P<word>'[a-zA-Z]{1,2}\b|(?:\b[a-zA-Z]\.){2,}|[^\W\d_]+(?:'(?!(?i:s|re|m|ll|ve|d)\b)[^\W\d_]+)?)
    |(?P<sign>->|=\s?\?(?=\s?[a-z°$€£])|\*\*|//|[-+*/^=%!()$€£¥°"'])
    |(?P<end>(?:[.?!;\n]\s*)+)|(?P<mark>[,:])
    """,
    re.VERBOSE | re.DOTALL,
)
PLAIN = frozenset({"word"})
"""The classes of a word that the language file does not have."""
_BARE = re.compile(r"[\d\s+\-*/^().,%!=]+")
_A_YEAR = re.compile(r"1\d\d\d|2[01]\d\d")
_OFTEN_A_YEAR = re.compile(r"(?:18|19|20)(?!00)\d\d|2000")
_SIGNS = frozenset({"+", "-", "*", "/", "^", "**", "//", "x", "%"})


class Token(NamedTuple):
    """A piece of a sentence."""

    text: str
    classes: frozenset[str]
    start: int
    end: int
    measure: str = ""
    """What a unit, or a number with a unit, measures."""
    capital: bool = False
    """Whether it begins with a capital letter."""


Tokens = list[Token]


def read(question: str, words: Words) -> list[Tokens]:
    """The sentences of a question, without what is attached to it; of a long one those of its two ends. Linear."""
    question = own_words(question)
    text = question if len(question) <= 2 * _END else f"{question[:_END]}\n{question[-_END:]}"
    text = _FEET.sub(r"\1 feet \2 inches ", text.translate(_TYPOGRAPHY))
    sentences: list[Tokens] = [[]]
    for token in _with_units(_without_labels(_with_dates(_with_numbers(_classified(_pieces(text, words), words))))):
        sentences[-1].append(token)
        if "end" in token.classes:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


def has(tokens: Tokens, at: int, *classes: str) -> bool:
    """Whether there is a token with one of the classes at this place."""
    return 0 <= at < len(tokens) and not tokens[at].classes.isdisjoint(classes)


def holds(tokens: Tokens, *classes: str) -> bool:
    """Whether any token has one of the classes."""
    return any(not token.classes.isdisjoint(classes) for token in tokens)


def place_of(tokens: Tokens, *classes: str) -> int:
    """Where the first token of one of the classes is; -1 if there is none."""
    return next((at for at, token in enumerate(tokens) if not token.classes.isdisjoint(classes)), -1)


def follow(tokens: Tokens, *steps: str, gap: int = 1) -> bool:
    """Whether tokens of these classes follow each other with at most ``gap`` others between; ``a|b`` is either."""
    first, *rest = (step.split("|") for step in steps)
    for start in range(len(tokens)):
        at = start if has(tokens, start, *first) else -1
        for classes in rest:
            at = next((to for to in range(at + 1, at + 2 + gap) if has(tokens, to, *classes)), -1) if at >= 0 else -1
        if at >= 0:
            return True
    return False


def _pieces(text: str, words: Words) -> Tokens:
    """The text cut up, each piece with its kind; what is quoted and is a bare expression is read as if it were not."""
    pieces: Tokens = []
    shouting = text.isupper()
    for match in _TOKEN.finditer(text):
        kind, piece = str(match.lastgroup), match[0]
        if kind == "quoted" and _BARE.fullmatch(piece[1:-1]):
            pieces += _pieces(piece[1:-1], words)
        elif kind == "word" or (kind == "code" and piece.lower() in words.units):
            for word in words.mended(piece.lower()).split():
                pieces.append(
                    Token(
                        word,
                        frozenset({"word"}),
                        match.start(),
                        match.end(),
                        capital=piece[0].isupper() and not shouting,
                    )
                )
        else:
            kinds = {kind, "asks"} if kind == "end" and "?" in piece else {kind}
            pieces.append(Token(piece, frozenset(kinds), match.start(), match.end()))
    return pieces


def _classified(pieces: Tokens, words: Words) -> Tokens:
    """The pieces with the classes of their words; a known phrase becomes one token."""
    texts = [piece.text for piece in pieces]
    tokens: Tokens = []
    at = 0
    while at < len(pieces):
        piece, length = pieces[at], 1
        classes = piece.classes
        if not classes & {"quoted", "code", "end"}:
            length, known = words.at(texts, at)
            classes |= known
        if "number" in piece.classes:
            classes = frozenset({"operand"})
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
        alone = has(tokens, at - 1, "article") and (has(tokens, at + 1, "end", "mark", "to") or at + 1 == len(tokens))
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
        elif has(tokens, at, "operand") and has(tokens, at + 1, "hour_mark"):
            token = token._replace(classes=frozenset({"clock"}), end=tokens[at + 1].end)
            at += 1
        elif token.classes & {"month", "maybe_month"}:
            day = len(dated) - 1 - has(dated, len(dated) - 1, "of")
            before = has(dated, day, "ordinal") or (has(dated, day, "operand") and dated[day].text in _DAYS)
            if before:
                token = token._replace(start=dated[day].start)
                del dated[day:]
            end = at + 1
            if not before and has(tokens, end, "operand", "ordinal") and tokens[end].text in _DAYS:
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


def _without_labels(tokens: Tokens) -> Tokens:
    """Numbers that only name something, such as lines and versions, become labels, and years of events become years."""
    told: Tokens = []
    listing = False
    for at, token in enumerate(tokens):
        if "operand" in token.classes:
            listing = _labels(tokens, at) or (listing and has(tokens, at - 1, "mark", "and", "to", "sign"))
            kind = "label" if listing else "year" if _is_year(tokens, at) else ""
            told.append(token._replace(classes=frozenset({kind})) if kind else token)
        else:
            listing = listing and has(tokens, at, "mark", "and", "to", "sign")
            told.append(token)
    return told


def _labels(tokens: Tokens, at: int) -> bool:
    """Whether what stands around a number makes it a name: "line 42", "Windows 95", "2FA", "4x4"."""
    before, token = (tokens[at - 1] if at else None), tokens[at]
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    glued = after is not None and after.start == token.end and "word" in after.classes
    if after is not None and after.text == "x" and glued:
        grid = has(tokens, at + 2, "operand") and tokens[at + 2].start == after.end
        return grid and not has(tokens, at + 3, "unit")
    if glued and after is not None and not after.classes & {"unit", "scale", "percent"}:
        return True
    if before is None or has(tokens, at + 1, "unit", "percent"):
        return False
    if before.classes & {"label", "code"}:
        return True
    inside = before.capital and at > 1 and "end" not in tokens[at - 2].classes
    return (inside or (before.capital and before.classes == PLAIN)) and token.text.replace(".", "").isdigit()


def _is_year(tokens: Tokens, at: int) -> bool:
    text = tokens[at].text
    if not _A_YEAR.fullmatch(text) or has(tokens, at + 1, "unit", "percent", "operator", "of", "scale"):
        return False
    if _signed(tokens, at - 1) or _signed(tokens, at + 1) or has(tokens, at - 1, "prefix", "operator"):
        return False
    if has(tokens, at - 1, "year_of", "it", "born"):
        return True
    alone = at + 1 == len(tokens) or has(tokens, at + 1, "end", "mark", "be", "and", "to", "now", "who", "until")
    return alone and _OFTEN_A_YEAR.fullmatch(text) is not None


def _signed(tokens: Tokens, at: int) -> bool:
    return 0 <= at < len(tokens) and tokens[at].text in _SIGNS


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
        counted.append(token)
        at += 1
    return counted
