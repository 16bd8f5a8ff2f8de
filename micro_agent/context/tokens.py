"""How many tokens a text takes, estimated on the safe side, without any model's vocabulary.

The text is counted by classes of bytes, each with the tokens that a byte of it costs. The costs were fitted to the
vocabularies of Llama 3, Qwen 2.5, gpt-oss, Mistral (v1, the family of Llama 2 and Phi 3, and Tekken), each on prose in
sixteen languages, code, JSON, tables, logs, digits, base64, hex, emoji: docs/context.md has the figures. Ordinary
text comes out 1.2 to 1.7 times too long, and nothing but strings of random words or rare signs too short.
"""

_LOWER = bytes(range(ord("a"), ord("z") + 1))
_UPPER = bytes(range(ord("A"), ord("Z") + 1))
_DIGITS = bytes(range(ord("0"), ord("9") + 1))
_PUNCTUATION = bytes(byte for byte in range(33, 127) if not chr(byte).isalnum())
_ASCII = (_LOWER, b" ", _UPPER, _DIGITS, _PUNCTUATION)

_BEYOND = (
    # Bytes that begin a character in UTF-8, and the tokens of such a character.
    (bytes(range(0xC2, 0xCA)), 1.75),  # Latin letters with accents, which break words up
    (bytes(range(0xCA, 0xD0)), 1.25),  # phonetic signs, Greek
    (bytes(range(0xD0, 0xD5)), 0.8),  # Cyrillic
    (bytes(range(0xD5, 0xE0)), 1.25),  # Armenian, Hebrew, Arabic
    (b"\xe2", 3.0),  # signs, arrows, boxes
    (bytes(byte for byte in range(0xE0, 0xF0) if byte != 0xE2), 1.9),  # Chinese, Japanese, Korean, Thai, Hindi
    (bytes(range(0xF0, 0xF5)), 4.0),  # emoji: a token a byte
)
_LETTERS_OF_A_WORD = 8
"""A text with more letters than that for each sign between them is not prose: base64, say. Its letters cost more."""


def estimate(text: str) -> int:
    """Tokens of ``text``, at least 1."""
    rest, counts = text.encode("utf-8", "replace"), list[int]()
    for kind in _ASCII:
        left = rest.translate(None, kind)
        counts.append(len(rest) - len(left))
        rest = left
    lower, spaces, upper, digits, punctuation = counts
    beyond, breaks = (0.0, len(rest)) if text.isascii() else _beyond(rest)
    letters = lower + upper
    words = lower * (0.35 + 0.55 * digits / (digits + lower + 1)) + upper * 0.8
    words += 0.33 * max(0, letters - _LETTERS_OF_A_WORD * (spaces + punctuation + breaks))
    words = max(words, min(letters, spaces + breaks))  # letters that stand alone
    return int(beyond + words + 0.12 * spaces + 1.04 * digits + 0.95 * punctuation + breaks) + 1


def _beyond(rest: bytes) -> tuple[float, int]:
    """The tokens of what is not ASCII, and how many line feeds, tabs and other controls there are beside it."""
    cost = 0.0
    rest = rest.translate(None, bytes(range(0x80, 0xC0)))  # all bytes of a character but the first
    for first, tokens in _BEYOND:
        left = rest.translate(None, first)
        cost += tokens * (len(rest) - len(left))
        rest = left
    return cost, len(rest)
