"""A task of a dataset: a question, and what a right answer to it shows."""

import re
from hashlib import sha256
from typing import Annotated, Any, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from micro_agent.evaluation.coding.repository import Files, Repository

EXPECTATIONS = (
    "expect_contains", "expect_number", "expect_regex", "expect_key", "expect_tools", "expect_args",
    "expect_observed", "expect_hidden", "expect_changed", "expect_gates",
)  # fmt: skip
"""The fields of a `Task` that are checked, one scorer each."""
_OF_A_REPOSITORY = ("expect_hidden", "expect_changed", "expect_gates", "plan")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _as_calls(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


def _as_number(value: Any) -> Any:
    return {"value": value} if isinstance(value, int | float | str) and not isinstance(value, bool) else value


class _Strict(BaseModel):
    # The texts under the fields become the descriptions in the JSON Schema (`micro_agent.evaluation.datasets.schema`).
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class ExpectedNumber(_Strict):
    """A number that the answer has to show."""

    # Integers stay whole: the nearest float to 2**64 is shown with other digits.
    value: int | Annotated[float, Field(allow_inf_nan=False)]
    tolerance: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """How far off a number in the answer may be, absolute. Without it: exact, or rounded to the digits shown."""


Tag = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Tags = Annotated[list[Tag], BeforeValidator(_as_list, json_schema_input_type=Tag | list[Tag])]
Text = Annotated[str, Field(pattern=r"\S")]
Texts = Annotated[list[Text], BeforeValidator(_as_list, json_schema_input_type=Text | list[Text])]
SomeTexts = Annotated[
    list[Text],
    Field(min_length=1),
    BeforeValidator(_as_list, json_schema_input_type=Text | Annotated[list[Text], Field(min_length=1)]),
]
Number = Annotated[ExpectedNumber, BeforeValidator(_as_number, json_schema_input_type=float | ExpectedNumber)]


Arguments = Annotated[dict[str, Any], Field(min_length=1)]
Calls = Annotated[
    list[Arguments],
    Field(min_length=1),
    BeforeValidator(_as_calls, json_schema_input_type=Arguments | Annotated[list[Arguments], Field(min_length=1)]),
]


def _without_default(schema: dict[str, Any]) -> None:
    del schema["default"]


class Task(_Strict):
    """One task. At least one expectation is needed; all of them must hold."""

    id: str = Field(default="", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", json_schema_extra=_without_default)
    """Unique in its dataset; results of two evals are paired by it. Without one it is made of the question."""
    question: str = Field(pattern=r"\S")
    """What the agent is asked, as it stands here."""
    tags: Tags = []
    """What kind of task it is; results are counted by tag, and ``--tag`` chooses by them."""
    expect_contains: SomeTexts | None = None
    """Texts that stand in the model's answer, upper and lower case alike."""
    expect_number: Number | None = None
    """A number that the model's answer shows: ``16``, or ``{value: 3.14, tolerance: 0.01}``."""
    expect_regex: str | None = Field(default=None, min_length=1)
    """A Python regular expression that is found in the model's answer."""
    expect_key: SomeTexts | None = None
    """Keys of the observation of a tool that succeeded; ``a.b`` is the key ``b`` of the object under ``a``."""
    expect_tools: Texts | None = None
    """Tools that were called and succeeded, in any order, others beside them; ``[]``: no tool was called."""
    expect_args: Annotated[dict[str, Calls], Field(min_length=1)] | None = None
    """Arguments of tool calls, such as ``{now: {timezone: [UTC, null]}}``; a list has alternatives, null: left out."""
    expect_observed: SomeTexts | None = None
    """Tools whose last value stands in the model's answer: for what nobody knows beforehand, such as the time."""
    repository: Repository | None = None
    """The repository that the agent works in: it then has the coding tools, and this repository for itself."""
    expect_hidden: Files | None = None
    """Files of tests that the agent never sees, by path; with them in the repository, its tests pass at the end."""
    expect_changed: Texts | None = None
    """Files that may be changed, as patterns such as ``src/*.py``; ``[]``: nothing is changed."""
    expect_gates: bool | None = None
    """Whether the gates of the coding agent have all passed at the end."""
    plan: dict[str, Any] | None = None
    """What the scripted model of `micro_agent.testing` does in the repository."""
    note: str | None = None
    """For people: what the task is there for."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        given = cast("dict[str, Any]", data)
        question = given.get("question")
        if given.get("id") is not None or not isinstance(question, str):
            return given
        return {**given, "id": f"q-{sha256(question.encode(errors='replace')).hexdigest()[:12]}"}

    @model_validator(mode="after")
    def _checks_something(self) -> Self:
        if all(getattr(self, name) is None for name in EXPECTATIONS):
            raise ValueError(f"nothing is expected of it; give one of {', '.join(EXPECTATIONS)}")
        return self

    @model_validator(mode="after")
    def _has_a_repository(self) -> Self:
        if self.repository is None and (
            named := [name for name in _OF_A_REPOSITORY if getattr(self, name) is not None]
        ):
            raise ValueError(f"{named[0]} is about a repository, and there is none; give repository: {{files: …}}")
        return self

    @model_validator(mode="after")
    def _regex_compiles(self) -> Self:
        if self.expect_regex is not None:
            try:
                re.compile(self.expect_regex)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"expect_regex is not a regular expression: {error}") from error
        return self
