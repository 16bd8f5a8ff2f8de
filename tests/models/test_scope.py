# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""What DSPy prints of a reply that was cut off: nothing in a run, which asks again and records it; else as ever."""

import asyncio
import logging

import dspy
import pytest

from micro_agent import Limits, MicroAgent
from micro_agent.models.scope import CallScope, calling
from micro_agent.testing import ScriptedLM, text

LOG = "dspy.clients.lm"


@pytest.fixture(autouse=True)
def _as_dspy_sets_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, LOG)  # a test of the command line may have left it higher


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_run_leaves_a_cut_off_reply_to_its_record(capsys: pytest.CaptureFixture[str], way: str) -> None:
    lm = ScriptedLM([text("The answer", finish_reason="length"), text("It is 4.")])
    agent = MicroAgent(tools=[], lm=lm, rules=[], limits=Limits(max_steps=3))
    run = agent.ask("2+2?") if way == "sync" else asyncio.run(agent.aask("2+2?"))
    assert (run.answer, run.calls[0].finish_reason) == ("It is 4.", "length")
    assert capsys.readouterr().err == ""


def test_outside_of_a_run_dspy_says_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    lm: dspy.LM = ScriptedLM([text("The answer", finish_reason="length")])
    lm("2+2?")
    assert "LM response was truncated" in capsys.readouterr().err


def test_its_other_warnings_stand_in_a_run_too(capsys: pytest.CaptureFixture[str]) -> None:
    with calling(CallScope()):
        logging.getLogger(LOG).warning("something else")
    assert "something else" in capsys.readouterr().err
