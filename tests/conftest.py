"""What all tests share: an environment without models, a store of traces in a folder of the test's own."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from micro_agent.traces import TraceStore

# Two busy cores make any deadline a coin toss. Every run draws other examples, so fewer a run find the same in the end.
settings.register_profile("micro_agent", deadline=None, max_examples=50)
settings.load_profile("micro_agent")

_OURS = (
    "LLM_", "OPENAI_", "OLLAMA_", "LITELLM_MODEL", "MICRO_AGENT_", "TRACES_DIR", "COMPILED_DEMOS_PATH",
    "TOOLS_MODULES", "TEMPERATURE", "MAX_TOKENS", "CONTEXT_LENGTH", "USE_TOOL_CALLS",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """No setting of the machine reaches a test."""
    for name in [name for name in os.environ if name.startswith(_OURS)]:
        monkeypatch.delenv(name)


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    """Traces and state in folders of this test."""
    return TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
