"""The same call twice in one reply is made once where its tool has effects, and the model is told so."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from micro_agent import MicroAgent, Tool
from micro_agent.rules.twice import check
from micro_agent.rules.verdict import BeforePlan, BeforeTool
from micro_agent.run import POLICY_VIOLATION, Run
from micro_agent.testing import Reply, ScriptedLM, calls, text

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}, "copies": {"type": "integer"}}, "required": ["to"]}
TWICE = "send stands twice in your reply with these arguments. It was called once, and its result is above. "


@dataclass
class Post:
    """A tool that notes what it was called with."""

    sent: list[str] = field(default_factory=list[str])

    def tool(self, *, read_only: bool = False) -> Tool:
        def run(to: str, copies: int = 1) -> str:
            self.sent.append(to * copies)
            return "sent"

        return Tool("send", "Send.", SCHEMA, run, read_only=read_only)

    def ask(self, *replies: Reply, read_only: bool = False) -> Run:
        lm = ScriptedLM([*replies, text("Sent.")])
        return MicroAgent([self.tool(read_only=read_only)], lm, demos=[], finish="text").ask("Send it to Ann.")


def sends(*args: dict[str, Any]) -> Reply:
    return calls(*(("send", one) for one in args))


ANN, BOB = {"to": "a"}, {"to": "b"}
IN_TEXT = text(
    "\n".join(f"<tool_call>{json.dumps({'name': 'send', 'arguments': {'to': to}})}</tool_call>" for to in "aba")
)


def test_it_is_made_once_and_the_model_is_told() -> None:
    post = Post()
    run = post.ask(sends(ANN, ANN))
    assert (post.sent, run.answer) == (["a"], "Sent.")
    made, told = run.steps
    assert (made.tool, told.tool) == ("send", POLICY_VIOLATION)
    assert str(told.observation).startswith(TWICE)
    assert made.call_id != told.call_id


def test_the_same_after_coercion_is_the_same() -> None:
    post = Post()
    post.ask(sends({"to": "a", "copies": 2}, {"copies": "2", "to": "a"}))
    assert post.sent == ["aa"]


@pytest.mark.parametrize("replies", [(sends(ANN, BOB),), (sends(ANN), sends(ANN))])
def test_other_arguments_and_another_reply_are_another_wish(replies: tuple[Reply, ...]) -> None:
    post = Post()
    run = post.ask(*replies)
    assert len(post.sent) == 2
    assert all(step.ok for step in run.steps)


def test_what_only_reads_may_be_read_twice() -> None:
    post = Post()
    post.ask(sends(ANN, ANN), read_only=True)
    assert post.sent == ["a", "a"]


def test_in_text_the_same_call_was_one_already() -> None:
    post = Post()
    run = post.ask(IN_TEXT)
    assert post.sent == ["a", "b"]
    assert POLICY_VIOLATION not in [step.tool for step in run.steps]


def test_other_events_are_left_alone() -> None:
    assert check(Run(question="?"), BeforePlan()) is None
    assert check(Run(question="?"), BeforeTool("send", {"to": "a"})) is None
