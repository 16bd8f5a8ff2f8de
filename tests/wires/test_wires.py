"""What is said to a model on each wire: prompt, schema, calls, observations, words of the loop, demos."""

from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from micro_agent import MicroAgent, Run, Step, Tool
from micro_agent.context.views import view_of
from micro_agent.run import (
    CONFIRMATION_REQUIRED,
    CONTEXT_TRIMMED,
    FINISH_ASKED,
    MAKE_ASKED,
    MARKERS,
    REPETITION,
    SELF_CORRECTION,
    VALIDATION_ERROR,
    WARNING,
    LMCall,
    Mode,
)
from micro_agent.testing import ScriptedLM, call, calls, decision, final, text
from micro_agent.text.encoding import as_json, encodable
from micro_agent.wires import JsonWire, NativeWire, decision_schema, shown

TREE = {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "object"}}}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def walk(tree: dict[str, Any]) -> str:
    """Walk a tree."""
    return str(tree)


PLAIN = Tool("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, add)
NESTED = Tool("walk", "Walk.", TREE, walk)


def test_the_json_system_prompt_has_the_form_and_every_tool_with_its_arguments() -> None:
    prompt = JsonWire().system("Be good.", [PLAIN, NESTED])
    assert prompt.startswith("Be good.\n")
    assert '{"tool": {"name": "<tool name>", "args": {<arguments>}}}' in prompt
    assert "- add(a: int): Add.\n- walk(t?: dict): Walk." in prompt
    assert JsonWire().system("Be good.", []).endswith("Tools:\n(none)")


def test_native_tools_stand_on_the_wire_and_not_in_the_prompt() -> None:
    assert NativeWire().system("Be good.", [PLAIN]) == "Be good."
    assert [tool.parameters for tool in NativeWire().tools([PLAIN])] == [PLAIN.parameters]
    assert NativeWire().response_format([PLAIN]) is None
    assert JsonWire().tools([PLAIN]) == ()


def test_schemas_reach_the_wire_unchanged() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "node": {"$ref": "#/$defs/node"},
            "name": {"type": ["string", "null"]},
            "mode": {"enum": ["fast", "slow", None]},
            "size": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "grid": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        },
        "required": ["node"],
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }
    before = as_json(schema)
    tool = Tool("walk", "Walk.", schema, walk)
    lm = ScriptedLM([call("walk", {"node": {}}), text("Done.")])
    MicroAgent(tools=[tool], lm=lm, mode="native").ask("Walk.")
    for request in lm.requests:
        assert [as_json(cast("Any", sent).parameters) for sent in request.tools] == [before]
    assert before in JsonWire().system("", [tool])


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"tool": {"name": "add", "args": {"a": 1}}}, True),
        ({"tool": {"name": "add", "args": {"a": "x"}}}, False),
        ({"tool": {"name": "walk", "args": {"anything": 1}}}, True),
        ({"tool": {"name": "nope", "args": {}}}, False),
        ({"final": {"answer": "3"}}, True),
        ({"final": {"answer": 3}}, False),
        ({"final": {"answer": "3"}, "tool": {"name": "add", "args": {"a": 1}}}, False),
    ],
)
def test_the_schema_of_a_decision_holds_names_and_arguments(value: dict[str, Any], fits: bool) -> None:
    schema = decision_schema([PLAIN, NESTED])
    assert "$ref" not in as_json(schema)
    assert Draft202012Validator(schema).is_valid(value) is fits  # pyright: ignore[reportUnknownMemberType]


_WITHOUT_A_PREFIX = {CONFIRMATION_REQUIRED, VALIDATION_ERROR, FINISH_ASKED, MAKE_ASKED}


@pytest.mark.parametrize("marker", sorted(MARKERS - _WITHOUT_A_PREFIX))
def test_a_word_of_the_loop_says_what_kind_it_is(marker: str) -> None:
    said = shown({"tool": marker, "observation": "Look."})
    prefix = (
        "Note: " if marker in (WARNING, REPETITION, SELF_CORRECTION, CONTEXT_TRIMMED) else said[: said.index(":") + 2]
    )
    assert said == f"{prefix}Look."
    assert prefix in ("Policy: ", "Format: ", "Note: ")


def test_an_observation_is_one_line_of_json_and_text_stays_text() -> None:
    assert shown({"tool": "add", "observation": {"größe": [1, None]}}) == '{"größe": [1, null]}'
    assert shown({"tool": "add", "observation": "a\nb"}) == "a\nb"
    assert encodable("a\ud800b") == "a?b"


def test_json_mode_says_calls_and_observations_as_text() -> None:
    lm = ScriptedLM([calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})), final("7")], mode="json")
    run = MicroAgent(tools=[add], lm=lm, rules=[], demos=[]).ask("Sums?")
    assert run.answer == "7"
    assert [one["content"] for one in lm.messages(1)[1:]] == [
        "Sums?",
        '{"tool": {"name": "add", "args": {"a": 1, "b": 2}}}', "Tool [add] output:\n3",
        '{"tool": {"name": "add", "args": {"a": 3, "b": 4}}}', "Tool [add] output:\n7",
    ]  # fmt: skip
    assert [one["role"] for one in lm.messages(1)[1:]] == ["user", "assistant", "user", "assistant", "user"]


def test_prose_beside_a_native_call_is_kept_and_thoughts_are_not() -> None:
    lm = ScriptedLM([call("add", {"a": 1, "b": 2}, text="<think>hm</think>Let me see."), text("3")])
    MicroAgent(tools=[add], lm=lm, rules=[]).ask("1 + 2?")
    assert lm.messages(1)[2]["content"] == "Let me see."


