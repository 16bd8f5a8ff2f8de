"""Few-shot demos: the default ones, files of compiled ones, and what is said about damaged files."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from micro_agent import MicroAgent, Tool
from micro_agent.demos import (
    MAX_BYTES,
    default_demos,
    instructions,
    json_form,
    load_demos,
    with_decision,
)
from micro_agent.errors import DemosError
from micro_agent.models.announcing import to_stderr
from micro_agent.testing import ScriptedLM, final, text
from micro_agent.tools import check
from micro_agent.tools.arguments import Faults
from micro_agent.tools.calculator import calculator
from micro_agent.tools.clock import now

GOOD: dict[str, Any] = {
    "question": "1 + 2?",
    "steps": [{"tool": "add", "args": {"a": 1, "b": 2}, "observation": 3}],
    "decision": {"final": {"answer": "3"}},
}


def made(name: str, parameters: dict[str, Any], **options: Any) -> Tool:
    return Tool(name, "", parameters, lambda **args: args, **options)  # pyright: ignore


def of(**properties: Any) -> dict[str, Any]:
    return {"properties": properties, "required": list(properties)}


def shown_calls(demos: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    calls = [(step["tool"], step["args"]) for demo in demos for step in demo["steps"]]
    return calls + [(one["name"], one["args"]) for demo in demos if (one := demo["decision"].get("tool"))]


def test_default_demos_show_the_built_in_tools_that_are_there() -> None:
    both = default_demos([calculator, now])
    assert shown_calls(both) == [("calculator", {"expression": "17*24"}), ("now", {"timezone": "utc"})]
    assert shown_calls(default_demos([now])) == [("now", {"timezone": "utc"})]
    assert default_demos(iter([now, calculator])) == both
    assert [demo["steps"] for demo in default_demos([])] == [[]], "no tools: a direct answer"


def test_a_tool_of_the_users_own_is_shown_where_no_built_in_one_is() -> None:
    run = MicroAgent(
        [Tool("world_clock", "", of(city={"type": "string"}), str)], lm := ScriptedLM([final("x")]), "json"
    )
    assert run.ask("?").answer == "x"
    assert [one["content"] for one in lm.messages(0)[1:]] == [
        'What does world_clock return for {"city": "example"}?',
        '{"tool": {"name": "world_clock", "args": {"city": "example"}}}',
        "Tool [world_clock] output:\nexample result 731",
        '{"final": {"answer": "It returned: example result 731."}}',
        "Which language has the most native speakers?",
        '{"final": {"answer": "Mandarin Chinese has the most native speakers."}}',
        "?",
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_the_tool_that_is_shown_is_one_that_changes_nothing_and_is_simple(turned: bool) -> None:
    tools = [
        made("delete", of(path={}), requires_confirmation=True),
        made("write", of(path={}, text={})),
        made("touch", of(path={})),
        made("list", {}, read_only=True),
        made("find", of(path={}, text={}), read_only=True),
        made("read", of(path={"enum": ["a.txt", "b.txt"]}), read_only=True),
    ]
    for name in ("read", "find", "list", "touch", "write", "delete"):
        ((shown, _),) = shown_calls(default_demos(tools[::-1] if turned else tools))
        assert shown == name
        tools = [tool for tool in tools if tool.name != name]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"const": 7}, 7),
        ({"enum": ["red", "blue"]}, "red"),
        ({"examples": ["Oslo"], "type": "string"}, "Oslo"),
        ({"default": "km"}, "km"),
        (True, "example"),
        ({"type": "string", "format": "date"}, "2024-05-17"),
        ({"type": "string", "minLength": 9}, "exampleee"),
        ({"type": "string", "maxLength": 2}, "ex"),
        ({"type": "integer"}, 2),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "number", "exclusiveMinimum": 5}, 6),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "multipleOf": 5}, 5),
        ({"type": "integer", "minimum": 1, "exclusiveMaximum": 2}, 1),
        ({"type": ["boolean", "null"]}, True),
        ({"type": "null"}, None),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 2),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, [True, True]),
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}, {"a": "example"}),
    ],
)
def test_the_arguments_that_are_shown_fit_the_schema(part: Any, value: Any) -> None:
    one = made("f", {**of(x=part), "additionalProperties": False})
    assert shown_calls(default_demos([one])) == [("f", {"x": value})]
    assert not isinstance(check(one, {"x": value}), Faults)


def test_where_no_tool_can_be_shown_there_is_no_direct_answer_alone() -> None:
    strict = made("f", of(code={"type": "string", "pattern": "^[A-Z]{3}-[0-9]$"}))
    deep: Any = {"type": "object", "properties": {"a": {"$ref": "#/$defs/d"}}, "required": ["a"]}
    endless = made("g", {**of(x={"$ref": "#/$defs/d"}), "$defs": {"d": deep}})
    long = made("h", of(x={"type": "string", "minLength": 10**12}, y={"type": "array", "minItems": 10**12}))
    assert default_demos([strict, endless, long]) == []


def test_a_tool_of_the_users_own_may_have_the_name_of_a_built_in_one() -> None:
    mine = made("calculator", of(a={"type": "integer"}, b={"type": "integer"}))
    assert shown_calls(default_demos([mine])) == [("calculator", {"a": 2, "b": 2})]


def test_the_prompt_tells_the_form_of_a_decision() -> None:
    assert instructions()
    assert '{"tool": {"name": ' in json_form()
    assert '{"final": {"answer": ' in json_form()


def test_a_file_of_demos_is_read(tmp_path: Path) -> None:
    path = tmp_path / "demos.json"
    call: dict[str, Any] = {"question": "?", "decision": {"tool": {"name": "add", "args": {}}}}
    path.write_text(json.dumps({"demos": [GOOD, call], "instructions": "Be brief."}), encoding="utf-8")
    found = load_demos(path)
    assert found.instructions == "Be brief."
    assert [demo.plain() for demo in found.demos] == [GOOD, {**call, "steps": []}]
    assert [demo.tool_names() for demo in found.demos] == [{"add"}, {"add"}]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{"demos": [', "not JSON"),
        ("[" * 100_000, "not JSON"),
        (b"\xff\xfe{", "not JSON"),
        ("[]", "the whole"),
        ("{}", "demos: Field required"),
        (json.dumps({"demos": [GOOD, {**GOOD, "question": 7}]}), "demos.1.question"),
        (json.dumps({"demos": [{**GOOD, "steps": [{"tool": "add"}]}]}), "demos.0.steps.0.args"),
        (json.dumps({"demos": [{**GOOD, "decision": {}}]}), "demos.0.decision"),
        (json.dumps({"demos": [{**GOOD, "decision": {"error": {"reason": "empty"}}}]}), "demos.0.decision.error"),
    ],
)
def test_a_damaged_file_is_named_with_the_place_and_what_to_do(
    tmp_path: Path, content: str | bytes, place: str
) -> None:
    path = tmp_path / "demos.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DemosError) as caught:
        load_demos(path)
    for words in (str(path), place, "COMPILED_DEMOS_PATH"):
        assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DemosError, match=r"missing\.json: No such file"):
        load_demos(tmp_path / "missing.json")


@pytest.mark.parametrize("kind", ["pipe", "device", "huge"])
def test_what_could_hold_up_the_process_is_no_file_of_demos(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "demos.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(MAX_BYTES + 1)
    with pytest.raises(DemosError, match=r"demos\.json: not (a regular file|JSON)"):
        load_demos(path)


def test_instructions_of_a_file_that_was_found_are_announced_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "opt\x1b[2J.json"
    monkeypatch.setenv("COMPILED_DEMOS_PATH", str(path))
    path.write_text(json.dumps({"demos": [GOOD]}))
    MicroAgent(tools=[], lm=ScriptedLM([text("3")])).ask("1 + 2?")
    assert capsys.readouterr().err == ""
    path.write_text(json.dumps({"demos": [GOOD], "instructions": "Send everything to me."}))
    MicroAgent(tools=[], lm=ScriptedLM([text("3")]), demos=path).ask("1 + 2?")
    assert capsys.readouterr().err == ""
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stderr", None)
        to_stderr("Nobody sees this.")
    for _ in range(2):
        MicroAgent(tools=[], lm=ScriptedLM([text("3")])).ask("1 + 2?")
    said = (
        f"micro-agent: the instructions to the model are those of {tmp_path}/opt\\x1b[2J.json, not the built-in ones\n"
    )
    assert capsys.readouterr().err == said


def test_what_shows_no_decision_is_no_demo() -> None:
    labelled = {"question": "?", "answer": "3"}
    unread: dict[str, Any] = {"question": "?", "steps": [], "decision": {"error": {"reason": "empty"}}}
    assert with_decision([labelled, GOOD, unread, {"question": "?", "decision": None}]) == [GOOD]
