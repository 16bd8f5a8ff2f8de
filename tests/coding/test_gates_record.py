"""What is on record of a coached run: it replays, is resumed by the same coach, shown, and refused if it is unknown."""

from pathlib import Path
from typing import Any

import pytest

from micro_agent import MicroAgent, Run, Tool, get_gate_status
from micro_agent.effects import Approval
from micro_agent.errors import ConfigurationError
from micro_agent.replay import describe, verify
from micro_agent.run import POLICY_VIOLATION, SELF_CORRECTION, WARNING
from micro_agent.testing import ScriptedLM
from micro_agent.traces import TraceStore
from tests.coding.coached import EDIT, GREEN, LIST, READ, RED, SEARCH, TASK, agent, script, stand_ins

WHOLE = [LIST, (LIST[0], {"glob": "*.py"}, LIST[2]), "Done.", SEARCH, READ, "Done.", EDIT, "Done.", RED, "Done."]


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    return TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")


def asking() -> list[Tool]:
    """Tools of which the one that changes files asks first."""
    tools = stand_ins(
        {"rg_search": [SEARCH[2]], "read_file": [READ[2]], "edit_file": [EDIT[2]], "run_tests": [GREEN[2]]}
    )
    tools[2] = Tool("edit_file", "edit_file", tools[2].parameters, tools[2].handler, requires_confirmation=True)
    return tools


@pytest.mark.parametrize("mode", ["native", "json"])
@pytest.mark.parametrize("gates", ["block", "warn"])
def test_a_coached_run_replays_the_same(mode: str, gates: str, store: TraceStore) -> None:
    steps = [step for step in WHOLE[:-1] if gates == "block" or step != "Done."] + ["Done."]
    run = agent(steps, mode=mode, gates=gates, state="detailed", traces=store).ask(TASK)
    words = {step.tool for step in run.steps if not step.is_tool}
    assert words == {WARNING, SELF_CORRECTION, *([POLICY_VIOLATION] if gates == "block" else [])}
    assert run.gates is not None
    assert run.gates["all_passed"]
    recorded = store.load(run.id)
    assert recorded.gates == run.gates == get_gate_status(recorded).to_dict()
    tools = stand_ins({step[0]: [step[2]] for step in (SEARCH, READ, EDIT, RED, LIST)})
    for settings in ({"gates": gates, "state": "detailed"}, {"gates": "off"}):
        other = agent([], mode=mode, tools=tools, **settings)
        (verdict,) = verify([recorded], other)
        assert verdict.outcome == "same", list(verdict.lines())


def test_a_run_is_shown_with_its_gates_and_lines_of_state(store: TraceStore) -> None:
    run = agent([SEARCH, READ, EDIT, "Done.", GREEN, "Done."], traces=store).ask(TASK)
    shown = list(describe(store.load(run.id)))
    assert "     Steps: 1/25 | ✓ rg_search" in shown
    assert "Gates: ✓ understanding (steps 1, 2)  ✓ change (step 3)  ✓ verification (step 5)  ✓ readiness" in shown
    short = agent([SEARCH, READ, "Why?", "No need."]).ask(TASK)
    assert "Gates: ✓ understanding (steps 1, 2)  ✓ change (step 3)  ✓ verification  ✓ readiness" in describe(short)
    off = agent([SEARCH, "Done."], gates="off").ask(TASK)
    assert (
        "Gates: ✗ understanding (missing: reading a file)  ✗ change (missing: a change)  "
        "✗ verification (missing: a change to verify)  "
        "✗ readiness (missing: the gates before it: understanding, change, verification)"
    ) in describe(off)
    assert not [line for line in describe(Run(question="?", gates={"of": "another kind"})) if line.startswith("Gates")]


def test_a_paused_run_goes_on_with_its_coach(store: TraceStore) -> None:
    first = agent([SEARCH, READ, EDIT], tools=asking(), traces=store, warning_interval=7)
    paused = first.ask(TASK)
    assert (paused.status, paused.coach and paused.coach["warning_interval"]) == ("confirmation_required", 7)
    assert paused.gates is not None
    assert (paused.gates["change"], paused.gates["readiness"]) == (True, False)
    lm = ScriptedLM(script(["Done.", GREEN, "Done."]))
    plain = MicroAgent(tools=asking(), lm=lm, resamples=0, traces=store)
    done = plain.resume(paused.id, Approval("approve"))
    assert [step.tool for step in done.steps if step.is_tool] == ["rg_search", "read_file", "edit_file", "run_tests"]
    assert [step.args["wants"] for step in done.steps if step.tool == POLICY_VIOLATION] == ["run_tests"]
    assert (done.coach, done.gates and done.gates["all_passed"]) == (paused.coach, True)
    assert done.steps[-1].state == "Steps: 5/25 | ✓ edit_file | ✓ run_tests"
    (verdict,) = verify([store.load(done.id)], plain)
    assert verdict.outcome == "same", list(verdict.lines())


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"kind": "cooking"}, "kind 'cooking'"),
        ({"whistle": True}, "whistle"),
        ({"gates": "strictly"}, "gates is 'strictly'; allowed: block, warn, off"),
    ],
)
def test_a_coach_that_is_not_known_is_named(changed: dict[str, Any], told: str, store: TraceStore) -> None:
    run = agent([SEARCH, READ, EDIT], tools=asking(), traces=store).ask(TASK)
    run.coach = {**(run.coach or {}), **changed}
    (verdict,) = verify([run], agent([], tools=asking()))
    assert verdict.outcome == "not_replayed"
    assert verdict.reason == f"the run was coached in a way that this version does not know ({told})"
    with pytest.raises(ConfigurationError, match="coached in a way that this version does not know"):
        MicroAgent(tools=asking(), lm=ScriptedLM([])).resume(run, Approval("approve"))
    assert get_gate_status(run).change
