"""The texts in ``outputs/dialects.jsonl``: what each of them is, and which dialect read it."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from micro_agent.decoding import Decision, DecodeError, Final, ModelReply, decode
from micro_agent.decoding import text as reading
from micro_agent.decoding.rows import RANKS, ROWS
from micro_agent.tools import Tool
from tests.decoding.table import PAGE, table, with_table
from tests.each import each

Item = dict[str, Any]

FOLDER = Path(__file__).parent / "outputs"
ITEMS: list[Item] = [json.loads(line) for line in (FOLDER / "dialects.jsonl").read_text("utf-8").splitlines()]
TOOLS: dict[str, Item] = json.loads((FOLDER / "dialect_tools.json").read_text("utf-8"))
OFFERED = ["calculator", "now", "search_code", "add", "store"]


def named(item: Item) -> str:
    return item["id"]


def read(item: Item) -> Decision:
    names: list[str] | None = item.get("tools", OFFERED)
    told = [TOOLS[name] for name in names or ()]
    tools = [Tool(one["name"], one["description"], one["parameters"], print) for one in told]
    return decode(
        ModelReply(text=item["text"], finish_reason=item.get("finish_reason")), None if names is None else tools
    )


def said(decision: Decision) -> Item:
    if isinstance(decision, Final):
        return {"final": decision.answer}
    if isinstance(decision, DecodeError):
        return {"error": decision.reason}
    return {"calls": [{"name": call.name, "args": call.args} for call in decision.calls]}


def dialect(decision: Decision) -> str | None:
    kinds = [] if isinstance(decision, DecodeError) else [repair.kind for repair in decision.repairs]
    return next((kind.removeprefix("dialect:") for kind in kinds if kind.startswith("dialect:")), None)


@each("item", ITEMS, ids=named)
def test_a_text_is_read_as_what_it_is(item: Item) -> None:
    decision = read(item)
    assert said(decision) == item["expected"]
    assert dialect(decision) == item["dialect"]


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.torture)])
def test_the_order_of_the_readers_does_not_matter(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    for seed, item in enumerate(ITEMS[::step]):  # an order of its own for each
        readers = random.Random(seed).sample(reading.READERS, len(reading.READERS))
        monkeypatch.setattr(reading, "READERS", tuple(readers))
        assert said(read(item)) == item["expected"], item["id"]


def test_a_mark_opens_the_calls_of_one_dialect() -> None:
    opens = [mark for row in ROWS for mark in row.opens]
    assert len(opens) == len(set(opens))


def test_every_row_has_a_text_that_it_reads() -> None:
    assert {row.dialect for row in ROWS} <= {item["dialect"] for item in ITEMS}


def test_no_two_dialects_have_one_rank() -> None:
    ranked = list(RANKS.values())
    assert len(ranked) == len(set(ranked))
    assert {item["dialect"] or "" for item in ITEMS} <= RANKS.keys()


def test_no_text_is_opened_by_two_rows_alike() -> None:
    """Of two that begin at one place the longer opening counts; no two of them are equally long."""
    written = [(row.dialect, re.compile(row.written, re.MULTILINE)) for row in ROWS if row.written]
    for item in ITEMS:
        spans = [found.span() for _, pattern in written for found in pattern.finditer(item["text"])]
        assert len(spans) == len(set(spans)), item["id"]


def test_the_table_in_the_docs_has_these_rows() -> None:
    page = PAGE.read_text("utf-8")
    assert with_table(page, table()) == page, "write it anew: python -m tests.decoding.table"
