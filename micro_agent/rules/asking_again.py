"""What is done about every kind of bad reply: one table, and what follows from it for the replies of a run.

The decoder takes its words from here, the loop its markers, codes and reasons to stop, `resampling` the settings that
the next request changes. ``docs/asking-again.md`` shows the table; a test compares the two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from operator import attrgetter
from typing import Any, Literal, cast

from micro_agent.rules.verdict import Stop
from micro_agent.run import MALFORMED_DECISION, NO_ACTION, POLICY_VIOLATION, VALIDATION_ERROR, Run, Step

IN_A_ROW = 3
"""So many replies of one family (see `Row.stops`) that came to nothing, with no tool step between, end the run."""
FRUITLESS = 5
"""So many replies of any family that came to nothing end the run, too: it is a model that slips each time elsewhere."""

Kind = Literal[
    "malformed", "empty", "empty_after_results", "cut_off", "refused", "ambiguous", "unknown_tool", "bad_arguments",
    "call_in_text", "answer_against_rule", "call_against_rule", "replies_differ", "call_beside_final",
    "text_beside_calls", "one_bad_call", "quoted",
]  # fmt: skip
Change = Literal["sampling", "max_tokens", "tool_choice"]
"""``sampling``: another seed and a higher temperature, once the same reply came twice; ``max_tokens``: more of them;
``tool_choice``: a tool call is forced, once two answers were refused for the want of one."""


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of bad reply.

    ``repaired`` says what is read or mended without asking. ``asked`` is what the model is told after what was seen;
    ``{form}`` is the right form of a decision in the run's mode, with the tool that was meant as the example. Without a
    ``marker`` nothing is asked: the reply is used. ``stops`` is the termination reason and the family in one.
    """

    what: str
    repaired: str
    asked: str = ""
    marker: str | None = None
    code: str | None = None
    changes: tuple[Change, ...] = ()
    stops: Literal["malformed", "policy"] | None = None


ASKING: Mapping[Kind, Row] = {
    "malformed": Row(
        "a call or a final answer that does not parse, or one in the place of the other",
        "slips that leave one reading: quotes, commas, closing brackets, Python literals, fences, prose around it",
        "{form}", MALFORMED_DECISION, "MALFORMED", ("sampling",), "malformed",
    ),
    "empty": Row(
        "no text and no call, thinking alone, JSON with nothing in it, or a placeholder",
        "nothing",
        "{form}", NO_ACTION, "EMPTY", ("sampling",), "malformed",
    ),
    "empty_after_results": Row(
        "the same, after tools gave results",
        "nothing",
        "Answer the question with the results above. {form}", NO_ACTION, "EMPTY", ("sampling",), "malformed",
    ),
    "cut_off": Row(
        "a reply that the token limit cut off",
        "a call that was complete before the cut is run; what is incomplete is never completed",
        "Be shorter. {form}", MALFORMED_DECISION, "CUT_OFF", ("max_tokens", "sampling"), "malformed",
    ),
    "refused": Row(
        "nothing, or half an answer, since the server's content filter stopped it",
        "nothing",
        "Use other words. {form}", MALFORMED_DECISION, "REFUSED", ("sampling",), "malformed",
    ),
    "ambiguous": Row(
        "several different objects that each look like a decision",
        "the same call again counts once; a list, or markup with several calls, is several calls",
        "Make one decision only. {form}", MALFORMED_DECISION, "AMBIGUOUS", ("sampling",), "malformed",
    ),
    "quoted": Row(
        "a call that is shown and not made: in a program, in a quotation, with a placeholder as a value",
        "nothing",
        "{form}", MALFORMED_DECISION, "QUOTED", ("sampling",), "malformed",
    ),
    "unknown_tool": Row(
        "a call of a tool that is not there",
        "case, `-` `.` `_`, prefixes, suffixes, namespaces, words like `Tool` and special tokens, when exactly one "
        "tool fits",
        "{form}", VALIDATION_ERROR, "UNKNOWN_TOOL", ("sampling",), "malformed",
    ),
    "bad_arguments": Row(
        "a call with arguments that do not fit the tool's schema",
        "what the schema makes unambiguous (`\"5\"` for an integer, one level of nesting, …)",
        "{form}", VALIDATION_ERROR, "VALIDATION_FAILED", ("sampling",), "malformed",
    ),
    "call_in_text": Row(
        "a call inside other text, of a tool that is not read-only, and no word of the model on whether to make it",
        "nothing; the model is asked first, twice at most",
        "Make the call alone. {form}", MALFORMED_DECISION, "CALL_IN_TEXT", ("sampling",), "malformed",
    ),
    "answer_against_rule": Row(
        "prose where a tool is required, or another answer that a rule refuses",
        "nothing: a call is never made up",
        "{rule}", POLICY_VIOLATION, "POLICY", ("tool_choice", "sampling"), "policy",
    ),
    "call_against_rule": Row(
        "a call that is only told again, or another one that a rule refuses",
        "nothing",
        "{rule}", POLICY_VIOLATION, "POLICY", ("sampling",), "policy",
    ),
    "replies_differ": Row(
        "a call of a tool that is not read-only, on which most replies do not agree, with a word that is like one that "
        "was said, or a number that was not",
        "nothing; the most frequent one is taken, and one whose words all stand somewhere before it",
        "Copy words and numbers exactly.", VALIDATION_ERROR, "REPLIES_DIFFER", ("sampling",), "policy",
    ),
    "call_beside_final": Row(
        "a call and a final answer in one reply",
        "the call is run and the answer dropped: it was given before the result",
    ),
    "text_beside_calls": Row(
        "prose before or after a call",
        "a call on the wire is run, one in the text if its tool is read-only or the model, asked, says so; the prose "
        "stays in the record and is not an answer",
    ),
    "one_bad_call": Row(
        "several calls, one of them bad",
        "on the wire each call has its own id: the good ones run, the bad one is answered as its kind above; "
        "in text none runs, since the others may depend on it",
    ),
}  # fmt: skip

