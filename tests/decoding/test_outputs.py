"""The labelled model outputs in ``outputs/``: how many are read as meant, and that no call is run which was not meant.

``pytest -s`` prints the table.
"""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from micro_agent.decoding import Final, ModelReply, ToolCalls, decode
from micro_agent.tools import Ready, Tool, prepare

FOLDER = Path(__file__).parent / "outputs"
CLASSES = ("clean", "malformed", "final", "ambiguous", "hopeless")
ASKED = {"clean": 0.97, "malformed": 0.90, "final": 1.0, "ambiguous": 1.0, "hopeless": 1.0}
EXACT, MISSED, WRONG, INVENTED = "exact", "missed", "wrong", "invented"

Item = dict[str, Any]


def items(kind: str) -> Iterator[Item]:
    for line in (FOLDER / f"{kind}.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)


@cache
def tools() -> dict[str, Tool]:
    described = json.loads((FOLDER / "tools.json").read_text("utf-8"))
    return {d["name"]: Tool(d["name"], d["description"], d["parameters"], print) for d in described}


@cache
def verdicts(kind: str) -> dict[str, str]:
    """What became of each output of a class, by id."""
    return {item["id"]: verdict(item) for item in items(kind)}


def verdict(item: Item) -> str:
    """``exact``, ``invented`` (something would run that was not meant), ``missed``, or ``wrong`` in a detail."""
    offered = {name: tools()[name] for name in item["tools"]}
    decision = decode(ModelReply(text=item["text"], finish_reason=item.get("finish_reason")), list(offered.values()))
    expected, meant = item["expected"], calls_meant(item)
    if isinstance(decision, ToolCalls) and not meant and all(c.standing == "embedded" for c in decision.calls):
        return EXACT  # the loop asks before any of them is run
    if isinstance(decision, ToolCalls):
        return compared([prepare(offered, call) for call in decision.calls], meant)
    if expected is None:
        return EXACT
    if not isinstance(decision, Final) or meant:
        return MISSED
    return EXACT if decision.answer == expected["final"] else WRONG


def calls_meant(item: Item) -> list[Item]:
    expected = item["expected"]
    if expected is None or "final" in expected:
        return []
    return expected.get("calls", [expected])


def compared(found: list[Any], meant: list[Item]) -> str:
    ready = [call for call in found if isinstance(call, Ready)]
    unmeant = [c for c in ready if not any(c.tool.name == m["name"] and same(c.args, m["args"]) for m in meant)]
    if unmeant or not meant or len(ready) > len(meant):
        return INVENTED
    if len(ready) < len(found):
        return WRONG
    if len(ready) < len(meant):
        return MISSED
    in_order = all(c.tool.name == m["name"] and same(c.args, m["args"]) for c, m in zip(ready, meant, strict=True))
    return EXACT if in_order else WRONG


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal; 5 is 5.0, but no boolean is a number."""
    if isinstance(left, dict) and isinstance(right, dict):
        mine, theirs = cast("dict[str, Any]", left), cast("dict[str, Any]", right)
        return mine.keys() == theirs.keys() and all(same(mine[key], theirs[key]) for key in mine)
    if isinstance(left, list) and isinstance(right, list):
        ours, others = cast("list[Any]", left), cast("list[Any]", right)
        return len(ours) == len(others) and all(map(same, ours, others))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def failing(kind: str, *of: str) -> dict[str, str]:
    return {id: verdict for id, verdict in verdicts(kind).items() if verdict in (of or (MISSED, WRONG, INVENTED))}


@pytest.mark.parametrize("kind", CLASSES)
def test_as_many_as_asked_are_read_exactly(kind: str) -> None:
    counts = Counter(verdicts(kind).values())
    print(f"\n{kind:10}", *(f"{name} {counts[name]:3} " for name in (EXACT, MISSED, WRONG, INVENTED)))  # noqa: T201
    print("".join(f"    {verdict:9} {id}\n" for id, verdict in failing(kind).items()), end="")  # noqa: T201
    assert counts[EXACT] >= ASKED[kind] * counts.total(), failing(kind)


@pytest.mark.parametrize("kind", CLASSES)
def test_no_call_is_invented(kind: str) -> None:
    assert failing(kind, INVENTED) == {}


def test_every_output_is_labelled_once_and_its_call_fits_the_tools() -> None:
    known = [item for kind in CLASSES for item in items(kind)]
    assert len({item["id"] for item in known}) == len(known) > 350
    for item in known:
        calls = calls_meant(item)
        assert item["class"] in CLASSES
        assert bool(calls) == (item["class"] in ("clean", "malformed")), item["id"]
        for call in calls:
            assert call["name"] in item["tools"], item["id"]
            assert tools()[call["name"]].schema.fits(call["args"], tools()[call["name"]].parameters), item["id"]
