"""The outputs in ``outputs/reported.jsonl``: what users report of real models, read by whoever has a text and tools."""

import json
from pathlib import Path
from typing import Any, cast

from micro_agent.decoding import Final, ToolCalls, decode_text
from micro_agent.rules.same import same
from micro_agent.tools import Tool
from tests.each import each

Item = dict[str, Any]

FOLDER = Path(__file__).parent / "outputs"

ITEMS: list[Item] = [json.loads(line) for line in (FOLDER / "reported.jsonl").read_text("utf-8").splitlines()]
TOOLS: dict[str, Item] = json.loads((FOLDER / "reported_tools.json").read_text("utf-8"))
CALLS = [item for item in ITEMS if item["class"] in ("clean", "malformed")]


ASKED = frozenset({
    "h:066", "h:104", "h:130", "h:140", "h:151", "h:157", "h:181", "h:269", "h:372", "h:387", "h:398", "c091", "c231",
    "d:169", "d:178", "d:183", "d:184",
})  # fmt: skip
"""Calls that a text shows, offers or refuses, which no structure tells from calls that are meant: the loop asks."""


def named(item: Item) -> str:
    return item["id"]


def read(item: Item) -> Any:
    told = [TOOLS[name] for name in item["tools"]]
    return decode_text(item["text"], [Tool(t["name"], t.get("description", ""), t["parameters"], print) for t in told])


@each("item", CALLS, ids=named)
def test_what_was_meant_is_called_with_these_arguments(item: Item) -> None:
    decision, meant = read(item), item["expected"].get("calls", [item["expected"]])
    assert isinstance(decision, ToolCalls), decision
    found: list[Item] = [{"name": call.name, "args": call.args} for call in decision.calls]
    assert same(found, cast("list[Item]", meant)), found


@each("item", [item for item in ITEMS if item not in CALLS], ids=named)
def test_nothing_else_is_called(item: Item) -> None:
    found = read(item)
    asked = isinstance(found, ToolCalls) and {call.standing for call in found.calls} == {"embedded"}
    assert asked == (item["id"] in ASKED)
    assert asked or not isinstance(found, ToolCalls)


def test_answers_are_answers() -> None:
    answers = [item for item in ITEMS if item["class"] == "final"]
    kept = [item for item in answers if isinstance(read(item), Final) or item["id"] in ASKED]
    assert len(kept) >= 0.98 * len(answers), {item["id"] for item in answers if item not in kept}
