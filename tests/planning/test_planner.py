# pyright: reportUnknownMemberType=false
"""The planner: modes that a server refuses, text it throws away, demos, settings of a call."""

import asyncio
from pathlib import Path

import dspy
import pytest

from micro_agent import MicroAgent, Run, configure_lm
from micro_agent.run import Mode, Usage
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, decision, error, final, text

NO_TOOLS = "registry.ollama.ai/library/m does not support tools"
NO_SCHEMA = "response_format of type json_schema is not supported"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def asked_of(agent: MicroAgent, asynchronous: bool) -> Run:
    return asyncio.run(agent.aask("1 + 2?")) if asynchronous else agent.ask("1 + 2?")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_server_that_refuses_tools_is_used_in_json_mode_from_then_on(asynchronous: bool) -> None:
    lm = ScriptedLM([error(400, NO_TOOLS), decision("add", {"a": 1, "b": 2}), final("3"), final("three")])
    agent = MicroAgent(tools=[add], lm=lm, rules=[])
    run = asked_of(agent, asynchronous)
    assert (run.status, run.answer, run.mode) == ("completed", "3", "json")
    assert [one.mode for one in run.calls] == ["json", "json"]
    assert [bool(request.tools) for request in lm.requests] == [True, False, False]
    again = MicroAgent(tools=[add], lm=lm.copy(temperature=0.5), rules=[]).ask("again")
    assert (again.mode, again.answer, bool(lm.requests[-1].tools)) == ("json", "three", False)


def test_a_model_without_an_engine_of_ours_is_remembered_too() -> None:
    with ModelServer([error(400, NO_TOOLS), final("3"), final("three")]) as server:
        lm = dspy.LM("openai/m", api_base=server.openai_url, api_key="x", engine="lm15", cache=False)
        agent = MicroAgent(tools=[add], lm=lm, rules=[])
        assert [agent.ask("?").mode, agent.ask("?").mode] == ["json", "json"]
        assert ["tools" in (request.body or {}) for request in server.chats] == [True, False, False]


def test_a_refusal_of_the_schema_leaves_it_out() -> None:
    lm = ScriptedLM([error(400, NO_SCHEMA), final("3"), final("three")], mode="json")
    agent = MicroAgent(tools=[add], lm=lm, rules=[])
    assert (agent.ask("?").answer, agent.ask("?").answer) == ("3", "three")
    assert [bool(request.config.response_format) for request in lm.requests] == [True, False, False]


def test_both_refusals_one_after_the_other() -> None:
    lm = ScriptedLM([error(400, NO_TOOLS), error(400, NO_SCHEMA), final("3")])
    run = MicroAgent(tools=[add], lm=lm, rules=[]).ask("?")
    assert (run.answer, run.mode, len(lm.requests)) == ("3", "json", 3)


def test_a_refusal_of_tools_where_none_were_sent_ends_the_run() -> None:
    run = MicroAgent(tools=[], lm=ScriptedLM([error(400, NO_TOOLS)]), rules=[]).ask("?")
    assert (run.status, run.termination_reason) == ("failed", "lm_error")


def test_a_refusal_of_the_schema_where_none_was_sent_ends_the_run() -> None:
    lm = ScriptedLM([error(400, NO_SCHEMA)] * 3, mode="json")
    assert MicroAgent(tools=[add], lm=lm, rules=[]).ask("?").status == "failed"
    assert len(lm.requests) == 2


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_text_that_a_server_could_not_read_as_a_call_is_read_here(asynchronous: bool) -> None:
    body = {
        "error": {
            "code": "tool_use_failed",
            "message": "Failed to call a function.",
            "failed_generation": '{"name": "add", "arguments": {"a": 1, "b": 2}}',
        }
    }
    lm = ScriptedLM([error(400, "", body=body), text("3")])
    run = asked_of(MicroAgent(tools=[add], lm=lm, rules=[]), asynchronous)
    assert (run.answer, run.steps[0].observation) == ("3", 3)
    assert (run.calls[0].input_tokens, run.usage.input_tokens) == (None, None)


def test_compiled_demos_change_the_request_in_both_modes() -> None:
    demo = {"question": "0 + 0?", "decision": {"final": {"answer": "Nought."}}}
    for mode in ("native", "json"):
        lm = ScriptedLM([text("3")] * 2, mode=mode)
        run = MicroAgent(tools=[add], lm=lm, rules=[]).ask("?")
        other = MicroAgent(tools=[add], lm=lm, rules=[], demos=[demo]).ask("?")
        assert "Nought." not in str(lm.messages(0))
        assert "Nought." in str(lm.messages(1))
        assert run.digests["demos"] != other.digests["demos"]
        assert run.digests["tools"] == other.digests["tools"]


@pytest.mark.parametrize(("mode", "count"), [("native", 2), ("json", 8)])
def test_default_demos_are_for_json_mode_and_for_tools_that_are_there(mode: Mode, count: int) -> None:
    lm = ScriptedLM([text("3")] * 2, mode=mode)
    MicroAgent(tools=[add], lm=lm, rules=[]).ask("?")
    MicroAgent(tools=[add], lm=lm, rules=[], demos=[]).ask("?")
    assert (len(lm.messages(0)), len(lm.messages(1))) == (count, 2)


def test_instructions_of_an_optimizer_open_the_prompt(tmp_path: Path) -> None:
    path = tmp_path / "demos.json"
    path.write_text('{"demos": [], "instructions": "Be terse."}', encoding="utf-8")
    lm = ScriptedLM([text("3")])
    MicroAgent(tools=[add], lm=lm, rules=[], demos=path).ask("?")
    assert lm.messages(0)[0]["content"] == "Be terse."


def test_the_sampling_of_a_model_goes_on_the_wire() -> None:
    with ModelServer([text("3")]) as server:
        lm = configure_lm("openai", "m", server.openai_url, temperature=0.7, max_tokens=50, seed=4)
        MicroAgent(tools=[add], lm=lm, rules=[]).ask("?")
        body = server.chats[0].body or {}
    assert (body["temperature"], body["seed"]) == (0.7, 4)
    assert 50 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def test_a_price_makes_a_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_INPUT_PRICE_PER_1K", "1")
    monkeypatch.setenv("OPENAI_OUTPUT_PRICE_PER_1K", "2")
    with ModelServer([text("3", usage=(1000, 500))]) as server:
        lm = configure_lm("openai", "m", server.openai_url)
        run = MicroAgent(tools=[add], lm=lm, rules=[]).ask("?")
    asked = Usage(lm_calls=1, input_tokens=10, output_tokens=5, cost_usd=0.02)
    assert (run.calls[0].cost_usd, run.steps[-1].usage, run.usage.cost_usd) == (2.0, asked, 2.02)


def test_the_request_is_on_record_message_by_message() -> None:
    def script(request: Received) -> Reply:
        return text("3") if request.messages[-1]["role"] == "tool" else call("add", {"a": 1, "b": 2}, id="x")

    agent = MicroAgent(tools=[add], lm=ScriptedLM(script), rules=[])
    one, two, other = agent.ask("1 + 2?"), agent.ask("1 + 2?"), agent.ask("2 + 1?")
    first, second = (made.request for made in one.calls)
    assert (first["messages"], first["shared"], len(first["chain"])) == (1, 0, 1)
    assert (second["messages"], second["shared"], len(second["chain"])) == (3, 1, 2)
    assert second["sha256"] == second["chain"][-1]
    assert [made.request for made in one.calls] == [made.request for made in two.calls]
    assert other.calls[0].request["chain"] != first["chain"]
