"""Few-shot demos of the planner: the form of one, the file of compiled ones, and those shown when there are none."""

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Self, cast

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from micro_agent.errors import DemosError
from micro_agent.files.jsonl import open_file
from micro_agent.run import Mode
from micro_agent.text.encoding import as_json
from micro_agent.tools import Tool
from micro_agent.tools.faults import find_faults
from micro_agent.tools.sample import sample

_FINAL = '{"final": {"answer": "<your answer>"}}'
MAX_BYTES = 16 * 1024 * 1024
"""Of a file of demos; what is longer is cut off there, and then damaged."""


class _DemoStep(BaseModel):
    model_config = ConfigDict(extra="allow")
    tool: str
    args: dict[str, Any]
    observation: Any


class _DemoCall(BaseModel):
    name: str
    args: dict[str, Any]


class _DemoAnswer(BaseModel):
    answer: str


class _DemoDecision(BaseModel):
    model_config = ConfigDict(extra="forbid")
    tool: _DemoCall | None = None
    final: _DemoAnswer | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.tool is None) == (self.final is None):
            raise ValueError('must be {"tool": {"name", "args"}} or {"final": {"answer"}}')
        return self


class Demo(BaseModel):
    """A question, the steps before a decision, and the decision. The same form serves both modes."""

    model_config = ConfigDict(extra="allow")
    question: str
    steps: list[_DemoStep] = []
    decision: _DemoDecision

    def plain(self) -> dict[str, Any]:
        """The JSON-able form that DSPy keeps."""
        return self.model_dump(mode="json", exclude_none=True)

    def tool_names(self) -> set[str]:
        """The tools that the demo shows."""
        return {step.tool for step in self.steps} | ({self.decision.tool.name} if self.decision.tool else set())


class CompiledDemos(BaseModel):
    """A file of demos, with instructions where an optimizer rewrote them, and what both were made for."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())
    schema_version: int = 1
    provider: str | None = None
    """With ``model`` and ``mode``: what was asked when it was made; ``None``: not known, and then any will do."""
    model: str | None = None
    mode: Mode | None = None
    instructions: str | None = None
    demos: list[Demo]

    @model_validator(mode="before")
    @classmethod
    def _made_for(cls, data: Any) -> Any:
        """Older files say in their evidence alone what they were made for."""
        if not isinstance(data, dict):
            return data
        found = cast("dict[str, Any]", data)
        evidence = found.get("evidence")
        known = cast("dict[str, Any]", evidence) if isinstance(evidence, dict) else {}
        return {**{name: known[name] for name in ("provider", "model", "mode") if name in known}, **found}


@cache
def _prompts() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).parents[1].joinpath("planner_prompts.toml").read_text(encoding="utf-8"))


def instructions(*, typed: bool = False) -> str:
    """The text that opens the system prompt in both modes; ``typed``: of an agent whose answer is not just a text."""
    return _prompts()["typed_instructions" if typed else "instructions"].strip()


def bare_instructions() -> str:
    """The text that opens the system prompt of a model that is asked for one text, without tools."""
    return _prompts()["bare_instructions"].strip()


def with_system(instructions: str, system: str | None) -> str:
    """The instructions with a task or persona of the user's behind them, if there is one."""
    return f"{instructions}\n\n{system}" if system else instructions


def json_form(final: str | None = None) -> str:
    """The text that tells a model in JSON mode what a decision looks like; ``final``: the form of an answer."""
    return _prompts()["json_form"].strip().replace("{final}", final or _FINAL)


def default_demos(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The demos shown in JSON mode when none are given.

    Those of tools that are there, else one of the agent's own tools and the direct answers. With tools none of which
    can be shown there are none: a direct answer is never the only example.
    """
    offered = list(tools)
    built_in = [Demo.model_validate(demo) for demo in _prompts()["demos"]]
    demos = [demo for demo in built_in if _possible(demo, {tool.name: tool for tool in offered})]
    if offered and not any(demo.tool_names() for demo in demos):
        own = next(filter(None, map(_own_demo, sorted(offered, key=_effort))), None)
        demos = [own, *demos] if own else []
    return [demo.plain() for demo in demos]


def _possible(demo: Demo, tools: Mapping[str, Tool]) -> bool:
    """Whether all calls of a demo are ones of these tools: a user's own may have the name of a built-in one."""
    calls = [(step.tool, step.args) for step in demo.steps]
    calls += [(demo.decision.tool.name, demo.decision.tool.args)] if demo.decision.tool else []
    return all(name in tools and not find_faults(tools[name].schema, args) for name, args in calls)


def _effort(tool: Tool) -> tuple[bool, bool, bool, int]:
    """How little a tool suits a demo: best is one that changes nothing and takes an argument or two."""
    required = len(tool.schema.inlined.get("required", ()))
    return not tool.read_only, tool.requires_confirmation is not False, not required, required


def _own_demo(tool: Tool) -> Demo | None:
    """A question that takes one call, made up of the tool's schema; ``None`` where no arguments were found."""
    if (args := sample(tool)) is None:
        return None
    words = _prompts()["own_demo"]
    step = {"tool": tool.name, "args": args, "observation": words["observation"]}
    question = words["question"].format(tool=tool.name, args=as_json(args))
    return Demo.model_validate(
        {"question": question, "steps": [step], "decision": {"final": {"answer": words["answer"]}}}
    )


def with_decision(demos: Iterable[Any]) -> list[Any]:
    """The demos that show what to do next.

    An optimizer puts others among them: labelled examples (a question and its answer), replies that could not be read.
    """
    return [demo for demo in demos if {"tool", "final"} & set(demo.get("decision") or ())]


def demos_for(demos: Iterable[Any], mode: Mode, tools: Iterable[Tool], *, bare: bool) -> list[Any]:
    """The demos to show: those of ``demos`` with a decision, else the default ones in JSON mode, unless ``bare``."""
    return with_decision(demos) or ([] if bare or mode == "native" else default_demos(tools))


def load_demos(path: str | Path) -> CompiledDemos:
    """Read a file of compiled demos.

    Raises:
        DemosError: It cannot be read, is not JSON, or does not hold demos; the message names the place and what to do.
    """
    hint = "Run `micro-agent optimize` again, or set COMPILED_DEMOS_PATH to another file."
    try:
        with os.fdopen(open_file(Path(path)), "rb") as file:
            data = json.loads(file.read(MAX_BYTES).decode())
    except OSError as error:
        raise DemosError(f"cannot read the demos file {path}: {error.strerror}. {hint}") from error
    except (ValueError, RecursionError) as error:
        raise DemosError(f"damaged demos file {path}: not JSON ({error}). {hint}") from error
    return checked_demos(data, f"damaged demos file {path}", hint)


def checked_demos(data: Any, what: str, hint: str = "A demo is {question, steps, decision}.") -> CompiledDemos:
    """Demos out of JSON data. Raises `DemosError`: ``what``, the place, what is wrong there, and ``hint``."""
    try:
        return CompiledDemos.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"])) or "the whole"
        raise DemosError(f"{what}: {place}: {fault['msg']}. {hint}") from error
