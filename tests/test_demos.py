"""Few-shot demos: the default ones, files of compiled ones, and what is said about damaged files."""

import json
from pathlib import Path
from typing import Any

import pytest

from micro_agent.demos import default_demos, instructions, json_form, load_demos, with_decision
from micro_agent.errors import DemosError

GOOD: dict[str, Any] = {
    "question": "1 + 2?",
    "steps": [{"tool": "add", "args": {"a": 1, "b": 2}, "observation": 3}],
    "decision": {"final": {"answer": "3"}},
}


def test_default_demos_show_tools_that_are_there() -> None:
    assert {demo["question"] for demo in default_demos([])} < {demo["question"] for demo in default_demos(["now"])}
    assert default_demos(iter(["now", "calculator"])) == default_demos(["now", "calculator"])
    shown = str(default_demos(["now", "calculator"]))
    assert "'tool': 'calculator'" in shown
    assert "'name': 'now'" in shown


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


def test_what_shows_no_decision_is_no_demo() -> None:
    labelled = {"question": "?", "answer": "3"}
    unread: dict[str, Any] = {"question": "?", "steps": [], "decision": {"error": {"reason": "empty"}}}
    assert with_decision([labelled, GOOD, unread, {"question": "?", "decision": None}]) == [GOOD]