_ROWS = {(row.marker, row.code): row for row in reversed(ASKING.values()) if row.marker is not None}


def row_of(step: Step) -> Row | None:
    """The row behind a step; ``None`` for a tool step and for words of the loop about something else."""
    return _ROWS.get((step.tool, step.error))


def row_with(code: str) -> Row:
    """The row whose steps have this error code."""
    return next(row for row in ASKING.values() if row.code == code)


def asked(run: Run, error: Mapping[str, Any]) -> str:
    """What the model is told of a reply that could not be read.

    Args:
        run: As it stands after the reply.
        error: ``LMCall.error`` of it.
    """
    expected = error["expected"]
    if error["reason"] == "empty" and any(step.is_tool and step.ok for step in run.steps):
        expected = ASKING["empty_after_results"].asked.format(form=expected)
    return f"{error['seen']} {expected}".strip()


def fruitless(steps: Sequence[Step]) -> list[list[Row]]:
    """The replies since the last tool step, if they all came to nothing: the rows of each, the latest first.

    Replies are counted, not steps: three bad calls made at once left no chance to correct any.
    """
    counted = (step for step in reversed(steps) if step.is_tool or row_of(step))
    replies = ([row_of(step) for step in group] for _, group in groupby(counted, key=attrgetter("call")))
    bad = takewhile(all, replies)
    return [[row for row in rows if row] for rows in bad]


def stuck(steps: Sequence[Step]) -> Stop | None:
    """What ends the run when the model has had its chances: see `IN_A_ROW` and `FRUITLESS`."""
    replies = fruitless(steps)
    families = {row.stops for rows in replies[:IN_A_ROW] for row in rows}
    if len(replies) < IN_A_ROW or (len(families) > 1 and len(replies) < FRUITLESS):
        return None
    last = next(step.observation for step in reversed(steps) if row_of(step))
    said = cast("dict[str, Any]", last).get("message") if isinstance(last, dict) else last
    reason = replies[0][0].stops or "malformed"
    return Stop(reason, f"{len(replies)} replies in a row came to nothing; the last: {said}")
