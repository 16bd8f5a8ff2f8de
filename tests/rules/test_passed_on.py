"""A text of the question that a tool with effects was given is not itself asked: no clock is needed for it any more."""

from typing import Any

import pytest

from micro_agent import MicroAgent, Run, tool
from micro_agent.run import POLICY_VIOLATION
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.tools.calculator import calculator
from micro_agent.tools.clock import now

REMINDER = "Remind me at 10:46 that the report is tomorrow."
DATE = "Remind me that the report is tomorrow, and what is the date today?"


@tool
def remind(what: str = "", at: str = "", often: int = 1) -> str:
    """Set a reminder."""
    if at == "never":
        raise ValueError("never is never")
    return "set"


@tool(read_only=True)
def search(query: str = "") -> str:
    """Search for something."""
    return "nothing found"


@tool
def note(words: str = "") -> str:
    """Write a note."""
    return "noted"


def ask(question: str, name: str, **args: Any) -> Run:
    """One call, then an answer, until it is taken."""
    script = [call(name, args), *[text("It is done.")] * 2, call("now", {"timezone": "utc"}), text("It is done.")]
    return MicroAgent([remind, search, note, now, calculator], lm=ScriptedLM(script), finish="text").ask(question)


def steps(run: Run) -> list[str]:
    return [step.tool for step in run.steps]


def refused(run: Run) -> bool:
    """Whether the first answer was refused because the clock was not read."""
    return steps(run)[1:2] == [POLICY_VIOLATION] and run.steps[1].args.get("wants") == "now"


@pytest.mark.parametrize("what", ["the report is tomorrow", "The report is tomorrow.", "that the report is tomorrow"])
def test_what_was_passed_on_is_not_asked(what: str) -> None:
    run = ask(REMINDER, "remind", what=what, at="10:46")
    assert (steps(run), run.answer) == (["remind"], "It is done.")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        pytest.param("search", {"query": "the report is tomorrow"}, id="to a tool that only reads"),
        pytest.param("search", {"query": REMINDER}, id="all of it, to a tool that only reads"),
        pytest.param("remind", {"what": REMINDER}, id="all of it"),
        pytest.param("remind", {"what": "remind me at 10:46 that the report is tomorrow"}, id="all but the full stop"),
        pytest.param("remind", {"what": "tomorrow"}, id="a word"),
        pytest.param("remind", {"what": "my report is tomorrow"}, id="something else"),
        pytest.param("remind", {"often": 2}, id="no text"),
        pytest.param("remind", {"what": "the report is tomorrow", "at": "never"}, id="to a tool that fails"),
    ],
)
def test_anything_else_is_still_asked(name: str, args: dict[str, Any]) -> None:
    run = ask(REMINDER, name, **args)
    assert refused(run)
    assert steps(run)[-1] == "now"


def test_what_is_asked_beside_it_is_asked() -> None:
    run = ask(DATE, "remind", what="the report is tomorrow")
    assert refused(run)
    assert "now" in steps(run)


def test_each_text_that_was_passed_on_counts() -> None:
    question = "Remind me that the report is tomorrow and note that it is late today."
    script = [call("remind", {"what": "the report is tomorrow"}), call("note", {"words": "it is late today"}),
              text("It is done.")]  # fmt: skip
    agent = MicroAgent([remind, note, now], lm=ScriptedLM(script), finish="text")
    assert steps(agent.ask(question)) == ["remind", "note"]
