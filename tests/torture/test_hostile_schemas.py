"""Random and well-known schemas that take for ever to check, by way of the library: each call is over soon."""

import json
import subprocess
import sys
from itertools import pairwise
from random import Random
from typing import Any

import pytest

pytestmark = pytest.mark.torture

SECONDS = 55
PIECES = ["a", "b", "(a|aa)", "(a*)", "(a|b|ab)", "(?:a+)", r"(a)\1", "(?=a+)", "(?!b)", "[ab]", ".", r"\w", "(a?){30}"]
COUNTS = ["", "*", "+", "?", "{2,}", "{3}", "*?", "{0,40}"]
COMBINE = ["anyOf", "oneOf", "allOf"]

# In a process of its own: what freezes holds the lock of the interpreter, and could not be stopped from inside.
CHECK = """
import json, sys
from micro_agent import MicroAgent, Tool
from micro_agent.errors import ToolDefinitionError
from micro_agent.testing import ScriptedLM, call, text

for line in sys.stdin:
    schema, args = json.loads(line)
    try:
        tool = Tool("f", "", {"type": "object", **schema}, lambda **args: "ran")
    except ToolDefinitionError:
        print("refused", flush=True)
        continue
    for mode in ("native", "json"):
        lm = ScriptedLM([call("f", args), text("Done.")], mode=mode)
        run = MicroAgent(tools=[tool], lm=lm, rules=[], mode=mode).ask("?")
        print(run.status, [step.error for step in run.steps], end=" ")
    print(flush=True)
"""


def pattern(random: Random) -> str:
    parts = [random.choice(PIECES) + random.choice(COUNTS) for _ in range(random.randint(1, 5))]
    inner = "".join(parts)
    for _ in range(random.randint(0, 3)):
        inner = f"({inner}){random.choice(COUNTS)}"
    return f"^{inner}$"


def schema(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Properties of every kind that holds schemas, over definitions that refer to each other, and arguments."""
    names = [f"d{n}" for n in range(random.randint(2, 30))]
    last: list[dict[str, Any]] = [{"pattern": pattern(random)}, {"uniqueItems": True}, {"multipleOf": 1e-9}]
    defs: dict[str, Any] = {names[0]: random.choice([*last, {"type": "integer"}])}
    for below, name in pairwise(names):
        reference = {"$ref": f"#/$defs/{random.choice([below, below, name])}"}
        defs[name] = random.choice([
            {random.choice(COMBINE): [reference, {"title": "again", **reference}]},
            {"items": reference}, {"additionalProperties": reference}, {"propertyNames": reference},
            {"contains": reference}, {"if": reference, "then": reference, "else": reference}, {"not": reference},
            {"patternProperties": {pattern(random): reference}, "unevaluatedProperties": False},
            {"dependentSchemas": {"a": reference}, "unevaluatedItems": reference},
        ])  # fmt: skip
    text = "a" * random.choice([3, 30, 3000]) + random.choice(["", "b", "\n"])
    values: list[Any] = [text, [text] * 50, {text: text}, 3, 1e300, [[n] for n in range(3000)], {"a": {"a": [text]}}]
    return {"properties": {"x": {"$ref": f"#/$defs/{names[-1]}"}}, "$defs": defs}, {"x": random.choice(values)}


KNOWN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"properties": {"x": {"pattern": r"^([a-z]+\.?)+@example\.com$"}}}, {"x": "a" * 60}),
    ({"properties": {"x": {"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}}}, {"x": "a" * 60}),
    ({"properties": {"x": {"pattern": r"^(\d+)*\s$"}}}, {"x": "1" * 60}),
    ({"properties": {"x": {"pattern": "(x+x+)+y"}}}, {"x": "x" * 60}),
    ({"properties": {"x": {"pattern": r"\s+$"}}}, {"x": " " * 50_000 + "x"}),
    ({"properties": {"x": {"pattern": "^((a{1000}){1000}){1000}$"}}}, {"x": "a"}),
    ({"properties": {"x": {"pattern": "[a" * 2500}}}, {"x": "a"}),
    ({"properties": {"x": {"pattern": "(" * 5000}}}, {"x": "a"}),
    ({"properties": {"x": {"$ref": "#/properties/x"}}}, {"x": "a"}),
    ({"properties": {"x": {"allOf": [{"$ref": "#"}]}}}, {"x": {"x": {"x": 1}}}),
    ({"properties": {"x": {"enum": [[0] * 500 + [n] for n in range(500)]}}}, {"x": [0] * 501}),
    ({"properties": {f"k{n}": {} for n in range(2000)}}, {f"z{n}": n for n in range(20_000)}),
]


@pytest.mark.parametrize("which", ["known", "random"])
def test_no_schema_freezes_the_process(which: str) -> None:
    random = Random(7)
    cases = KNOWN if which == "known" else [schema(random) for _ in range(60)]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(
        [sys.executable, "-c", CHECK], input=lines, capture_output=True, text=True, timeout=6 * SECONDS, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout.splitlines()
    assert len(told) == len(cases)
    assert [line for line in told if line != "refused" and line.count("completed") != 2] == []
