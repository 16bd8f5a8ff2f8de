# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""``agent.inspect_history`` shows the last requests as they were sent, and what came back."""

import io
from pathlib import Path
from typing import Any

import dspy
import pytest

from micro_agent import MicroAgent, configure_lm
from micro_agent.testing import ScriptedLM, call, decision, final, text


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def shown(agent: Any, n: int = 1) -> str:
    out = io.StringIO()
    agent.inspect_history(n, file=out)
    return out.getvalue()


@pytest.mark.parametrize("mode", ["native", "json"])
def test_the_last_request_is_shown_with_its_reply(mode: Any) -> None:
    native = mode == "native"
    replies = [
        call("add", {"a": 40, "b": 2}) if native else decision("add", {"a": 40, "b": 2}),
        text("It is 42.") if native else final("It is 42."),
    ]
    agent = MicroAgent([add], ScriptedLM(replies), mode=mode, rules=[], system="You count.", demos=[])
    agent.ask("What is 40+2?")
    last, both = shown(agent), shown(agent, 2)
    assert last.index("System message") < last.index("You count.") < last.index("What is 40+2?") < last.rindex("42.")
    assert last.rindex("add") < last.index("Response:")
    assert '"a"' in last
    assert both.count("System message") == 2
    if native:
        assert 'add: {"a": 40, "b": 2}' in both.split("System message")[1]
    entry = agent.history[-1]
    assert set(entry) == {"model", "timestamp", "prompt", "messages", "outputs"}
    assert len(entry) == 5
    assert (entry["model"], entry["prompt"]) == (agent.lm and agent.lm.model, None)


def test_twenty_are_kept_and_none_where_dspy_is_told_so() -> None:
    agent = MicroAgent([], ScriptedLM([text(f"Answer {n}.") for n in range(30)]), rules=[])
    for number in range(25):
        agent.ask(f"Question {number}?")
    assert len(agent.history) == 20
    assert "Question 5?" in shown(agent, 20)
    assert "Question 4?" not in shown(agent, 20)
    with dspy.context(disable_history=True):
        agent.ask("Quiet?")
    assert "Question 24?" in shown(agent)


def test_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwx"
    monkeypatch.setenv("OPENAI_API_KEY", secret)

    def echo(text: str) -> str:
        """Say it again."""
        return text

    agent = MicroAgent([echo], ScriptedLM([call("echo", {"text": secret}), text(f"It is {secret}.")]), rules=[])
    agent.ask(f"What is {secret}?")
    assert "[env:OPENAI_API_KEY" in shown(agent, 2)
    assert secret not in shown(agent, 2)


def test_what_was_said_is_in_no_file_and_no_copy(tmp_path: Path) -> None:
    agent = MicroAgent(lm=configure_lm("mock"))
    agent.ask("What is 6*7?")
    assert "6*7" in shown(agent)
    assert agent.deepcopy().history == []
    agent.save(str(tmp_path / "program"), save_program=True)
    assert not [file for file in (tmp_path / "program").iterdir() if b"6*7" in file.read_bytes()]
