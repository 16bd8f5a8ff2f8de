# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Demos that were found count for the model and the mode that they were made for; those that were given always do."""

import json
import logging
from pathlib import Path
from typing import Any

import dspy
import pytest

from micro_agent import MicroAgent
from micro_agent.demos import instructions, load_demos
from micro_agent.replay import verify
from micro_agent.testing import ScriptedLM, final, text

DEMO: dict[str, Any] = {"question": "1 + 2?", "steps": [], "decision": {"final": {"answer": "It is 3."}}}
OTHER = {"provider": "openai", "model": "openai/other", "mode": "native"}


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where every agent looks for demos."""
    path = tmp_path / "plan.json"
    monkeypatch.setenv("COMPILED_DEMOS_PATH", str(path))
    return path


def written(path: Path, **more: Any) -> Path:
    path.write_text(json.dumps({"demos": [DEMO], "instructions": "Be quick.", **more}))
    return path


def sent(lm: Any, **agent: Any) -> str:
    """The request of an agent with this model."""
    run = MicroAgent(tools=[], lm=lm, rules=[], **agent).ask("2 + 3?")
    assert run.answer == "5"
    return str(lm.requests[-1])


def used(request: str) -> tuple[bool, bool]:
    """Whether a request has the demo, and whether it has the instructions."""
    return "1 + 2?" in request, "Be quick." in request


def made_for(lm: Any, mode: str = "native") -> dict[str, str]:
    return {"provider": "scripted", "model": lm.model, "mode": mode}


def test_demos_of_this_model_and_mode_are_shown(found: Path, caplog: pytest.LogCaptureFixture) -> None:
    lm = ScriptedLM([text("5")])
    written(found, **made_for(lm))
    assert used(sent(lm)) == (True, True)
    assert caplog.records == []


@pytest.mark.parametrize("differs", ["provider", "model", "mode"])
def test_those_of_another_are_left_out_with_their_instructions_and_that_is_said_once(
    differs: str, found: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lm = ScriptedLM([text("5")] * 3)
    written(found, **{**made_for(lm), differs: {"mode": "json"}.get(differs, "other")})
    for _ in range(2):
        request = sent(lm)
        assert used(request) == (False, False)
        assert instructions().splitlines()[0] in request
    (said,) = caplog.records
    assert (said.name, said.levelno) == ("micro_agent", logging.WARNING)
    assert f"{found} is not used: it was made for " in said.getMessage()
    assert used(sent(lm, demos=found)) == (True, True)


def test_nothing_is_said_of_a_file_that_has_nothing_to_show(found: Path, caplog: pytest.LogCaptureFixture) -> None:
    written(found, **OTHER, demos=[], instructions=None)
    assert used(sent(ScriptedLM([text("5")]))) == (False, False)
    assert caplog.records == []


def test_the_default_demos_stand_in_for_those_of_another_mode(found: Path) -> None:
    lm = ScriptedLM([final("5")], mode="json")
    written(found, **made_for(lm, "native"))
    assert used(sent(lm, mode="json")) == (False, False)
    assert len(lm.requests[0].messages) > 2


def test_a_file_that_does_not_say_what_it_was_made_for_counts_for_all(found: Path) -> None:
    written(found)
    assert used(sent(ScriptedLM([text("5")]))) == (True, True)


def test_an_older_file_says_it_in_its_evidence(found: Path) -> None:
    assert load_demos(written(found, evidence=OTHER)).model == "openai/other"
    assert used(sent(ScriptedLM([text("5")]))) == (False, False)
    assert load_demos(written(found, evidence=OTHER, model="mine")).model == "mine"
    assert load_demos(written(found, evidence=[])).model is None


def test_what_an_optimizer_has_put_there_since_stays(found: Path) -> None:
    written(found, **OTHER)
    lm = ScriptedLM([text("5")])
    agent: Any = MicroAgent(tools=[], lm=lm, rules=[])
    agent.plan.demos = [dspy.Example(**{**DEMO, "question": "8 + 9?"})]
    agent.plan.signature = agent.plan.signature.with_instructions("Be slow.")
    agent.ask("2 + 3?")
    assert all(words in str(lm.requests[-1]) for words in ("8 + 9?", "Be slow."))


def test_an_optimizer_of_dspy_can_trace_an_agent_that_goes_without_them(found: Path) -> None:
    written(found, **OTHER)
    lm, trace = ScriptedLM([text("5")]), list[Any]()
    agent: Any = MicroAgent(tools=[], lm=lm, rules=[])
    with dspy.context(lm=lm, trace=trace):
        agent(question="2 + 3?")
    assert [predictor is agent.plan for predictor, _, _ in trace] == [True]


def test_what_was_recorded_without_them_replays_without_them(found: Path) -> None:
    lm = ScriptedLM([text("5")])
    found.write_text('{"demos": []}')
    before = MicroAgent(tools=[], lm=lm, rules=[]).ask("2 + 3?")
    written(found, **OTHER)
    after = MicroAgent(tools=[], lm=ScriptedLM([text("5")]), rules=[])
    assert [verdict.outcome for verdict in verify([before], after)] == ["same"]
    written(found)
    (verdict,) = verify([before], MicroAgent(tools=[], lm=lm, rules=[]))
    assert verdict.divergence is not None
    assert verdict.divergence.where.endswith("instructions")
