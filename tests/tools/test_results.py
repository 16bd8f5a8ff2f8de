"""What a model sees of a result: JSON of it, cut in the middle when it is too long."""

import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import uuid
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from micro_agent.tools.jsonable import jsonable
from micro_agent.tools.truncate import to_json, truncate


class Model(BaseModel):
    when: datetime.date


@dataclasses.dataclass
class Row:
    cells: set[int]


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Text(str):
    __slots__ = ()


class Array:
    def tolist(self) -> list[float]:
        return [1.0, float("nan")]


class Broken:
    def __repr__(self) -> str:
        raise ValueError("no")


class Plain:
    def __repr__(self) -> str:
        return "Plain()"


UUID = uuid.UUID(int=1)


CASES: list[tuple[object, object]] = [
    (None, None),
    (True, True),
    (3, 3),
    (2.5, 2.5),
    ("ä", "ä"),
    (float("nan"), "nan"),
    (float("-inf"), "-inf"),
    (Text("x"), "x"),
    (Colour.RED, "red"),
    (Level.LOW, 1),
    (10**20, 10**20),
    ("\udcff.txt", "\\udcff.txt"),
    (b"a\xff", "a\\xff"),
    (memoryview(b"a"), "a"),
    (Path("a/b"), "a/b"),
    (datetime.datetime(2026, 11, 21, 1, 2), "2026-11-21T01:02:00"),
    (datetime.time(1, 2), "01:02:00"),
    (decimal.Decimal("1.50"), "1.50"),
    (fractions.Fraction(1, 3), "1/3"),
    (UUID, str(UUID)),
    ((1, [2]), [1, [2]]),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", 1}), ["b", 1]),
    (
        {2: "a", None: "b", True: "c", (1, 2): "d", Text("t"): "e"},
        {"2": "a", "true": "c", "null": "b", "(1, 2)": "d", "t": "e"},
    ),
    (OrderedDict([("a", 1)]), {"a": 1}),
    (Model(when=datetime.date(2026, 1, 2)), {"when": "2026-01-02"}),
    (Row({2, 1}), {"cells": [1, 2]}),
    (Array(), [1.0, "nan"]),
    (Plain(), "Plain()"),
    (Model, repr(Model)),
    (Broken(), "<Broken: its repr failed with ValueError>"),
]


@pytest.mark.parametrize(("value", "plain"), CASES)
def test_everything_has_a_json_form(value: object, plain: object) -> None:
    assert jsonable(value) == plain
    assert type(jsonable(value)) in (dict, list, str, int, float, bool, type(None))
    json.dumps(jsonable(value), allow_nan=False).encode()


def test_an_integer_that_python_will_not_write_is_described() -> None:
    assert jsonable(10**5000) == "<integer of about 5001 digits>"


def test_cycles_and_depth_are_cut_and_said() -> None:
    loop: list[object] = [1]
    loop.append(loop)
    assert jsonable(loop) == [1, "<list: contains itself>"]
    deep: Any = []
    for _ in range(100_000):
        deep = {"a": deep}
    assert "nested too deeply" in to_json(jsonable(deep))


def test_the_same_object_twice_is_no_cycle() -> None:
    shared = [1]
    assert jsonable([shared, shared]) == [[1], [1]]


def test_very_many_items_are_cut_and_counted() -> None:
    assert jsonable(list(range(300_000)))[-1].endswith("more]")
    assert jsonable({str(n): n for n in range(300_000)})["…"].endswith(" more")
    doubled: list[Any] = []
    for _ in range(40):
        doubled = [doubled, doubled]
    assert len(to_json(jsonable(doubled))) < 5_000_000


def test_a_result_that_fits_is_left_alone() -> None:
    result = {"a": "x" * 180}
    assert truncate(result, 200) is result


def test_a_long_text_keeps_head_and_tail_and_says_what_was_cut() -> None:
    text = "".join(chr(97 + n % 26) for n in range(10_000))
    seen = truncate(text, 1000)
    head, tail = seen["output"].split("… [")[0], seen["output"].split("] …")[1]
    cut = int(seen["output"].split("[")[1].split(" ")[0])
    assert seen["truncated"] is True
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + cut + len(tail) == len(text)
    assert 900 < len(to_json(seen)) <= 1000


def test_a_long_structure_becomes_its_json_cut() -> None:
    seen = truncate({"rows": ['"' for _ in range(1000)], "end": 1}, 500)
    assert set(seen) == {"output", "truncated"}
    assert seen["output"].startswith('{"rows": [')
    assert seen["output"].endswith('"end": 1}')
    assert len(to_json(seen)) <= 500


def test_a_long_error_keeps_its_code_and_its_hint() -> None:
    hint: dict[str, Any] = {"tool_call": {"name": "f", "arguments": {}}, "rationale": "r"}
    seen = truncate({"error": "X", "message": "m" * 5000, "recovery_suggestion": hint}, 800)
    assert (seen["error"], seen["recovery_suggestion"], seen["truncated"]) == ("X", hint, True)
    assert "characters cut" in seen["message"]
    assert len(to_json(truncate({"error": "E" * 180, "message": "m" * 500}, 200))) <= 200
    assert truncate({"error": "X", "rows": [1] * 1000}, 300)["output"].startswith('{"error": "X"')


@given(st.text() | st.lists(st.text()) | st.dictionaries(st.text(), st.text()), st.integers(200, 400))
def test_no_result_is_longer_than_the_limit(value: Any, limit: int) -> None:
    observation = truncate(jsonable(value), limit)
    assert len(to_json(observation)) <= limit
    assert observation == value or observation["truncated"]
