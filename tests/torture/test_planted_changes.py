"""One line of the package changed, and what `replay --verify` says of runs that were recorded before."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import micro_agent
from micro_agent import MicroAgent
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.traces import TraceStore

pytestmark = pytest.mark.torture

PACKAGE = Path(micro_agent.__file__).parent
WITH_RULE = "What is 6*7?"
CUT = "Tell me a story."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the package, and two runs: one that a rule corrected, one with a reply that was cut off."""
    shutil.copytree(PACKAGE, tmp_path / "micro_agent", ignore=shutil.ignore_patterns("__pycache__"))
    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
    arithmetic = [text("42"), call("calculator", {"expression": "6*7"}), text("It is 42.")]
    assert MicroAgent(lm=ScriptedLM(arithmetic), traces=store).ask(WITH_RULE).answer == "It is 42."
    cut = [text('{"name": "calculator", "arguments": {"expr', finish_reason="length"), text("The end.")]
    assert MicroAgent(lm=ScriptedLM(cut), traces=store).ask(CUT).answer == "The end."
    return tmp_path


def verified(folder: Path) -> tuple[int, dict[str, Any]]:
    """Exit code, and each run's verdict by its question, the summary as ``summary``."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder), "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "micro_agent", "replay", "--verify", "traces", "--json"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    *verdicts, summary = map(json.loads, done.stdout.splitlines())
    return done.returncode, {"summary": summary, **{verdict["question"]: verdict for verdict in verdicts}}


def plant(folder: Path, file: str, line: str, instead: str) -> None:
    """Change one line of the copy."""
    path = folder / "micro_agent" / file
    content = path.read_text(encoding="utf-8")
    assert content.count(line) == 1, f"{file} has changed: plant something else"
    path.write_text(content.replace(line, instead), encoding="utf-8")


def test_nothing_planted_nothing_found(folder: Path) -> None:
    code, verdicts = verified(folder)
    assert (code, verdicts["summary"]) == (0, {"runs": 2, "same": 2, "differ": 0, "not_replayed": 0})


def test_a_change_of_a_rule_is_found(folder: Path) -> None:
    plant(folder, "rules/implied_tools.py", "for name in found) > odds", "for name in found) > 1e9")
    code, verdicts = verified(folder)
    assert (code, verdicts["summary"]["differ"]) == (1, 1)
    divergence = verdicts[WITH_RULE]["divergence"]
    assert (divergence["kind"], divergence["where"]) == ("step", "step 1")
    assert divergence["expected"].startswith("⛔️policy_violation")
    assert divergence["got"] == "completed (final): 42"


@pytest.mark.parametrize(
    ("file", "line", "instead", "where"),
    [
        ("planner_prompts.toml", "in one or two plain sentences", "in a sentence", "instructions"),
        ("tools/calculator.py", "Compute an arithmetic expression exactly.", "Compute an expression.", "tools"),
    ],
)
def test_a_change_of_a_prompt_is_found(folder: Path, file: str, line: str, instead: str, where: str) -> None:
    plant(folder, file, line, instead)
    code, verdicts = verified(folder)
    assert (code, verdicts["summary"]["differ"]) == (1, 2)
    for question in (WITH_RULE, CUT):
        divergence = verdicts[question]["divergence"]
        assert divergence["where"] == f"request 1, before its messages: {where}"
        assert verdicts[question]["later"] is None


def test_a_change_of_what_a_model_is_told_is_found(folder: Path) -> None:
    plant(folder, "wires/said.py", 'MALFORMED_DECISION: "Format: "', 'MALFORMED_DECISION: "Form: "')
    code, verdicts = verified(folder)
    assert (code, verdicts["summary"]["differ"]) == (1, 1)
    divergence = verdicts[CUT]["divergence"]
    assert divergence["where"].endswith("(user): step 1 (⛔️malformed_decision)")
    assert divergence["got"].startswith("Form: ")


def test_a_change_of_the_decoder_is_found(folder: Path) -> None:
    plant(folder, "decoding/text.py", ', finish_reason == "length", offer)', ', finish_reason == "max_tokens", offer)')
    code, verdicts = verified(folder)
    assert (code, verdicts["summary"]["differ"]) == (1, 1)
    divergence = verdicts[CUT]["divergence"]
    assert (divergence["kind"], divergence["where"]) == ("decision", "reply 1, as it is read")
    assert "cut_off" in divergence["expected"]
