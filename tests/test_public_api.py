"""The public names, and what importing costs: whoever breaks one of these breaks programs that use micro-agent."""

import subprocess
import sys

import pytest

import micro_agent

PUBLIC = [
    "Limits", "MicroAgent", "Plan", "PlanState", "PlanTask", "Run", "Step", "Tool", "coding_agent", "configure_lm",
    "get_gate_status", "run_plan", "tool",
]  # fmt: skip

LIGHT = [
    "micro_agent", "micro_agent.cli", "micro_agent.decoding", "micro_agent.evaluation", "micro_agent.storage.journal",
    "micro_agent.plans", "micro_agent.rules", "micro_agent.run", "micro_agent.tools", "micro_agent.traces",
]  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert sorted(micro_agent.__all__) == PUBLIC
    assert dir(micro_agent) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_there_and_callable(name: str) -> None:
    assert callable(getattr(micro_agent, name))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = micro_agent.no_such_name


def test_importing_them_imports_neither_dspy_nor_litellm() -> None:
    """One process imports them all: what none of them imports is not there at the end."""
    script = f"import sys, {', '.join(LIGHT)}; print(sorted({{'dspy', 'litellm'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
