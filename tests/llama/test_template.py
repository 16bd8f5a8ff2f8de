"""What the server says of itself: a chat template without tools, the length of its context, its own clock."""

from typing import TYPE_CHECKING

import pytest

from micro_agent import Limits, MicroAgent
from micro_agent.doctor import examine
from micro_agent.models.fallback import Target
from micro_agent.models.settings import Settings
from tests.llama.conftest import lm_of, measure

if TYPE_CHECKING:
    from pathlib import Path

    from tests.llama.server import Llama


@pytest.mark.parametrize("settings", [Settings(), Settings(context_length=4096)])
def test_a_template_without_tools_means_json_mode(toolless: "Llama", settings: Settings) -> None:
    agent = MicroAgent([measure], lm_of(toolless), rules=[], limits=Limits(max_steps=2), settings=settings)
    run = agent.ask("How long is it?")
    assert (run.mode, {call.mode for call in run.calls}) == ("json", {"json"})
    assert [step.tool for step in run.steps] == ["measure"] * 2
    assert run.context_length == (settings.context_length or 8192)


def test_a_template_with_tools_means_native_mode(server: "Llama") -> None:
    run = MicroAgent([measure], lm_of(server), rules=[], limits=Limits(max_steps=1)).ask("How long is it?")
    assert (run.mode, run.context_length) == ("native", 8192)


@pytest.mark.parametrize("mode", ["auto", "native"])
def test_the_doctor_says_so(toolless: "Llama", mode: str, tmp_path: "Path") -> None:
    found = Settings(traces_dir=tmp_path, micro_agent_state_dir=tmp_path)
    checks = {check.name: check for check in examine(Target("openai", "tiny", toolless.openai_url), found, mode=mode)}
    assert "chat template has no tools" in checks["tools"].told
    assert (checks["tools"].state, checks["tools"].data) == ("ok" if mode == "auto" else "warn", {"native": False})
    assert checks["schema"].data == {"constrained": True}


def test_the_doctor_takes_the_speed_from_the_server_s_clock(server: "Llama", tmp_path: "Path") -> None:
    found = Settings(traces_dir=tmp_path, micro_agent_state_dir=tmp_path)
    checks = {check.name: check for check in examine(Target("openai", "tiny", server.openai_url), found)}
    assert checks["context"].data == {"context_length": 8192}
    speed = checks["speed"].data
    assert speed["tokens_per_s"] > 0
