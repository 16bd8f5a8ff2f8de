"""A name and arguments in a form of the model's own: ``--- CALL --- nc://name {…}``, or a name and JSON below it.

A call only when exactly one tool is named, an object that fits its schema follows the name, and no other object
competes. With unknown tools nothing says that a word is a name.
"""

import re

from micro_agent.decoding.decision import Decision, ToolCalls
from micro_agent.decoding.markup.shared import decided
from micro_agent.decoding.prose.examples import says
from micro_agent.decoding.repair.mending import Unreadable, mend
from micro_agent.decoding.scan.scanner import Piece, pieces
from micro_agent.decoding.shapes import Shape, call_shapes
from micro_agent.decoding.source import Source

_REACH = 200
_MAX_TOLD = 4_000
_TOLD = re.compile(r"\[[A-Za-z]{3,12}ing ")
_BEFORE = re.compile(
    r"(?:^|://|<\|assistant\|>|\b(?:call|calling|invoke|invoking|use|using|run|running|execute|executing|tool|function|action)\b)"
    r"[^\w{}\n]{0,12}(?:the[^\w\n]{1,3})?(?P<name>[A-Za-z_][\w.-]{0,63})"
    r"(?:\s?<\|(?:channel|constrain)\|>\s?\w{1,20}){0,2}(?:<\|message\|>)?"
    r"(?:[ ]?\((?:id:?[ ]?)?(?=[\w:-]{0,63}\d)[\w:-]{1,64}\))?"
    r"(?:[^\w{}]{1,8}(?:tool|function|with|and|the|following|arguments?|args|parameters?|params|input|json)){0,8}"
    r"[^\w{}]{0,20}\Z",
    re.IGNORECASE | re.MULTILINE,
)
_NO_WORD = re.compile(r"[\W_\d]")


def read(source: Source) -> Decision | None:
    """The one call that a name and the object behind it are."""
    if not source.offer.tools or source.cut_off:
        return None
    found = [inner for piece in source.data.pieces for inner in _inside(piece)]
    objects = [piece for piece in found if piece.closed and piece.text.startswith("{")]
    if len(objects) != 1 or not all(piece.closed for piece in found):
        return None
    piece = objects[0]
    start = max(0, piece.start - _REACH)
    before = _BEFORE.search(source.text[start : piece.start])
    name = source.offer.resolve(before["name"]) if before else None
    if before is None or name is None or _names_another(source, piece, name):
        return None
    try:
        args, repairs = mend(piece.text, source.offer.allowance, guess=False)
    except Unreadable:
        return None
    if not args or call_shapes(args):
        return None
    span = start + before.start(), piece.end
    decision = decided([Shape(name, args, "explicit")], source, dialect="named", span=span, repairs=repairs)
    return decision if isinstance(decision, ToolCalls) else None


def _inside(piece: Piece) -> list[Piece]:
    """``piece``, or what brackets hold that are none of JSON: ``[Calling tool name with {…}]``."""
    if not piece.closed or len(piece.text) > _MAX_TOLD or not _TOLD.match(piece.text):
        return [piece]
    return [Piece(inner.text, piece.start + 1 + inner.start, inner.missing) for inner in pieces(piece.text[1:-1])]


def _names_another(source: Source, piece: Piece, name: str) -> bool:
    """Whether a second tool is named outside the object; a name that is an ordinary word says nothing."""
    said = source.text[: piece.start] + " " + source.text[piece.end :]
    others = [tool.name for tool in source.offer.tools or () if tool.name != name and _NO_WORD.search(tool.name)]
    return any(says(said, other) for other in others)