@pytest.mark.parametrize("rule", [False, True])
def test_a_call_found_in_text_is_said_as_a_call_once(rule: bool) -> None:
    from micro_agent.rules import BeforeTool, Event, Verdict, Violation

    def forbid(run: Run, event: Event) -> Verdict | None:
        return Violation("No.") if isinstance(event, BeforeTool) else None

    lm = ScriptedLM([text('{"name": "add", "arguments": {"a": 1, "b": 2}}'), text("3")])
    MicroAgent(tools=[add], lm=lm, rules=[forbid] if rule else []).ask("1 + 2?")
    said = lm.messages(1)[2]
    assert (said["content"], said["tool_calls"][0]["function"]["name"]) == (None, "add")


def test_arguments_that_no_server_takes_are_mended_on_the_wire_and_kept_on_record() -> None:
    lm = ScriptedLM([call("add", '{"a": "\\ud800", "b": [1]}'), text("no")])
    run = MicroAgent(tools=[add], lm=lm, rules=[]).ask("1 + 2?")
    assert run.steps[0].args["args"]["a"] == "\ud800"
    assert lm.messages(1)[2]["tool_calls"][0]["function"]["arguments"] == r'{"a":"\ufffd","b":[1]}'


def test_what_a_planner_sees_of_a_step_that_no_reply_asked_for() -> None:
    run = Run(question="?", calls=[LMCall(reply={})])
    assert view_of(Step(tool=WARNING, observation="x"), run.calls) == {"tool": WARNING, "args": {}, "observation": "x"}


DEMOS: list[dict[str, Any]] = [
    {
        "question": "3 + 4?",
        "steps": [{"tool": "add", "args": {"a": 3, "b": 4}, "observation": 7}],
        "decision": {"final": {"answer": "7"}},
    },
    {"question": "5 + 6?", "steps": [], "decision": {"tool": {"name": "add", "args": {"a": 5, "b": 6}}}},
]


def test_demos_come_before_the_question_in_native_mode() -> None:
    lm = ScriptedLM([text("3")])
    MicroAgent(tools=[add], lm=lm, rules=[], demos=DEMOS).ask("1 + 2?")
    said = lm.messages(0)[1:]
    assert [one["role"] for one in said] == [
        "user", "assistant", "tool", "assistant", "user", "assistant", "tool", "user",
    ]  # fmt: skip
    asked = [one["tool_calls"][0]["id"] for one in said if one.get("tool_calls")]
    assert asked == [one["tool_call_id"] for one in said if one["role"] == "tool"]
    assert len(set(asked)) == 2
    assert [one["content"] for one in said if one["role"] == "tool"] == ["7", "(not shown)"]
    assert said[-1]["content"] == "1 + 2?"


def test_demos_come_before_the_question_in_json_mode_with_alternating_roles() -> None:
    lm = ScriptedLM([final("3")], mode="json")
    MicroAgent(tools=[add], lm=lm, rules=[], demos=DEMOS).ask("1 + 2?")
    said = lm.messages(0)[1:]
    assert [one["role"] for one in said] == ["user", "assistant"] * 3 + ["user"]
    assert said[-2]["content"] == '{"tool": {"name": "add", "args": {"a": 5, "b": 6}}}'


def recorded_demo() -> dict[str, Any]:
    """A demo as an optimizer takes it from a run in which the model was refused, not understood and warned."""
    from micro_agent.rules import AfterStep, BeforeFinish, Event, Verdict, Violation, Warn

    def rule(run: Run, event: Event) -> Verdict | None:
        if isinstance(event, AfterStep):
            return Warn("Go on.")
        return Violation("Add first.") if isinstance(event, BeforeFinish) and not run.usage.tool_calls else None

    script = [text("3"), text(""), calls(("nope", {}), ("add", {"a": 1, "b": 2})), text("3")]
    run = MicroAgent(tools=[add], lm=ScriptedLM(script), rules=[rule]).ask("1 + 2?")
    steps = [view_of(step, run.calls) for step in run.steps]
    return {"question": run.question, "steps": steps, "decision": {"final": {"answer": "3"}}}


@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_recorded_demo_reads_like_the_run_it_was(mode: Mode) -> None:
    lm = ScriptedLM([text("3")], mode=mode)
    MicroAgent(tools=[add], lm=lm, rules=[], demos=[recorded_demo()]).ask("Now you: 4 + 5?")
    said = lm.messages(0)[1:]
    words = [one["content"] or "" for one in said]
    assert any(word.startswith("Policy: Add first.") for word in words)
    assert any(word.startswith("Format: ") for word in words)
    assert any("Note: Go on." in word for word in words)
    if mode == "json":
        assert [one["role"] for one in said] == ["user", "assistant"] * (len(said) // 2) + ["user"]
        assert decision("nope", {}).text in words


def test_ids_of_recorded_demos_are_those_of_no_other_call() -> None:
    lm = ScriptedLM([call("add", {"a": 1, "b": 2}), text("3")])
    demo = recorded_demo()
    MicroAgent(tools=[add], lm=lm, rules=[], demos=[demo, demo]).ask("Now you: 4 + 5?")
    ids = [asked["id"] for one in lm.messages(1) for asked in one.get("tool_calls") or ()]
    assert len(ids) == len(set(ids)) == 5


def test_default_demos_alternate_too() -> None:
    lm = ScriptedLM([final("3")], mode="json")
    MicroAgent(lm=lm, rules=[]).ask("1 + 2?")
    said = lm.messages(0)[1:]
    assert len(said) > 5
    assert [one["role"] for one in said] == ["user", "assistant"] * (len(said) // 2) + ["user"]
