"""Markup that is shown or spoken of, in an answer that explains it: no call was meant, so the text is the answer.

Whoever means a call names a tool. So only markup that names none can be an example, and it is one when it stands in
prose and in a fence, when it holds a placeholder where a call has a name or a value, or when a sentence speaks of it.
"""

import re
from collections.abc import Iterable

_WORD = re.compile(r"\w")
_CLOSING = re.compile(r"</[\w:|]{1,40}>|<[|｜][^<>|｜\n]{1,40}[|｜]>|\[/[A-Z_]{1,30}\]|<\w{1,20}\|>")
_TAG = re.compile(r"</?[^<>\n]{1,80}>|```\w*")
_NAMES = r"(?:(?:function|tool|func|your|example|my|some)[\w -]{0,40}|name)"
_PLACEHOLDER = re.compile(
    rf"""[:{{\[,("'>=]\s?(?:\.{{3}}|…)|\{{\s?[A-Za-z_ ]{{2,30}}\}}|=\s?["']?{_NAMES}["']?>"""
    rf"""|name["']?\s?[:>]\s?["'<]{{0,2}}{_NAMES}["'>]"""
    r"|:\s?<[\w -]{2,40}>",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\s+(?:is|are|was|were|marks?|begins?|starts?|opens?|ends?|means?|wraps?|tokens?|tags?|markers?)\b"
)
_BETWEEN_TAGS = re.compile(
    r"(?>(?:[\s,`'\"]|\b(?:and|or|then|to|the|a|an|your|json|call|calls|goes|here|with|tags?)\b|\.{3}|…)*)"
)
_STRUCTURE = re.compile(r"""[{\[(]\s*+["'{\[]|["']\s*+:""")
_HEADER = re.compile(r"(?:<\|start\|>\s*+assistant\s*+)?(?:<\|channel\|>\s*+\w{1,20}\s*+)?\Z")
_GOES_ON = re.compile(r"[\s,;:)]{0,3}[a-z]")
_DECLARED = re.compile(
    r"\b(?:declar|defin|describ|regist)\w*|\b(?:schema|specification|signature)s?\b|`tools`", re.IGNORECASE
)
_REACH = 300
"""Characters of a sentence that are looked at on either side."""
_HEAD = 2000
"""Characters of markup in which a placeholder is looked for."""


def is_example(text: str, span: tuple[int, int], names: Iterable[str]) -> bool:
    """Whether the markup in ``span``, which cannot be read or names no tool, is an example.

    Args:
        text: The whole reply.
        span: Where the markup is; up to the end of the text where nothing ends it.
        names: The tools.
    """
    shown = text[slice(*span)]
    if any(says(shown, name) for name in names):
        return False
    if is_fenced(text, span) or _is_quoted(text, span):
        return True
    return bool(_PLACEHOLDER.search(shown[:_HEAD])) and _has_prose(text, span)


def is_mention(text: str, mark: re.Match[str], names: Iterable[str]) -> bool:
    """Whether a sentence speaks of the marker ``mark``, with no name of a tool and nothing like arguments behind it."""
    before = text[max(0, mark.start() - _REACH) : mark.start()].rpartition("\n")[2]
    before = _HEADER.sub("", before)
    after = text[mark.end() : mark.end() + _REACH].partition("\n")[0]
    if any(says(after, name) for name in names) or _STRUCTURE.search(after):
        return False
    if _ABOUT.match(after):
        return True
    closing = re.search(r"</", after)
    inside, rest = (after[: closing.start()], after[closing.end() :]) if closing else ("", after)
    goes_on = re.search(r"\A[^<]?[.,;:!?)]|\s\w", rest)
    return bool(_BETWEEN_TAGS.fullmatch(inside) and _WORD.search(_TAG.sub("", before)) and goes_on)


def says(text: str, name: str) -> bool:
    """Whether ``name`` is a word of ``text``."""
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _is_quoted(text: str, span: tuple[int, int]) -> bool:
    """Whether what is in ``span`` stands in inline code that the words of one sentence go around."""
    before = text[text.rfind("\n", 0, span[0]) + 1 : span[0]]
    after = text[span[1] :].partition("\n")[0]
    quoted = before.count("`") % 2 == 1 and "`" in after
    return quoted and bool(_WORD.search(before) and _GOES_ON.match(after, after.index("`") + 1))


def declares(text: str, start: int) -> bool:
    """Whether the text before ``start`` says that a tool is declared there."""
    return _DECLARED.search(text[max(0, start - _REACH) : start]) is not None


def is_fenced(text: str, span: tuple[int, int]) -> bool:
    """Whether what is in ``span`` stands in a code fence that has prose before and after it."""
    before, after = text[: span[0]], text[span[1] :]
    if before.count("```") % 2 == 0 or "```" not in after:
        return False
    opening, closing = before.rindex("```"), after.index("```") + 3
    return bool(_WORD.search(before[:opening]) and _WORD.search(_CLOSING.sub("", after[closing:])))


def _has_prose(text: str, span: tuple[int, int]) -> bool:
    """Whether there are words around the markup, which ends at the end of the fence that it is in."""
    fenced = text.count("```", 0, span[0]) % 2 == 1
    fence = text.find("```", *span) if fenced else -1
    around = f"{text[: span[0]]} {text[fence + 3 if fence >= 0 else span[1] :]}"
    return _WORD.search(_TAG.sub("", _CLOSING.sub("", around))) is not None
