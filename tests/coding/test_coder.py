"""`coding_agent`: the toolset, the coach and a model in one repository, from the library."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from micro_agent import Limits, get_gate_status
from micro_agent.coder import coding_agent, coding_lm
from micro_agent.coding.coach import CoachSettings
from micro_agent.coding.workplace import store_of
from micro_agent.errors import ConfigurationError
from micro_agent.models.settings import load_settings
from micro_agent.testing import ModelServer, Reply, ScriptedLM, call, text
from micro_agent.traces import TraceStore
from tests.coding.repositories import repository
from tests.each import each

FIX = {"path": "sums.py", "target": "a - b", "replacement": "a + b"}
WORK: list[Reply] = [
    call("rg_search", {"pattern": "def add"}),
    call("read_file", {"path": "sums.py"}),
    call("edit_file", FIX),
    call("run_cmd", {"cmd": "git diff --stat"}),
    text("add adds."),
]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, with all state in the test's directory."""
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LLM_PROVIDER", "OLLAMA_HOST", "OLLAMA_MODEL", "GATE_MODE"):
        monkeypatch.delenv(name, raising=False)
    return repository(tmp_path / "repo")


def test_a_run_is_coached_and_stands_on_record_outside_the_repository(repo: Path):
    run = coding_agent(repo, lm=ScriptedLM(WORK), confirm="all").ask("The test of add fails. Fix it.")
    assert (run.status, run.answer, (repo / "sums.py").read_text()) == (
        "completed", "add adds.", "def add(a, b):\n    return a + b\n"
    )  # fmt: skip
    assert (run.coach, run.limits and run.limits["max_steps"]) == (CoachSettings().record(), 25)
    assert (run.gates, get_gate_status(run).all_passed()) == (get_gate_status(run).to_dict(), True)
    assert "edit_file" in (run.system or "")
    assert store_of(repo).load(run.id).gates == run.gates
    assert not any(repo.rglob("*.jsonl"))


def test_a_call_made_again_after_a_change_is_no_repetition(repo: Path):
    says = ["a - b", *(f"a + b + {number}" for number in range(5))]
    edits = [call("edit_file", {"path": "sums.py", "target": old, "replacement": new}) for old, new in pairwise(says)]
    look, off = call("git_log", {}), CoachSettings(gates="off")
    script = [reply for edit in edits for reply in (edit, look)]
    run = coding_agent(repo, lm=ScriptedLM([*script, text("Done.")]), confirm="all", settings=off).ask("Try.")
    assert (run.answer, [step.tool for step in run.steps]) == ("Done.", ["edit_file", "git_log"] * 5)
    run = coding_agent(repo, lm=ScriptedLM([look] * 5), settings=off).ask("Look.")
    assert run.termination_reason == "repetition", "where nothing was changed between it is one"


def test_what_is_named_goes_before_what_suits_the_model(repo: Path, tmp_path: Path):
    settings, store = CoachSettings(gates="off", edits="udiff", state="off"), TraceStore(tmp_path / "traces")
    agent = coding_agent(
        repo, lm=ScriptedLM([call("propose_patch", {}), text("No.")]), settings=settings, limits=Limits(max_steps=3),
        traces=store, system="Be brief.", exemplars=lambda run: f"Like {run.question}", demos=[],
        sandbox="clone",
    )  # fmt: skip
    run = agent.ask("this")
    assert (run.coach, run.limits and run.limits["max_steps"]) == (settings.record(), 3)
    assert run.steps[0].error == "UNKNOWN_TOOL", "with unified diffs there are no other patches"
    assert (run.system or "").startswith("Be brief.")
    assert (run.system or "").endswith("Like this")
    assert store.load(run.id).answer == "No."


def test_what_was_said_at_first_stays_where_a_conversation_goes_on(repo: Path):
    said = iter(["Like one", "Like another"])
    agent = coding_agent(repo, lm=ScriptedLM([text("1"), text("2")]), settings=CoachSettings(gates="off"),
                         exemplars=lambda run: next(said), sandbox="clone")  # fmt: skip
    first = agent.ask("One?")
    second = agent.ask("Two?", history=first)
    assert (second.system, (first.system or "")[-8:]) == (first.system, "Like one")


