# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
"""What an agent is given: taken where it can mean one thing only, refused with what is wanted otherwise."""

from pathlib import Path
from typing import Any

import dspy
import pytest

from micro_agent import Limits, MicroAgent, Run
from micro_agent.errors import ConfigurationError, ToolDefinitionError
from micro_agent.rules import BeforeTool, Event, Verdict, Violation
from micro_agent.testing import ModelServer, ScriptedLM, call, final, text
from micro_agent.tools import tool


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def adding() -> Any:
    return ScriptedLM([call("add", {"a": 1, "b": 2}), text("It is 3.")])


@pytest.mark.parametrize(
    "tools", [add, tool(add), dspy.Tool(add), {"add": tool(add)}, (add,), iter([add])],
    ids=["function", "Tool", "dspy.Tool", "dict", "tuple", "iterator"],
)  # fmt: skip
def test_one_tool_needs_no_list(tools: Any) -> None:
    run = MicroAgent(tools=tools, lm=adding(), rules=[]).ask("1 + 2?")
    assert [step.observation for step in run.steps] == [3]


@pytest.mark.parametrize("tools", ["calculator", 3, ["calculator"]])
def test_what_is_not_a_tool_is_refused(tools: Any) -> None:
    with pytest.raises(ToolDefinitionError, match=r"is not a tool: pass a Tool, a function"):
        MicroAgent(tools=tools)


@pytest.mark.parametrize("named", ["ollama_chat/{}", "ollama/{}"])
def test_a_model_of_ollama_is_named_as_dspy_names_it(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([final("Hello.")], models=["tiny:1b"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        monkeypatch.setenv("OLLAMA_NUM_CTX", "4096")
        run = MicroAgent(tools=[], lm=named.format("tiny:1b")).ask("Hello?")
        assert (run.answer, run.provider, run.model, run.mode) == ("Hello.", "ollama", "ollama/tiny:1b", "json")
        assert (server.requests[-1].body or {})["options"]["num_ctx"] == 4096
        with pytest.raises(ConfigurationError, match="ollama pull"):
            MicroAgent(tools=[], lm=named.format("large:70b"))


def test_a_model_of_openai_is_asked_where_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([text("Hello.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        run = MicroAgent(tools=[], lm="openai/gpt-x").ask("Hello?")
    assert (run.answer, run.provider, run.model) == ("Hello.", "openai", "openai/gpt-x")


def test_a_model_without_a_key_is_refused_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY is not set"):
        MicroAgent(tools=[], lm="openai/gpt-4o-mini")


def test_a_model_of_another_provider_is_dspys_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    run = MicroAgent(tools=[], lm="anthropic/claude-x", mode="json").ask("Hello?")
    assert (run.status, run.model) == ("failed", "anthropic/claude-x")
    assert run.error is not None
    assert "ANTHROPIC_API_KEY" in run.error["message"]


def test_a_folder_is_where_runs_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    for folder in (tmp_path / "a", str(tmp_path / "b")):
        run = MicroAgent(tools=[], lm=ScriptedLM([text("Hello.")]), traces=folder).ask("Hello?")
        assert Path(folder, f"{run.id}.jsonl").is_file()


def test_one_rule_needs_no_list() -> None:
    def never(run: Run, event: Event) -> Verdict | None:
        return Violation("No.") if isinstance(event, BeforeTool) else None

    rules: Any = never
    run = MicroAgent(tools=[add], lm=adding(), rules=rules, limits=Limits(max_steps=1)).ask("1 + 2?")
    assert [step.observation for step in run.steps] == ["No."]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"mode": "xml"}, "mode is 'xml': pass one of 'auto', 'native', 'json'"),
        ({"mode": None}, "mode is a value of type NoneType: pass one of"),
        ({"confirm": "sometimes"}, "confirm is 'sometimes': pass one of 'pause', 'never', 'all' or a function"),
        ({"confirm": True}, "confirm is True: pass one of"),
        ({"limits": 3}, "limits is 3: pass Limits(…), such as Limits(max_steps=3)"),
        ({"limits": {"max_steps": 3}}, "limits is a value of type dict: pass Limits(…), such as Limits(max_steps=6)"),
        ({"traces": True}, "traces is True: pass a folder or a TraceStore"),
        ({"traces": ""}, "traces is '': pass a folder or a TraceStore"),
        ({"rules": ["repetition"]}, "rules is 'repetition': pass functions (run, event) -> None"),
        ({"rules": "repetition"}, "rules is 'r': pass functions (run, event) -> None"),
        ({"lm": 3}, 'lm is 3: pass a dspy.LM, or a name such as "ollama_chat/llama3.2:3b"'),
        ({"lm": dspy.LM}, "lm is a value of type type: pass a dspy.LM"),
        ({"lm": "gpt-4o"}, 'names no provider: pass a name such as "ollama_chat/gpt-4o" or "openai/gpt-4o"'),
        ({"lm": "/"}, 'names no provider: pass a name such as "ollama_chat/llama3.2:3b" or "openai/gpt-4o-mini"'),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_is_wanted(given: dict[str, Any], wanted: str) -> None:
    arguments: dict[str, Any] = {"tools": [add], **given}
    with pytest.raises(ConfigurationError) as caught:
        MicroAgent(**arguments)
    assert wanted in str(caught.value)
    assert "\n" not in str(caught.value)


def test_limits_of_one_question_are_looked_at_too() -> None:
    limits: Any = 3
    with pytest.raises(ConfigurationError, match=r"such as Limits\(max_steps=3\)"):
        MicroAgent(tools=[add], lm=adding()).ask("1 + 2?", limits=limits)
