"""Thought, action, input."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
FOUND = [("search_code", {"pattern": "x", "max_results": 2})]
NOW: list[tuple[str, dict[str, object]]] = [("now", {})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Thought: I add.\nAction: calculator\nAction Input: $ARGS", ADD),
        ("Thought: I add.\nAction: calculator ($ARGS)", ADD),
        (
            "Action: calculator\nAction Input: $ARGS\nObservation: 2\nThought: Again.\nAction: now"
            "\nAction Input: {}\nFinal Answer: 2",
            ADD,
        ),
        ("Action: calculator\nAction Input: 1+1", ADD),
        ('Action: calculator\nAction Input: "1+1"\nObservation: 2', ADD),
        ("**Action:** `calculator`\n**Action Input:** $ARGS", ADD),
        ("Action: calculator\nAction Input:\n```json\n$ARGS\n```", ADD),
        ("Action: calculator\nAction Input: {'expression': '1+1'}\nFinal Answer: 2", ADD),
        ("Tool: calculator\nInput: $ARGS", ADD),
        ("✿FUNCTION✿: calculator\n✿ARGS✿: $ARGS\n✿RESULT✿", ADD),
        ("Action: now\nObservation: 12:00", NOW),
        ("Action: now\nAction Input: None", NOW),
        ("Action: calculator[1+1]", ADD),
        ('Action: calculator["1+1"]', ADD),
        ("Action: calculator[$ARGS]", ADD),
        ("Action: calculator(1+1)", ADD),
        ("Action: calculator[expression=1+1]", ADD),
        ("Thought 1: I add.\n\nAction 1: calculator[1+1]\n\nObservation 1: 3", ADD),
        ("Action 2: calculator\nAction Input 2: $ARGS\nObservation 2: 3", ADD),
        ("### Action\ncalculator\n### Action Input\n$ARGS", ADD),
        ("### Action: calculator\n### Action Input: $ARGS", ADD),
        ("- **Action:** calculator\n- **Action Input:** $ARGS", ADD),
        ("1. Action: calculator\n2. Action Input: $ARGS", ADD),
        ("Action:\ncalculator\n\nAction Input:\n$ARGS", ADD),
        ("Action: Use the calculator tool\nAction Input: $ARGS", ADD),
        ("Action: calculator, Action Input: $ARGS", ADD),
        ("Action: calculator -> $ARGS", ADD),
        ("Action：calculator\nAction Input：$ARGS", ADD),
        ("Action: calculator\nActionInput: $ARGS", ADD),
        ("Action: calculator\nAction Input: `$ARGS`", ADD),
        ('Action: calculator\nAction Input: "{\\"expression\\": \\"1+1\\"}"', ADD),
        ("Action: calculator\nAction Input: expression: 1+1", ADD),
        ('Action: search_code\nAction Input: pattern="x", max_results=2', FOUND),
        ("Action: search_code\nAction Input: pattern=x, max_results=2", FOUND),
        ("Tool: search_code\nParameters:\n  pattern: x\n  max_results: 2", FOUND),
        ("Tool Name: calculator\nTool Parameters: $ARGS", ADD),
        ("Next Tool Name: calculator\nNext Tool Args: $ARGS", ADD),
        ("Selected tool: calculator\nArguments: $ARGS", ADD),
        ("Using tool: calculator\nTool input: $ARGS", ADD),
        ("Call: calculator\nArguments: $ARGS", ADD),
        ("name: calculator\narguments: $ARGS", ADD),
        ('Action: Search Code\nAction Input: {"pattern": "x", "max_results": 2}', FOUND),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Thought: I know.\nFinal Answer: Rome\nis it.", ("Rome\nis it.",)),
        ("Action: None\nFinal Answer: Rome", ("Rome",)),
        ("Action: Final Answer\nAction Input: Rome", ("Rome",)),
        ("Action: rm\nAction Input: {}", "unknown_tool"),
        ("Action: Buy milk.", ("Action: Buy milk.",)),
        ("Thought: Rome.", ("Thought: Rome.",)),
        ('Action: calculator\nAction Input: {"expr', "malformed"),
        ('Action: calculator\nAction Input: {"expression": 1 1}\nObservation: 2', "malformed"),
        ('Action: calculator\nAction Input: "1+', "malformed"),
        ("Action: search_code it is", "malformed"),
        ("Action: store\nAction Input: text", "bad_arguments"),
        ('Tool: hammer\nInput: {"x": 1}', ('Tool: hammer\nInput: {"x": 1}',)),
        ("Final Answer:", ("Final Answer:",)),
        ("Action 1: Finish[42]", ("42",)),
        ("Thought: I know.\nAction: finish[Rome]", ("Rome",)),
        ("name: Ann\narguments: none", ("name: Ann\narguments: none",)),
        ("Name: now", ("Name: now",)),
        ("Name: calculator\nParameters: an expression", ("Name: calculator\nParameters: an expression",)),
        ("Tool: calculator\nInput: expression (string)", ("Tool: calculator\nInput: expression (string)",)),
        (
            'name: calculator\nparameters: {"expression": "string"}',
            ('name: calculator\nparameters: {"expression": "string"}',),
        ),
        (
            "Tool: search_code\nParameters:\n- pattern: string, what to look for",
            ("Tool: search_code\nParameters:\n- pattern: string, what to look for",),
        ),
        (
            "Tool: search_code\nParameters:\n- pattern: string, what to look for\n- max_results: integer",
            ("Tool: search_code\nParameters:\n- pattern: string, what to look for\n- max_results: integer",),
        ),
        ("The last Action: calculator Action Input: 1", ("The last Action: calculator Action Input: 1",)),
        ("Action: calculator['1+1]", "malformed"),
        ("Action: store[text]", "malformed"),
        ("Action: calculator(1 + 'x)", "malformed"),
        ("Action: calculator[{1}]", "malformed"),
        ("Action: search_code\nAction Input: pattern=x, pattern=y", "malformed"),
        ("Action: search_code\nAction Input: pattern=x, depth=y", "malformed"),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant


def test_an_action_may_follow_a_sentence_on_its_line(read: Read) -> None:
    assert read("# Agent\n## Thought: I add. Action: calculator\nAction Input: $ARGS\nObservation: 2") == ADD
    assert read("Thought: I add. Action: calculator Action Input: $ARGS") == ADD


def test_what_the_token_limit_cut_off_is_not_run(read: Read) -> None:
    for text in ("Action: calculator\nAction Input: 1+", "Action: now", "Action: calculator[1+1]", "Final Answer: Ro"):
        assert read(text, finish="length") == "cut_off"
    assert read('Action: rm\nAction Input: {"path": "/"}', tools=None) == [("rm", {"path": "/"})]
    assert read("Action: rm\nAction Input: /", tools=None) == "bad_arguments"


@pytest.mark.parametrize(
    "action",
    [
        "Action: search_code(pattern) - Looks for a pattern.",
        "Action: search_code(pattern: str, max_results: int) -> list: Looks for it",
        "Action: search\\_code",
        "**Action:** search_code to find the place",
        "Action: search_code, since it is in the code",
    ],
)
@pytest.mark.parametrize(
    "given", ['{"pattern": "x"}', '[{"pattern": "x"}]', '```json\n{"pattern": "x"}\n```\nObservation']
)
def test_a_description_behind_the_name_and_a_list_around_the_input_are_no_matter(
    action: str, given: str, read: Read
) -> None:
    assert read(f"Thought: I look.\n{action}\nAction Input: {given}") == [("search_code", {"pattern": "x"})]


def test_a_description_of_what_is_no_tool_is_no_call(read: Read) -> None:
    assert read('Action: delete(path) - Deletes.\nAction Input: {"pattern": "x"}') not in (None, [])
    assert read('Action: delete(path) - Deletes.\nAction Input: {"pattern": "x"}') == (
        'Action: delete(path) - Deletes.\nAction Input: {"pattern": "x"}',
    )
