"""A call in a report of what was done is not made again; one that is meant is."""

from typing import Any

import pytest

from micro_agent.decoding import ModelReply, RawCall, ToolCalls, decode
from micro_agent.rules.retold import check
from micro_agent.rules.verdict import BeforePlan, BeforeTool, Violation
from micro_agent.run import LMCall, Run, Step
from micro_agent.tools import Tool

ARGS = {"city": "Rome", "days": 2}
CALL = '{"name": "book", "arguments": {"city": "Rome", "days": 2}}'


def verdict(text: str, *, ok: bool = True, args: dict[str, Any] | None = None, native: bool = False) -> object:
    before = Step(tool="book", args=args or ARGS, ok=ok, call=0, call_id="1", error=None if ok else "X")
    reply = ModelReply(text="" if native else text, calls=(RawCall("book", ARGS, "2"),) if native else ())
    found = decode(reply, [Tool("book", "", {"type": "object", "properties": {"city": {}, "days": {}}}, print)])
    assert isinstance(found, ToolCalls)
    made = LMCall(reply=reply.as_dict(), decision={"tool_calls": [one.as_dict() for one in found.calls]})
    replies = [LMCall(reply={"text": CALL}), made]
    return check(Run(question="?", steps=[before], calls=replies), BeforeTool("book", dict(ARGS)))


REPORTS = [
    f'{{"tool": {CALL}, "final": {{"answer": "It is booked as R-1."}}}}',
    f'{{"final": {{"answer": "It is booked as R-1."}}}}\n{CALL}',
    f"I used the following tool call:\n```json\n{CALL}\n```\nIt is booked as R-1.",
    f"It is booked as R-1.\n\nThe booking was made by this call: {CALL}",
    f"Using {CALL} I booked it as R-1.",
    'Here is the code I ran:\n```python\nbook(city="Rome", days=2)\n```\nIt is booked.',
    f"<tool_call>\n{CALL}\n</tool_call>\n<tool_response>\nR-1\n</tool_response>\nThe trip is booked as R-1.",
    'Action: book\nAction Input: {"city": "Rome", "days": 2}\nObservation: R-1\nFinal Answer: It is booked.',
]


@pytest.mark.parametrize("text", REPORTS)
def test_a_report_is_no_order(text: str) -> None:
    found = verdict(text)
    assert isinstance(found, Violation)
    assert found.text.startswith("book was called with these arguments before")
    assert found.wants is None


@pytest.mark.parametrize("text", REPORTS)
def test_the_first_time_it_is_a_call_like_any_other(text: str) -> None:
    assert verdict(text, ok=False) is None
    assert verdict(text, args={"city": "Rome", "days": 3}) is None
    assert verdict(text, native=True) is None


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        'Action: book\nAction Input: {"city": "Rome", "days": 2}',
    ],
)
def test_a_call_that_stands_alone_is_made_again(text: str) -> None:
    assert verdict(text) is None


def test_other_events_and_runs_without_a_reply_are_none_of_its_business() -> None:
    assert check(Run(question="?"), BeforePlan()) is None
    assert check(Run(question="?", steps=[Step(tool="book", args=ARGS)]), BeforeTool("book", dict(ARGS))) is None
