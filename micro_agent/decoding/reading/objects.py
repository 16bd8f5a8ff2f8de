"""Calls and final answers written as JSON objects anywhere in the text: alone, fenced, or with prose around them."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, cast

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.keys import ARGUMENTS, NAMES, THOUGHTS, plain
from micro_agent.decoding.page import Page
from micro_agent.decoding.pythonic.positional import python_shape
from micro_agent.decoding.repair.closing import closed
from micro_agent.decoding.repair.mending import Unreadable, exact, mend
from micro_agent.decoding.scan.scanner import Piece, pieces
from micro_agent.decoding.settle import MAX_CALLS
from micro_agent.decoding.shapes import Known, Shape, call_shapes, final_answer

_MAX_OBJECTS, _MAX_SAME = 50, 100
"""So many different objects are looked at, a text with more is a table; behind so many only different ones."""
_HEAD = 2000
_MAX_CODE = 20_000
_OBJECT = re.compile(r"""\{\s*+(?:(?://|\#)[^\n]*+\n\s*+)?(?:["'“‘„”\\}]|[\w.-]+["']?\s*+(?:[:：]|=(?!=)))""")
_LIST = re.compile(r"""\[\s*+(?:(?P<data>[\[{"'“‘`\]\d-])|[\w.]+["'`]?\s*+[(,\]])""")
"""What objects and lists begin like, and braces and brackets of code and of words do not."""
_QUOTE = r"""["'“‘”’„]{0,2}"""
_KEY = re.compile(
    rf"""[{{,\[]\s*+(?:(?://|#)[^\n]*+\n\s*+)?{_QUOTE}(?P<key>[\w .$\\-]{{1,64}}?){_QUOTE}\s*+(?:[:：]|=>?(?!=))"""
    rf"""\s*+{_QUOTE}(?P<value>[\w .:/$\\-]{{0,128}})"""
)
_ALWAYS = frozenset({"tool", "toolname", "toolcall", "toolcalls", "functioncall"})


def read(page: Page) -> Iterator[Claim]:
    """The objects and lists that look like a decision, each different one once, and one that never closes."""
    seen: dict[str, Claim | None] = {}
    for number, piece in enumerate(objects_and_lists(page)):
        if len(seen) == _MAX_OBJECTS:
            return
        if number >= _MAX_SAME and piece.text in seen:
            continue
        listed = _LIST.match(piece.text)
        if piece.closed and (piece.start in page.inside_markup or (listed and not listed["data"])):
            continue  # its reader takes it
        if not piece.closed:
            if _looks_decided(piece, page):
                yield _unclosed(piece, page)
                return  # what follows is inside it
            continue
        if piece.text not in seen:
            seen[piece.text] = _claim(piece, page)
        if (claim := seen[piece.text]) is not None:
            yield replace(claim, start=piece.start, end=max(piece.end, piece.start + claim.end - claim.start))


def objects_and_lists(page: Page) -> Iterator[Piece]:
    """The outermost ones, also in braces of code and in brackets of words."""
    return chain.from_iterable(map(_inside, page.data.pieces))


def _inside(piece: Piece) -> list[Piece]:
    begun = _LIST if piece.text.startswith("[") else _OBJECT
    if not piece.closed or begun.match(piece.text) or len(piece.text) > _MAX_CODE:
        return [piece]
    found = [one._replace(start=piece.start + 1 + one.start) for one in pieces(piece.text[1:-1])]
    return [inner for one in found for inner in _inside(one)] or [piece]


def _claim(piece: Piece, page: Page) -> Claim | None:
    with suppress(Unreadable):
        return _understood(piece, exact(piece.text), page)
    if not _looks_decided(piece, page):
        return None
    if page.cut_off:
        return Claim(piece.start, piece.end, _hint(piece), unfinished=True)
    try:
        value, repairs = mend(piece.text, page.offer.allowance)
    except Unreadable as why:
        return _widened(piece, page) or Claim(piece.start, piece.end, _hint(piece), fault=str(why))
    claim = _understood(piece, value, page)
    if claim is not None:
        claim.repairs = [*repairs, *claim.repairs]
        named = any(page.offer.resolve(shape.name) for shape in claim.shapes)
        if claim.shapes and not named and any(one.kind == "assignments" for one in repairs):
            return None  # code, as often as not
    return claim


def _widened(piece: Piece, page: Page) -> Claim | None:
    """The claim of an object that seems to end too early, since a quote in it is not escaped."""
    end = page.text.rfind("}") + 1
    if end <= piece.end:
        return None
    with suppress(Unreadable):
        value, repairs = mend(page.text[piece.start : end], page.offer.allowance, closing=False)
        claim = _understood(piece, value, page)
        return claim and replace(claim, end=end, repairs=[*repairs, *claim.repairs])
    return None


def _understood(piece: Piece, value: Any, page: Page) -> Claim | None:
    """What a value says; ``None`` where it is data."""
    claim = Claim(piece.start, piece.end, sure=False)
    shapes = call_shapes(value, _known(page))
    if shapes:
        claim.shapes = shapes = [_spelled(shape, page) for shape in shapes]
        claim.sure = any(shape.strength in ("explicit", "named") for shape in shapes)
        claim.answer = final_answer(value) or None
        return claim
    claim.answer = final_answer(value)
    if claim.answer is not None:
        claim.sure = "final" in value
        return claim
    return _mixed(claim, value, page)


def _spelled(shape: Shape, page: Page) -> Shape:
    """The call itself where the name is one in Python's syntax: ``{"action": "f(a=1)"}``."""
    alone = shape.strength in ("bare", "named")
    beside = cast("dict[str, Any]", shape.args) if alone else {"": None}
    if shape.name.endswith(")") and THOUGHTS.issuperset(map(plain, beside)):
        with suppress(Unreadable):
            name, _, said = shape.name.partition("(")
            return python_shape(name, f"({said}", page)
    return shape


def _mixed(claim: Claim, value: Any, page: Page) -> Claim | None:
    """What to say of a list that holds a call of a tool and something else."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    inner = [shape for item in items[:MAX_CALLS] for shape in call_shapes(item) or ()]
    if not any(shape.strength == "explicit" and page.offer.resolve(shape.name) for shape in inner):
        return None
    claim.shapes, claim.fault, claim.sure = inner, "only some items of the list are tool calls", True
    return claim


def _unclosed(piece: Piece, page: Page) -> Claim:
    """An object that the text ends in: closed when only brackets are missing and the tool's schema says it is whole."""
    claim = Claim(piece.start, piece.end, _hint(piece))
    if page.cut_off:
        claim.unfinished = True
        return claim
    try:
        value, repairs = closed(piece, page.offer.allowance)
    except Unreadable as why:
        claim.fault = str(why)
        return claim
    found = _understood(piece, value, page)
    if found is None or (page.offer.tools is None and found.shapes):
        claim.fault = "its closing brackets are missing"
        return claim
    found.repairs = [*repairs, *found.repairs]
    return found


def _known(page: Page) -> Known | None:
    """What tells a tool's name; ``None`` when the tools are not known, since then any name would do."""
    return None if page.offer.tools is None else lambda name: page.offer.resolve(name) is not None


def _looks_decided(piece: Piece, page: Page) -> bool:
    """Whether an object that cannot be read begins like a call or a final answer and not like data."""
    text = (piece.text if piece.closed else piece.text[:_HEAD]).replace("\\_", "_")
    found = [(plain(one["key"].replace("\\", "")), one["value"]) for one in _KEY.finditer(text)]
    keys, names = {key for key, _ in found}, page.plain_names
    if keys & _ALWAYS or (found and found[0][0] in names | {"final", "finalanswer"}):
        return True
    named = [value for key, value in found if key in NAMES and value]
    if any(page.offer.resolve(value) is not None for value in named if page.offer.tools is not None):
        return True
    return bool(named and keys.intersection(ARGUMENTS)) or any(
        page.offer.tools is not None and key in names for key in keys
    )


def _hint(piece: Piece) -> list[Shape]:
    """The call that seems to be meant, for the error."""
    named = next(
        (one["value"] for one in _KEY.finditer(piece.text[:_HEAD]) if plain(one["key"]) in NAMES and one["value"]), None
    )
    return [Shape(named, None, "explicit")] if named else []
