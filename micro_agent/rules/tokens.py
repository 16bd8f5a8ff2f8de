"""A question cut into tokens, and what to look for among them: words, numbers, moments, code and what is quoted."""

import re
from typing import NamedTuple

from micro_agent.rules.words import Words

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
        |\#[A-Z][A-Z/\d]*[!?]|[=!<>]=+|&&|\|\||=>|\+\+|[-+*/]=|::|[{}\[\]]|\b[a-zA-Z]\+\+)
    |(?P<date>\d{4}-\d\d?-\d\d?(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?|\d\d?/(?:19|20)\d\d\b
        |\d{1,2}(?P<dot>[./])\d{1,2}(?P=dot)(?:\d{4}|\d\d)(?![\d./]))
    |(?P<clock>(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?(?![.:]?\d)
        (?:\ ?[apAP](?:[mM]\b|\.[mM]\b(?:\.(?!\s+[A-Z]|\s*\Z))?))?
        |\d{1,2}(?:[.:]\d\d)?\ ?[apAP](?:[mM]\b|\.[mM]\b(?:\.(?!\s+[A-Z]|\s*\Z))?))
    |(?P<function>(?:sqrt|cbrt|log(?:2|10)?|ln|exp|sin|cos|tan|abs|round|min|max|pow|factorial)(?=\()|sqrt(?=\ \d))
    |(?P<label>\d+(?:\.\d+){2,}\w*|\d+(?:-\d+)+(?![.\d])|[^\W\d_]+-?\d[\w.-]*\b|\#\d+|\d{16,}|\+\d\d?\ \d+
        |\d+[a-zA-Z]-\d+)
    |(?P<number>0[xb][\da-fA-F]+\b|\d+(?:[.,]\d+)*(?:e[+-]?\d+\b)?(?:[:/]\d+(?:[.,]\d+)*)*)
    |(?P<word>'[a-zA-Z]{1,2}\b|(?:\b[a-zA-Z]\.){2,}|[^\W\d_]+(?:'(?!(?i:s|re|m|ll|ve|d)\b)[^\W\d_]+)?)
    |(?P<sign>->|=\s?\?(?=\s?[a-z°$€£])|\*\*|//|[-+*/^=%!()$€£¥°"'@])
    |(?P<end>(?:[.?!;\n]\s*)+)|(?P<mark>[,:])
    """,
    re.VERBOSE | re.DOTALL,
)
PLAIN = frozenset({"word"})
"""The classes of a word that the language file does not have."""
_BARE = re.compile(r"[\d\s+\-*/^().,%!=]+")


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


def pieces_of(text: str, words: Words) -> Tokens:
    """The text cut up, each piece with its kind; what is quoted and is a bare expression is read as if it were not."""
    text = _FEET.sub(r"\1 feet \2 inches ", text.translate(_TYPOGRAPHY))
    pieces: Tokens = []
    shouting = text.isupper()
    for match in _TOKEN.finditer(text):
        kind, piece = str(match.lastgroup), match[0]
        if kind == "quoted" and _BARE.fullmatch(piece[1:-1]):
            pieces += pieces_of(piece[1:-1], words)
        elif kind == "word" or (kind in ("code", "label") and piece.lower() in words.units):
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


def has(tokens: Tokens, at: int, *classes: str) -> bool:
    """Whether there is a token with one of the classes at this place."""
    return 0 <= at < len(tokens) and not tokens[at].classes.isdisjoint(classes)


def holds(tokens: Tokens, *classes: str) -> bool:
    """Whether any token has one of the classes."""
    return any(not token.classes.isdisjoint(classes) for token in tokens)
