"""Markup whose calls are JSON: a dialect of it is a few patterns and nothing else."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from micro_agent.decoding.decision import Decision, Final, Repair
from micro_agent.decoding.markup.bodies import Around, Body, read_body
from micro_agent.decoding.markup.shared import TURN, decided, marks
from micro_agent.decoding.repair.mending import repair
from micro_agent.decoding.scan.ends import Ends
from micro_agent.decoding.settle import MAX_CALLS, error
from micro_agent.decoding.source import Source


@dataclass(frozen=True, slots=True)
class Markup:
    """A dialect of markup.

    Args:
        dialect: Its name, for the record.
        signs: Texts one of which is in all markup of the dialect, so that other text costs next to nothing.
        begin: The begin marker. Where it has groups, what one of them matches is the name of the tool, and the
            arguments stand behind it.
        end: The end marker, which a model may leave out. It begins with no blanks: each place in a run of these would
            be tried, up to the end of the run.
        opening: What announces a call that ``begin`` does not match before it is complete.
        section_end: What ends all calls of a reply. A text and more calls behind it are made without any result.
        keyed: Whether the name is the key of an object that holds the arguments, ``{"name": {…}}``.
    """

    dialect: str
    signs: tuple[str, ...]
    begin: re.Pattern[str]
    end: re.Pattern[str]
    opening: re.Pattern[str] | None = None
    section_end: re.Pattern[str] | None = None
    keyed: bool = False


def read_json(source: Source, markup: Markup) -> Decision | None:
    """The decision in markup whose calls are JSON; ``None`` when it is not there or holds something else.

    Behind each begin marker stands an object or a list of calls, several of them, or a name and its arguments. A fence
    around them, a missing end marker and brackets that are missing before an end marker are not obstacles. The same
    markup again counts once, and what follows an imagined result of a tool does not count.
    """
    if not any(sign in source.text for sign in markup.signs):
        return None
    turns = Ends(source.text, TURN)
    around = Around(Ends(source.text, markup.begin), Ends(source.text, markup.end), markup.keyed)
    blocks: list[Body] = []
    foreign = False
    for mark in marks(source, markup.begin):
        at = blocks[-1].end if blocks else 0
        if mark.start() < at:
            continue
        if blocks and (turn := turns.after(at)) is not None and turn.end() <= mark.start():
            break
        if blocks and markup.section_end and _says_more(source.text, blocks[-1], mark, markup.section_end):
            return error("ambiguous", "Tool calls, then text, then more tool calls.", source.offer)
        body = read_body(source, mark, around)
        if body is None:
            foreign = foreign or around.ends.after(mark.end()) is not None
            continue
        blocks.append(body)
        if body.fault or body.unfinished or sum(len(one.shapes) for one in blocks) > 2 * MAX_CALLS:
            break
    return _decided(source, blocks, markup, foreign) if blocks else None


def _says_more(text: str, last: Body, mark: re.Match[str], section_end: re.Pattern[str]) -> bool:
    ends = [found.end() for found in section_end.finditer(text, last.start, mark.start())]
    return bool(ends) and re.search(r"\w", text[ends[-1] : mark.start()]) is not None


def _decided(source: Source, blocks: Sequence[Body], markup: Markup, foreign: bool) -> Decision | None:
    kept, repairs = _different(source.text, blocks)
    repeats = len(kept) == 1 < len(blocks) and _again(source.text, blocks)
    span = blocks[0].start, len(source.text) if repeats else blocks[-1].end
    shapes = [shape for body in kept for shape in body.shapes]
    begins = not repeats and _begins_another(source.text, blocks[-1], markup)
    unfinished = begins or any(body.unfinished for body in kept)
    fault = next((body.fault for body in kept if body.fault), "a part of it is in another form" if foreign else None)
    if not shapes and fault is None and not unfinished:
        if len(kept) == 1 and kept[0].answer and not source.cut_off:
            return Final(
                kept[0].answer, [repair(f"dialect:{markup.dialect}", source.text[slice(*span)], kept[0].answer)]
            )
        fault = "it holds no call"
    return decided(
        shapes, source, dialect=markup.dialect, span=span, repairs=repairs, fault=fault, unfinished=unfinished
    )


def _different(text: str, blocks: Sequence[Body]) -> tuple[list[Body], list[Repair]]:
    """The blocks without those that say the same again, and what was mended.

    Where a model repeats itself until the token limit, the last repetition is cut off.
    """
    kept: list[Body] = []
    repairs: list[Repair] = []
    again: list[Repair] = []
    for body in blocks:
        said = text[body.start : body.end].rstrip()
        same = any((body.shapes, body.answer, body.fault) == (one.shapes, one.answer, one.fault) for one in kept)
        if same or (again and body.unfinished and text.startswith(said, kept[-1].start)):
            again = again or [repair("repetition", text, said)]
        else:
            kept.append(body)
            repairs += body.repairs
    return kept, [*again, *repairs]


def _again(text: str, blocks: Sequence[Body]) -> bool:
    """Whether what follows the last block is what follows the first one, cut off anywhere."""
    return text.startswith(text[blocks[-1].end :], blocks[0].end)


def _begins_another(text: str, last: Body, markup: Markup) -> bool:
    """Whether a call is announced behind the last one and not made."""
    stop = turn.start() if (turn := TURN.search(text, last.end)) else len(text)
    if markup.opening is not None:
        return markup.opening.search(text, last.end, stop) is not None
    ends = [mark.end() for mark in markup.begin.finditer(text, last.end, stop)]
    return bool(ends) and not text[ends[-1] : stop].strip()
