"""`make demo`: what a scripted weak model says, through the real loop, and the replay of that run."""

import os
from pathlib import Path

import pytest
from rich.cells import cell_len

from micro_agent.testing import demo, text
from micro_agent.traces import TraceStore, read_records
from tests.warm import Warm


def test_each_slip_of_the_scripted_model_is_shown_with_what_was_done_about_it(tmp_path: Path, warm: Warm) -> None:
    env = {**os.environ, "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8"}
    done = warm.run("-m", "micro_agent.testing.demo", cwd=tmp_path, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "no model is asked" in lines[0]
    in_order = [
        "     read from the text: Sure! I will use the stock tool. {'name': 'stock',",
        "     repaired: closing_brackets, python_literal",
        '     read as: {"path": "shop", "from": "5", "to": 5, "kind": "number_string"}',
        '     {"answer": "Okay, let me calculate the total.", "wants": "calculator"}',
        "  -> this question needs the calculator tool. Call calculator with the",
        "  -> an answer without the calculator tool is not taken. Do not answer now.",
        '     {"expression": "(48 + 17) * 12.50"}',
        "Answer: The 65 lamps are worth 812.50 dollars.",
    ]
    assert [line for line in lines if line in in_order] == in_order
    assert max(map(cell_len, lines)) <= 80
    assert len(lines) <= 45
    (trace,) = (tmp_path / "traces").iterdir()
    assert str(trace.relative_to(tmp_path)) in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "traces"]


def test_every_reply_of_the_script_is_played(tmp_path: Path) -> None:
    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
    run = demo.played(store)
    assert len(run.calls) == len(demo.SAID)
    assert [record.run and record.run.answer for record in read_records(store.path(run.id))] == [run.answer]


def test_a_demo_that_does_not_end_with_an_answer_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(demo, "SAID", (text("Okay, let me calculate the total."),) * 9)
    assert demo.main() == 1