def test_the_environment_speaks_of_gates_and_a_model_of_a_known_name_has_its_own_settings(
    repo: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GATE_MODE", "warning")
    with ModelServer([text("Well.")], models=["qwen2.5-coder:72b"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        run = coding_agent(repo, lm="ollama_chat/qwen2.5-coder:72b", mode="native", sandbox="clone").ask("Well?")
    assert (run.coach or {})["gates"] == "warn"
    assert (run.coach or {})["prompt"] == "detailed"


@each(
    ("named", "env", "found"),
    [
        ((), {}, ("ollama/qwen2.5-coder:14b", "ollama")),
        ((), {"OPENAI_API_KEY": "sk-some", "OPENAI_MODEL": "gpt-4o"}, ("ollama/qwen2.5-coder:14b", "ollama")),
        ((), {"LLM_FALLBACK": "true", "OPENAI_API_KEY": "sk-some"}, ("ollama/qwen2.5-coder:14b", "ollama")),
        ((), {"OLLAMA_MODEL": "small:1b"}, ("ollama/small:1b", "ollama")),
        (("ollama",), {}, ("ollama/qwen2.5-coder:14b", "ollama")),
        (("ollama", "ollama_chat/small:1b"), {}, ("ollama/small:1b", "ollama")),
        ((None, "small:1b"), {}, ("ollama/small:1b", "ollama")),
        ((None, "ollama_chat/small:1b"), {"LLM_PROVIDER": "openai"}, ("ollama/small:1b", "ollama")),
        ((None, "ollama/small:1b"), {}, ("ollama/small:1b", "ollama")),
        ((None, "openai/gpt-4o"), {"OPENAI_BASE_URL": "SERVER/v1"}, ("openai/gpt-4o", "openai")),
        ((None, "ollama_chat/small:1b", "SERVER"), {}, ("ollama/small:1b", "ollama")),
        ((None, "some/model", "SERVER/v1"), {}, ("openai/some/model", "openai")),
        (("openai", "openai/gpt-oss-20b", "SERVER/v1"), {}, ("openai/openai/gpt-oss-20b", "openai")),
        ((None, "mock"), {}, ("mock/rules", "mock")),
    ],
)
def test_the_model_is_the_named_one_else_one_of_ollama_and_never_of_openai(
    named: tuple[Any, ...], env: dict[str, str], found: tuple[str, str]
):
    with pytest.MonkeyPatch.context() as patched, ModelServer(models=["qwen2.5-coder:14b", "small:1b"]) as server:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LLM_PROVIDER", "OLLAMA_MODEL", "TEMPERATURE"):
            patched.delenv(name, raising=False)
        patched.setenv("OLLAMA_HOST", server.url)
        if found[1] != "ollama":
            patched.delenv("OLLAMA_HOST")
        for name, value in env.items():
            patched.setenv(name, value.replace("SERVER", server.url))
        lm = coding_lm(*(part and part.replace("SERVER", server.url) for part in named))
    assert (lm.model, lm.provider_name) == found
    assert lm.kwargs["temperature"] == 0.1


def test_nothing_named_and_nothing_there_is_an_error_and_no_other_model(repo: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-some")
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1:9"):
        coding_agent(repo)
    with pytest.raises(ConfigurationError, match="no provider 'nobody'"):
        coding_lm("nobody", "x")


def test_other_defaults_are_no_settings(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TEMPERATURE", raising=False)
    found = load_settings().with_defaults(temperature=0.1)
    assert (found.temperature, "temperature" in found.model_fields_set) == (0.1, False)
    monkeypatch.setenv("TEMPERATURE", "0.7")
    found = load_settings().with_defaults(temperature=0.1)
    assert (found.temperature, "temperature" in found.model_fields_set) == (0.7, True)
