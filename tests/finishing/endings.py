"""410 texts that models end with, in seven languages: what comes next announced, answers, deeds claimed without a call.

`python -m tests.finishing.endings` prints how runs end that get them, in both modes, from a scripted model that knows
whether it is done. The texts were written before the code.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from micro_agent import MicroAgent, Run, Tool, configure_lm
from micro_agent.models.settings import Settings
from micro_agent.rules import Rule, default_rules, required_tools
from micro_agent.run import FINISH_ASKED, MAKE_ASKED, MARKERS, Mode
from micro_agent.testing import ModelServer, Received, Reply, call, decision, final, text

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("endings.jsonl").read_text(encoding="utf-8").splitlines()
]
RULES: list[Rule] = [rule for rule in default_rules() if rule is not required_tools.check]
"""The default ones, but for the one that wants a calculation in words of its own."""
ANSWER = "42 is the answer."
"""What the model says once it is done."""


@dataclass(frozen=True)
class Ending:
    """How a run ended whose model said one of the texts."""

    row: dict[str, Any]
    run: Run
    requests: int

    @property
    def as_said(self) -> bool:
        """Whether the text is the answer."""
        return self.run.status == "completed" and self.run.answer == self.row["text"]

    @property
    def asked(self) -> int:
        """How often the model was asked if it is done."""
        return sum(step.tool == FINISH_ASKED for step in self.run.steps)

    @property
    def refused(self) -> bool:
        """Whether a rule or the decoder took the text for something else."""
        return any(step.tool in MARKERS - {FINISH_ASKED, MAKE_ASKED} for step in self.run.steps)


def played(rows: list[dict[str, Any]], mode: Mode) -> Iterator[Ending]:
    """The runs in which a model says these texts, one after the other of the same server."""
    model: _Model | None = None

    def says(request: Received) -> Reply:
        assert model is not None
        return model(request)

    with ModelServer(says, models=["m"]) as server:
        url = server.openai_url if mode == "native" else server.url
        lm = configure_lm("openai" if mode == "native" else "ollama", "m", url, "none", settings=Settings())
        for row in rows:
            model, before = _Model(row, mode), len(server.chats)
            agent = MicroAgent(list(map(_tool, row["tools"])), lm, mode, RULES, demos=[], settings=Settings())
            run = agent.ask(row["question"])
            yield Ending(row, run, len(server.chats) - before)


class _Model:
    """Calls the tool that the row begins with, says its text, and goes on if that was not an answer."""

    def __init__(self, row: dict[str, Any], mode: Mode) -> None:
        self._row, self._mode = row, mode
        self._left: list[Reply] = [self._call(row["tool"])] if row["after_tool"] else []
        data = mode == "json" and row["text"].startswith("{")  # an answer that is an object stands under ``final``
        self._left.append(final(row["text"]) if data else text(row["text"]))
        if row["kind"] != "answer":
            self._left += [self._call(row["tools"][0]), text(ANSWER)]

    def __call__(self, request: Received) -> Reply:
        if request.asks_if_final:
            return text(json.dumps({"done": not self._left}))
        if request.asks_to_make:  # what is announced in the midst of words
            return text(json.dumps({"make": False}))
        return self._left.pop(0)

    def _call(self, name: str) -> Reply:
        return call(name, {"about": "it"}) if self._mode == "native" else decision(name, {"about": "it"})


def _tool(name: str) -> Tool:
    results = {row["tool"]: row["result"] for row in ROWS if row["after_tool"]}

    def run(about: str) -> Any:
        return results.get(name, f"nothing more about {about}")

    return Tool(name, f"What {name} is for.", _SCHEMA, run, read_only=False)


_SCHEMA: dict[str, Any] = {
    "type": "object", "properties": {"about": {"type": "string"}}, "required": ["about"], "additionalProperties": False,
}  # fmt: skip


def table() -> str:
    """How the runs end, by kind and mode."""
    lines = ["| texts | mode | runs | the text is the answer | refused | asked once | asked twice |"]
    lines.append("|---|---|--:|--:|--:|--:|--:|")
    for kind in ("announcement", "answer", "deed"):
        rows = [row for row in ROWS if row["kind"] == kind]
        for mode in ("native", "json"):
            found = list(played(rows, mode))
            figures = [
                len(found), sum(one.as_said for one in found), sum(one.refused for one in found),
                sum(one.asked == 1 for one in found), sum(one.asked == 2 for one in found),
            ]  # fmt: skip
            lines.append(" | ".join([f"| {kind}s", mode, *map(str, figures)]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
