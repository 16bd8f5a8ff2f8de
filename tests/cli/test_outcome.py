"""What is printed while a run goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.cli.messages import log_from
from micro_agent.cli.outcome import Printer, print_step
from micro_agent.replay import step_line
from micro_agent.run import Run, Step
from micro_agent.streaming import AnswerText, Ended, Started, StepTaken, StreamEvent
from micro_agent.text.printable import printable

STEP = StepTaken(Step(tool="calculator", args={"expression": "2*8"}, observation={"result": 16}))


def ended(answer: str | None) -> Ended:
    return Ended(Run(question="?", answer=answer))


@pytest.mark.parametrize(
    ("events", "printed"),
    [
        ([Started("0" * 32), AnswerText("It is "), AnswerText("16."), ended("It is 16.")], "It is 16.\n"),
        ([AnswerText("It is 16."), ended("It is 16. (calculator: 16)")], "It is 16. (calculator: 16)\n"),
        ([AnswerText("Let me see."), STEP, ended("16")], "Let me see.\n16\n"),
        ([AnswerText("a draft"), ended("16")], "a draft\n16\n"),
        ([AnswerText("a draft"), ended(None)], "a draft\n"),
        ([STEP, ended(None)], ""),
        ([STEP, ended("16")], "16\n"),
    ],
)
def test_text_is_printed_once_and_ends_with_the_answer(
    events: list[StreamEvent], printed: str, capsys: pytest.CaptureFixture[str]
):
    printer = Printer()
    for event in events:
        printer(event)
    out, err = capsys.readouterr()
    assert out == printed
    assert err == ('calculator {"expression": "2*8"} -> {"result": 16}\n' if STEP in events else "")


def test_a_step_on_its_own_prints_nothing_else(capsys: pytest.CaptureFixture[str]):
    print_step(Step(tool="⚠️warning", observation="be\nbrief\x1b[2J"))
    assert capsys.readouterr() == ("", "⚠️warning -> be brief\\x1b[2J\n")


@given(st.text(alphabet=st.characters(), max_size=300))
def test_nothing_that_a_terminal_obeys_is_shown(text: str):
    shown = printable(text)
    assert not {*map(chr, [*range(9), *range(11, 32), *range(127, 160)]), "\u202e", "\u2028", "\ud800"} & set(shown)
    shown.encode()
    assert len(step_line("tool", {"text": text}, text).splitlines()) == 1


def test_a_message_of_the_log_is_one_line_without_a_traceback(capsys: pytest.CaptureFixture[str]):
    import logging

    log = logging.getLogger("micro_agent")
    before = log.handlers, log.level, log.propagate
    try:
        log_from("info")
        log.debug("not shown")
        try:
            raise ValueError
        except ValueError:
            log.exception("a\nbad %s", "thing")
    finally:
        log.handlers, log.level, log.propagate = before
    assert capsys.readouterr() == ("", "micro-agent: error: a bad thing\n")
