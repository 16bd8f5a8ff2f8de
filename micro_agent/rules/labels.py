"""Numbers that only name something: lines, versions, ports, "Windows 95", "4x4", and the years of events."""

import re

from micro_agent.rules.tokens import PLAIN, Tokens, has

A_YEAR = re.compile(r"1\d\d\d|2[01]\d\d")
_OFTEN_A_YEAR = re.compile(r"(?:18|19|20)(?!00)\d\d|2000")
_SIGNS = frozenset({"+", "-", "*", "/", "^", "**", "//", "x", "%"})


def without_labels(tokens: Tokens) -> Tokens:
    """Numbers that only name something, such as lines and versions, become labels, and years of events become years."""
    told: Tokens = []
    listing = False
    for at, token in enumerate(tokens):
        if "operand" in token.classes:
            listing = _labels(tokens, at) or (listing and has(tokens, at - 1, "mark", "and", "sign"))
            kind = "label" if listing else "year" if _is_year(tokens, at) else ""
            told.append(token._replace(classes=frozenset({kind})) if kind else token)
        else:
            listing = listing and has(tokens, at, "mark", "and", "sign")
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
    return (
        (inside and "quantity" not in before.classes) or (before.capital and before.classes == PLAIN)
    ) and token.text.replace(".", "").isdigit()


def _is_year(tokens: Tokens, at: int) -> bool:
    text = tokens[at].text
    if len(text) == 2 and text.isdigit() and has(tokens, at - 1, "year_of") and has(tokens, at - 2, "born"):
        return True
    if not A_YEAR.fullmatch(text) or has(tokens, at + 1, "unit", "percent", "operator", "of", "scale"):
        return False
    if _signed(tokens, at - 1) or _signed(tokens, at + 1) or has(tokens, at - 1, "prefix", "operator"):
        return False
    if has(tokens, at - 1, "year_of", "it", "born"):
        return True
    alone = at + 1 == len(tokens) or has(tokens, at + 1, "end", "mark", "be", "and", "now", "until", "begun")
    return alone and _OFTEN_A_YEAR.fullmatch(text) is not None


def _signed(tokens: Tokens, at: int) -> bool:
    return 0 <= at < len(tokens) and tokens[at].text in _SIGNS
