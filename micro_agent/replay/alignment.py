"""Two runs side by side: which steps are the same, changed, added or removed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from micro_agent.replay.divergence import apart, shortened, text_of
from micro_agent.replay.show import step_line
from micro_agent.run import Run, Step

Change = Literal["same", "changed", "removed", "added"]

_COMPARED = ("args", "observation", "ok", "error")
_SIGNS: dict[Change, str] = {"same": " ", "changed": "~", "removed": "-", "added": "+"}
_USAGE = ("lm_calls", "tool_calls", "input_tokens", "output_tokens", "cost_usd", "latency_s")
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Pair:
    """Steps that stand beside each other, each with its number from 1; ``changed`` names the fields that differ."""

    change: Change
    a: int | None
    b: int | None
    changed: list[str]


@dataclass(frozen=True, slots=True)
class Difference:
    """Two runs, aligned. ``same`` leaves out who was asked, ids, times, tokens and costs."""

    a: Run
    b: Run
    steps: list[Pair]

    @property
    def same(self) -> bool:
        """Whether question, steps, answer and end are the same."""
        steps = all(pair.change == "same" for pair in self.steps)
        return steps and all(getattr(self.a, name) == getattr(self.b, name) for name in _OUTLINE)

    def as_dict(self) -> dict[str, Any]:
        """The JSON-able form: each field of the two runs as ``[a, b]``, then the aligned steps."""
        both = {name: [getattr(self.a, name), getattr(self.b, name)] for name in ("id", "parent", *_WHO, *_OUTLINE)}
        usage = {name: [getattr(run.usage, name) for run in (self.a, self.b)] for name in _USAGE}
        return {"same": self.same, **both, "usage": usage, "steps": [self._step(pair) for pair in self.steps]}

    def lines(self) -> Iterator[str]:
        """The difference for a person."""
        yield f"a  {_named(self.a)}"
        yield f"b  {_named(self.b)}{_kin(self.a, self.b)}"
        yield ""
        yield from _both("Question", self.a.question, self.b.question)
        yield ""
        for pair in self.steps:
            yield from self._pair(pair)
        yield ""
        yield from _both("Answer", self.a.answer or "none", self.b.answer or "none")
        yield from _both("Ended", _ended(self.a), _ended(self.b))
        yield ""
        yield f"  {'':16}{'a':>12}{'b':>12}"
        for name in _USAGE:
            figures = [_figure(getattr(run.usage, name)) for run in (self.a, self.b)]
            yield f"  {name.replace('_', ' '):16}{figures[0]:>12}{figures[1]:>12}"

    def _step(self, pair: Pair) -> dict[str, Any]:
        steps = [_at(run, number) for run, number in ((self.a, pair.a), (self.b, pair.b))]
        told = [step and step.model_dump(include={"tool", *_COMPARED}) for step in steps]
        return {"change": pair.change, "number": [pair.a, pair.b], "changed": pair.changed, "step": told}

    def _pair(self, pair: Pair) -> Iterator[str]:
        before, after = _at(self.a, pair.a), _at(self.b, pair.b)
        step = before or after
        assert step is not None, "a pair has a step at least"
        numbers = "/".join(str(number) for number in dict.fromkeys((pair.a, pair.b)) if number is not None)
        whole = pair.change != "changed"
        line = step_line(step.tool, step.args, step.observation) if whole else step.tool
        yield f"{_SIGNS[pair.change]} {numbers}. {line}"
        for name in pair.changed:
            old, new = apart(text_of(getattr(before, name)), text_of(getattr(after, name)), _WIDTH)
            yield f"      {name}: {old}"
            yield f"      {' ' * len(name)}> {new}"


_OUTLINE = ("question", "answer", "status", "termination_reason")
_WHO = ("provider", "model", "mode")


def diff(a: Run, b: Run) -> Difference:
    """Align two runs by their steps: first by tool and arguments, then what lies between by tool."""
    keys = [[(step.tool, text_of(step.args)) for step in run.steps] for run in (a, b)]
    blocks = SequenceMatcher(None, *keys, autojunk=False).get_opcodes()
    pairs = [pair for _, *bounds in blocks for pair in _aligned(a.steps, b.steps, *bounds)]
    return Difference(a, b, pairs)


def _aligned(a: Sequence[Step], b: Sequence[Step], i1: int, i2: int, j1: int, j2: int) -> Iterator[Pair]:
    """The pairs of one block: the same calls, or calls of which at most the tool is the same."""
    tools = [[step.tool for step in steps] for steps in (a[i1:i2], b[j1:j2])]
    for _, k1, k2, l1, l2 in SequenceMatcher(None, *tools, autojunk=False).get_opcodes():
        alike = tools[0][k1:k2] == tools[1][l1:l2]
        for i, j in zip(range(i1 + k1, i1 + k2), range(j1 + l1, j1 + l2), strict=alike) if alike else ():
            changed = [name for name in _COMPARED if text_of(getattr(a[i], name)) != text_of(getattr(b[j], name))]
            yield Pair("changed" if changed else "same", i + 1, j + 1, changed)
        if not alike:
            yield from (Pair("removed", i + 1, None, []) for i in range(i1 + k1, i1 + k2))
            yield from (Pair("added", None, j + 1, []) for j in range(j1 + l1, j1 + l2))


def _at(run: Run, number: int | None) -> Step | None:
    return None if number is None else run.steps[number - 1]


def _named(run: Run) -> str:
    return f"{run.id}  {run.ts}  {run.model or 'unknown'}, {run.mode or 'unknown'} mode"


def _kin(a: Run, b: Run) -> str:
    return "  (a fork of a)" if b.parent == a.id else "  (a is its fork)" if a.parent == b.id else ""


def _ended(run: Run) -> str:
    return f"{run.status} ({run.termination_reason or 'under way'})"


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"


def _both(name: str, a: str, b: str) -> Iterator[str]:
    if a == b:
        yield f"  {name}: {shortened(a)}"
        return
    old, new = apart(a, b)
    yield f"~ {name}: {old}"
    yield f"  {' ' * len(name)}> {new}"
