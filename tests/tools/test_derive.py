"""`@tool`: the schema, the description and the conversion that come of a typed function."""

import asyncio
import dataclasses
import datetime
import enum
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Required, TypedDict

import pytest
from pydantic import BaseModel, Field

from micro_agent.errors import ToolDefinitionError
from micro_agent.tools import Tool, aexecute, check, execute, tool
from micro_agent.tools.arguments import Accepted


class Point(BaseModel):
    """A place on the map."""

    x: int
    title: str = "here"


@dataclasses.dataclass
class Span:
    start: datetime.date
    days: int = 1


class Options(TypedDict, total=False):
    deep: Required[bool]
    flat: bool


class Colour(enum.Enum):
    RED = "red"


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Works for any size.

    Args:
        a: The first number,
            which may be negative.
        b (int): The second: any.

    Returns:
        The sum.
    """
    return a + b


def test_the_bare_decorator_reads_types_and_docstring() -> None:
    assert isinstance(add, Tool)
    assert (add.name, add.description) == ("add", "Add two numbers.\n\nWorks for any size.")
    assert add.parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "The first number, which may be negative."},
            "b": {"type": "integer", "description": "The second: any.", "default": 2},
        },
        "additionalProperties": False,
        "required": ["a"],
    }


def test_the_tool_is_still_the_function() -> None:
    assert add(1, 2) == 3
    assert add(1, b=5) == 6
    assert execute(add, {"a": 1}).observation == 3


def test_options_reach_the_tool() -> None:
    @tool(name="plus", description="Sum.", read_only=True, requires_confirmation=True, timeout_s=None, max_chars=500)
    def plus(a: int) -> int:
        return a

    made = (plus.name, plus.description, plus.read_only, plus.requires_confirmation, plus.timeout_s, plus.max_chars)
    assert made == ("plus", "Sum.", True, True, None, 500)
    assert tool(name="other")(plus.function or print).name == "other"


def test_every_kind_of_type_has_its_schema() -> None:
    @tool
    def f(  # noqa: D417 what stands at the type wins over the docstring
        unit: Literal["c", "f"],
        when: Optional[datetime.date],  # noqa: UP045 both spellings are in use
        names: list[str],
        table: dict[str, list[int]],
        options: Options,
        all_options: list[Options | None],
        limit: Annotated[int, Field(ge=1, description="At most.")] = 10,
        note: str | None = None,
        anything: Any = None,
    ) -> None:
        """F.

        Arguments:
            limit: Not this text.
        """

    properties = f.parameters["properties"]
    assert properties["unit"] == {"type": "string", "enum": ["c", "f"]}
    assert properties["when"] == {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}
    assert properties["names"] == {"type": "array", "items": {"type": "string"}}
    assert properties["table"]["additionalProperties"] == {"type": "array", "items": {"type": "integer"}}
    assert properties["limit"] == {"type": "integer", "minimum": 1, "description": "At most.", "default": 10}
    assert "default" not in properties["note"]
    assert properties["anything"] == {}
    assert f.parameters["required"] == ["unit", "when", "names", "table", "options", "all_options"]
    assert f.parameters["$defs"]["Options"]["required"] == ["deep"]


def test_a_property_named_title_survives_and_titles_do_not() -> None:
    @tool
    def place(point: Point) -> str:
        return point.title

    definition = place.parameters["$defs"]["Point"]
    assert set(definition["properties"]) == {"x", "title"}
    assert definition["properties"]["x"] == {"type": "integer"}
    assert "title" not in definition


def test_arguments_arrive_as_the_types_that_the_function_names() -> None:
    seen: list[object] = []

    @tool
    def f(point: Point, span: Span, colour: Colour, path: Path, tags: set[str]) -> None:
        seen.extend([point, span, colour, path, tags])

    args = {"point": {"x": 1}, "span": {"start": "2026-11-21"}, "colour": "red", "path": "a/b", "tags": ["x"]}
    assert check(f, args) == Accepted(args)
    assert execute(f, args).ok
    assert seen == [Point(x=1), Span(datetime.date(2026, 11, 21)), Colour.RED, Path("a/b"), {"x"}]


def test_a_value_that_cannot_be_converted_is_the_models_fault() -> None:
    @tool
    def f(span: Span) -> None: ...

    outcome = execute(f, {"span": {"start": "tomorrow"}})
    assert outcome.error == "VALIDATION_FAILED"
    assert outcome.observation["message"].startswith("argument 'span.start': Input should be a valid date")


def test_an_async_function_becomes_an_async_tool() -> None:
    @tool
    async def double(n: int) -> int:
        await asyncio.sleep(0)
        return 2 * n

    assert double.is_async
    assert execute(double, {"n": 2}).observation == 4
    assert asyncio.run(aexecute(double, {"n": 3})).observation == 6


def test_a_default_without_a_json_form_is_left_out_of_the_schema() -> None:
    @tool
    def f(a: int = object()) -> str:  # pyright: ignore[reportArgumentType]
        return type(a).__name__

    assert f.parameters["properties"] == {"a": {"type": "integer"}}
    assert execute(f, {}).observation == "object"


def test_a_function_without_arguments_and_docstring_is_a_tool() -> None:
    @tool
    def ping() -> str:
        return "pong"

    assert ping.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert ping.description == ""
    assert execute(ping, {}).observation == "pong"


untyped: Callable[..., None] = eval("lambda a: None")  # pyright would not let an untyped def stand here
untyped.__name__ = "untyped"


def starred(*rows: int) -> None: ...


def keyworded(**options: int) -> None: ...


def positional(a: int, /) -> None: ...


def unreadable(a: "Nowhere") -> None: ...  # pyright: ignore  # noqa


def callback(a: Callable[[], int]) -> None: ...


class Opaque:
    pass


def opaque(a: Opaque) -> None: ...


FAULTY: list[tuple[Callable[..., None], str]] = [
    (untyped, "argument 'a' has no type; write for example a: str"),
    (starred, "*rows cannot be described to a model; name each argument"),
    (keyworded, "**options cannot be described to a model"),
    (positional, "'a' is positional-only"),
    (unreadable, "name 'Nowhere' is not defined"),
    (callback, "has no JSON form"),
    (opaque, "argument 'a' has the type Opaque, which has no JSON form"),
]


@pytest.mark.parametrize(("function", "says"), FAULTY)
def test_says_what_to_add(function: Callable[..., None], says: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        tool(function)
    assert says in str(caught.value)
    assert f"tool {function.__name__!r}" in str(caught.value)


def test_importing_the_package_is_light() -> None:
    code = "import micro_agent.tools, sys; print([m for m in ('dspy', 'jsonschema', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
