"""A run that asks whether a call inside a text shall be made, in a process that kills itself at a step."""

import os
import sys
from pathlib import Path

from micro_agent import MicroAgent, Tool, configure_lm
from micro_agent.streaming import StepTaken, StreamEvent
from micro_agent.traces import TraceStore

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def agent_of(url: str, folder: Path) -> MicroAgent:
    """An agent whose tool writes down what it did."""

    def write(path: str) -> str:
        with (folder / "effects").open("a", encoding="utf-8") as effects:
            effects.write(f"{path}\n")
        return "written"

    store = TraceStore(folder / "traces", state_dir=folder / "state")
    lm = configure_lm("openai", "scripted", url, fallback=False)
    return MicroAgent([Tool("write", "Write.", SCHEMA, write)], lm, rules=[], traces=store, finish="text")


def main(url: str, folder: str, at: str) -> None:
    """The child: one question, until a step of this name is on record."""

    def watch(event: StreamEvent) -> None:
        if isinstance(event, StepTaken) and event.step.tool == at:
            os.kill(os.getpid(), 9)

    agent_of(url, Path(folder)).ask("Is it there?", on_event=watch)


if __name__ == "__main__":
    main(*sys.argv[1:])
