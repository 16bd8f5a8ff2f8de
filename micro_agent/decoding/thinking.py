"""What a model thinks aloud, set aside: never the decision, never part of the answer."""

import re

from micro_agent.decoding.repair import Unreadable, exact
from micro_agent.decoding.scanner import Piece, pieces

# Between backticks an answer speaks about the tag; that form is matched first and names no group.
_NAME = r"(?:think|thinking|reasoning)\s{0,9}>"
_TAG = re.compile(rf"`</?{_NAME}`|<(?P<slash>/?)(?P<name>{_NAME})", re.IGNORECASE)


def without_thinking(text: str) -> str:
    """``text`` without ``<think>…</think>`` (also ``<thinking>``, ``<reasoning>``), trimmed.

    Without a closing tag everything after the opening one is thought, without an opening tag everything before the
    closing one. A tag inside a string of a JSON object is data.
    """
    kept: list[str] = []
    at, inside, paired = 0, False, False
    end = len(text.rstrip())
    for tag in _tags(text):
        if not tag["slash"]:
            if not inside:
                kept.append(text[at : tag.start()])
            inside = True
            continue
        if not inside:
            if paired and tag.end() >= end:
                kept.append(text[at : tag.start()])  # a closing tag too many at the very end closes nothing
            else:
                kept.clear()
        at, inside, paired = tag.end(), False, True
    if not inside:
        kept.append(text[at:])
    return "".join(kept).strip()


def _tags(text: str) -> list[re.Match[str]]:
    """The tags that are not inside a readable JSON object or list."""
    tags = [tag for tag in _TAG.finditer(text) if tag["name"]]
    data = [piece for piece in pieces(text) if piece.closed and _holds_data(piece)] if tags else []
    outside: list[re.Match[str]] = []
    for tag in tags:
        while data and data[0].end <= tag.start():
            data.pop(0)
        if not data or tag.start() < data[0].start:
            outside.append(tag)
    return outside


def _holds_data(piece: Piece) -> bool:
    if _TAG.search(piece.text) is None:
        return False
    try:
        exact(piece.text)
    except Unreadable:
        return False
    return True
