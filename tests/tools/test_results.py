"""What a model sees of a result: JSON of it, cut in the middle when it is too long."""

import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import uuid
from collections import OrderedDict
from itertools import count
from pathlib import Path
from typing import Any, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from micro_agent import Limits, MicroAgent, Run, Tool
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.tools.jsonable import jsonable
from micro_agent.tools.shorten import to_json
from micro_agent.tools.truncate import RESULT_CHARS, truncate
from tests.each import each


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


@each(("value", "plain"), CASES)
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
    assert jsonable(list(range(110_000)))[-1].endswith("more]")
    assert jsonable({str(n): n for n in range(110_000)})["…"].endswith(" more")
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


def test_a_long_structure_keeps_its_shape() -> None:
    rows = [{"id": n, "text": "word " * 100} for n in range(1000)]
    result = {"code": 0, "stdout": "line " * 5000, "rows": rows, "at": {"path": "a/b", "log": "x" * 9000}}
    seen = truncate(result, 2000)
    assert 1800 < len(to_json(seen)) <= 2000
    assert list(seen) == ["code", "stdout", "rows", "at", "truncated"]
    assert (seen["code"], seen["at"]["path"], seen["rows"][0]["id"]) == (0, "a/b", 0)
    shown = len(seen["rows"]) - 1
    assert seen["rows"][-1] == f"… [{1000 - shown} of 1000 items cut] …"
    for cut, whole in ((seen["stdout"], result["stdout"]), (seen["at"]["log"], "x" * 9000)):
        head, tail = cut.split("… [")[0], cut.split("] …")[1]
        assert f"… [{len(str(whole)) - len(head) - len(tail)} characters cut] …" in cut
        assert str(whole).startswith(head)
        assert str(whole).endswith(tail)
    assert {"stdout", "rows", "rows[0].text", "at.log"} <= set(seen["truncated"])


def test_a_list_stands_under_output_with_its_first_items() -> None:
    seen = truncate(list(range(5000)), 300)
    assert set(seen) == {"output", "truncated"}
    assert seen["output"][:5] == [0, 1, 2, 3, 4]
    assert seen["output"][-1] == f"… [{5000 - len(seen['output']) + 1} of 5000 items cut] …"
    assert seen["truncated"] == ["output"]
    nested = truncate([[["a" * 50] * 100] * 100] * 10, 2000)
    assert nested["output"][0][0][:2] == ["a" * 50] * 2
    assert len(nested["truncated"]) == 13
    assert nested["truncated"][-1].endswith(" more")


def test_a_key_of_that_name_is_not_taken_for_the_word_about_a_cut() -> None:
    seen = truncate({"truncated": False, "text": "x" * 900}, 300)
    assert (seen["output"]["truncated"], seen["truncated"]) == (False, ["output.text"])
    again = truncate(truncate({"a": "x" * 9000, "b": "y" * 900}, 1500), 300)
    assert (list(again), again["truncated"]) == (["a", "b", "truncated"], ["a", "b"])


def test_too_many_keys_are_counted_and_one_too_long_becomes_text() -> None:
    seen = truncate({f"key {n}": n for n in range(5000)}, 300)
    assert (seen["key 0"], seen["truncated"]) == (0, ["…"])
    assert seen["…"] == f"{5000 - len(seen) + 2} of 5000 keys cut"
    assert truncate({"k" * 5000: 1}, 300)["output"].startswith('{"kkk')
    assert truncate({"a": {"k" * 300: "x" * 900}}, 300)["truncated"] == ["a"]
    assert truncate({"a": {"k" * 200: "x" * 9000}}, 700)["truncated"] == [f"a.{'k' * 78}…"]


def test_a_number_of_many_digits_is_cut_as_a_text() -> None:
    seen = truncate({"n": 10**2000, "m": 1, "none": None}, 300)
    assert seen["n"].startswith("10000")
    assert (seen["m"], seen["none"], seen["truncated"]) == (1, None, ["n"])


def test_a_long_error_keeps_its_code_and_its_hint() -> None:
    hint: dict[str, Any] = {"tool_call": {"name": "f", "arguments": {}}, "rationale": "r"}
    seen = truncate({"error": "X", "message": "m" * 5000, "recovery_suggestion": hint}, 800)
    assert (seen["error"], seen["recovery_suggestion"], seen["truncated"]) == ("X", hint, ["message"])
    assert "characters cut" in seen["message"]
    assert len(to_json(truncate({"error": "E" * 180, "message": "m" * 500}, 200))) <= 200
    assert truncate({"error": "X", "rows": [1] * 1000}, 300)["error"] == "X"


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=90),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=9), inner, max_size=5),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(PLAIN, st.integers(200, 400))
def test_whatever_is_cut_fits_and_keeps_what_is_not_named(value: Any, limit: int) -> None:
    plain: Any = jsonable(value)
    seen = truncate(plain, limit)
    assert len(to_json(seen)) <= limit
    if seen == plain:
        return
    assert seen["truncated"]
    if isinstance(plain, dict):
        value = cast("dict[str, Any]", plain)
    if isinstance(plain, dict) and "truncated" not in value and "…" not in seen and "output" not in seen:
        assert [*value] == [key for key in seen if key != "truncated"]
        named = [path.split(".")[0].split("[")[0] for path in seen["truncated"]]
        simple = [key for key in value if key.isalnum()]
        assert all(seen[key] == value[key] for key in simple if key not in named and len(named) < 12)


def test_the_record_has_the_result_in_full_up_to_a_bound() -> None:
    rows = {"rows": ["x" * 50] * 1000}
    run = asked(lambda: rows)
    assert run.steps[0].result == rows
    assert run.steps[0].observation["truncated"] == ["rows"]
    assert asked(lambda: "short").steps[0].result is None
    huge = asked(lambda: {"text": "x" * 300_000, "rows": rows["rows"]})
    assert len(to_json(huge.steps[0].result)) <= RESULT_CHARS
    assert huge.steps[0].result["truncated"] == ["text"]
    assert (huge.usage.recorded_bytes or 0) > 200_000
    assert asked(lambda: {"error": "X", "rows": [1] * 9000}).steps[0].error == "X"


def asked(handler: Any) -> Run:
    """A run of one call of a tool that returns what ``handler`` does."""
    made = Tool("look", "Look.", {"type": "object", "properties": {}}, handler)
    return MicroAgent([made], ScriptedLM([call("look", {}), text("Done.")]), rules=[]).ask("?")


def test_two_results_that_differ_where_the_model_does_not_see_it_are_not_the_same() -> None:
    number = count()
    made = Tool(
        "poll", "Poll.", {"type": "object", "properties": {}}, lambda: f"{'a' * 9000}{next(number)}{'a' * 9000}"
    )
    run = MicroAgent([made], ScriptedLM([*[call("poll", {})] * 6, text("Done.")]), limits=Limits(max_steps=9)).ask("?")
    assert run.status == "completed"
    assert [step.observation for step in run.steps] == [run.steps[0].observation] * 6


@given(st.text() | st.lists(st.text()) | st.dictionaries(st.text(), st.text()), st.integers(200, 400))
def test_no_result_is_longer_than_the_limit(value: Any, limit: int) -> None:
    observation = truncate(jsonable(value), limit)
    assert len(to_json(observation)) <= limit
    assert observation == value or observation["truncated"]


def test_a_list_whose_items_all_have_a_place_keeps_them_all() -> None:
    cut = truncate(["x" * 400, "y" * 30], 300)
    assert [item[:1] for item in cut["output"]] == ["x", "y"]
    assert (cut["output"][1], cut["truncated"]) == ("y" * 30, ["output[0]"])
