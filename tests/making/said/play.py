"""Plays the sets of this folder: what is really called after a reply that shows calls, or means them.

`python -m tests.making.said.play` prints the figures; `python -m tests.making.said.play meant dev` those of one half,
with the texts that fail.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from micro_agent import MicroAgent, Tool
from micro_agent.run import Run
from micro_agent.testing import Received, Reply, ScriptedLM, text

Item = dict[str, Any]
Kind = Literal["honest", "meant"]
Call = tuple[str, dict[str, Any]]

FOLDER = Path(__file__).parent
KINDS: tuple[Kind, ...] = ("honest", "meant")
HALVES = ("dev", "held")
HARD = "hard"
"""Of the calls that are meant: forms that are rare, two or three slips at once."""


@cache
def described() -> dict[str, Item]:
    """The tools that the sets name."""
    return {one["name"]: one for one in json.loads((FOLDER / "tools.json").read_text("utf-8"))}


def items(kind: Kind, half: str) -> list[Item]:
    """The texts of one half of a set."""
    return [json.loads(line) for line in (FOLDER / f"{kind}.{half}.jsonl").read_text("utf-8").splitlines()]


@dataclass(frozen=True, slots=True)
class Played:
    """A run whose first reply is the text: what it called after that reply, before another one with a decision."""

    item: Item
    run: Run
    made: list[Call]

    @property
    def with_effects(self) -> list[Call]:
        """The calls of tools that do not only read."""
        return [one for one in self.made if not described()[one[0]].get("read_only")]

    @property
    def verdict(self) -> str:
        """How the reply was taken."""
        return self._of_honest() if "expected" not in self.item else self._of_meant()

    def _of_honest(self) -> str:
        if self.with_effects:
            return "effect"
        if self.made:
            return "read"
        return "kept" if self.run.answer == self.item["text"].strip() else "refused"

    def _of_meant(self) -> str:
        wanted = [(call["name"], call["args"]) for call in self.item["expected"]["calls"]]
        if self.made == wanted:
            return "run"
        if self.made:
            return "other calls"
        return "silent" if self.run.answer == self.item["text"].strip() else "asked again"


def play(item: Item, *, make: bool) -> Played:
    """One run: the text, and ``make`` where the model is asked if its calls shall be made. A person says yes to all."""
    made: list[Call] = []
    replies = iter([item["text"]])

    def tool(name: str) -> Tool:
        told = described()[name]
        only_reads, destroys = told.get("read_only", False), told.get("destructive", False)

        def run(**args: Any) -> str:
            made.append((name, args))
            return "done"

        return Tool(name, told["description"], told["parameters"], run, read_only=only_reads, destructive=destroys)

    def model(request: Received) -> Reply:
        if request.asks_to_make:
            return text(json.dumps({"make": make}))
        return text(next(replies, "So it is."))

    tools = [tool(name) for name in item["tools"]]
    agent = MicroAgent(tools, ScriptedLM(model), "native", rules=[], demos=[], finish="text", confirm="all")
    run = agent.ask(item["question"])
    in_order = [(step.tool, step.args) for step in run.steps if (step.tool, step.args) in made]
    return Played(item, run, in_order)


def played(kind: Kind, half: str) -> Iterator[Played]:
    """Every text of one half of a set."""
    return (play(item, make=kind == "meant") for item in items(kind, half))


def main(kinds: Sequence[Kind], halves: Sequence[str], *, shown: bool) -> None:
    """Print how the texts were taken."""
    for kind in kinds:
        for half in (*halves, *((HARD,) if kind == "meant" and len(halves) > 1 else ())):
            runs = list(played(kind, half))
            sys.stdout.write(f"{kind} {half}: {len(runs)} texts, {dict(Counter(run.verdict for run in runs))}\n")
            for run in runs if shown else ():
                if run.verdict not in ("kept", "run"):
                    sys.stdout.write(f"\n{run.item['id']} {run.verdict} {run.made}\n{run.item['text']}\n")


if __name__ == "__main__":
    one = cast("list[Kind]", sys.argv[1:2])
    main(one or KINDS, sys.argv[2:3] or HALVES, shown=bool(one))
