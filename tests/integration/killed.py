"""A run that a kill ends anywhere, and what must hold when it is resumed."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from micro_agent import MicroAgent, Run, Tool, configure_lm
from micro_agent.effects import Approval, Question
from micro_agent.streaming import StepTaken, StreamEvent
from micro_agent.testing import Received, Reply, call, text
from micro_agent.traces import TraceStore, read_records

LETTERS = ("a", "b")
PARAMETERS = {"type": "object", "properties": {"letter": {"type": "string"}}, "required": ["letter"]}


def model(request: Received) -> Reply:
    """A model that sends a and b, and tries again what was interrupted. It has no memory but the messages."""
    known: dict[str, Any] = {}
    names: dict[str, str] = {}
    for message in request.messages:
        for asked in message.get("tool_calls") or ():
            names[asked["id"]] = json.loads(asked["function"]["arguments"])["letter"]
        if message["role"] == "tool":
            known[names[message["tool_call_id"]]] = message["content"]
    for letter in LETTERS:
        if letter not in known or "INTERRUPTED" in known[letter]:
            return call("send", {"letter": letter})
    return text("Done.")


def agent_of(url: str, folder: Path, die: str = "", confirm: Any = "pause") -> MicroAgent:
    """An agent whose tool writes down what it did; ``die`` names where its process kills itself."""

    def send(letter: str) -> str:
        end(f"before {letter}")
        with (folder / "effects").open("a", encoding="utf-8") as effects:
            effects.write(f"{letter}\n")
        end(f"after {letter}")
        return "sent"

    def end(place: str) -> None:
        if place == die:
            os.kill(os.getpid(), 9)

    tool = Tool("send", "Send a letter.", PARAMETERS, send, timeout_s=None)
    lm = configure_lm("openai", "scripted", url, fallback=False)
    store = TraceStore(folder / "traces", state_dir=folder / "state")
    return MicroAgent(tools=[tool], lm=lm, rules=[], traces=store, confirm=confirm)


def check(url: str, folder: Path) -> Run | None:
    """Resume what a kill has left, and check what a user relies on. ``None`` if nothing had begun."""
    store = TraceStore(folder / "traces", state_dir=folder / "state")
    effects = folder / "effects"
    left = [run for run in store.open_runs() if run.question is not None]
    if not left:
        ids = list(store.ids())
        assert ids or not effects.exists()
        return store.load(ids[0]) if ids else None
    asked: list[Question] = []

    def confirm(question: Question) -> Approval:
        asked.append(question)
        return Approval("reject")

    run = agent_of(url, folder, confirm=confirm).resume(left[0].id)
    assert (run.status, run.answer) == ("completed", "Done.")
    sent = effects.read_text(encoding="utf-8").split() if effects.exists() else []
    interrupted = [step.args["letter"] for step in run.steps if step.error == "INTERRUPTED"]
    assert len(sent) == len(set(sent))
    assert set(sent) | set(interrupted) == set(LETTERS)
    assert [question.args["letter"] for question in asked] == interrupted
    assert all("interrupted" in question.reason for question in asked)
    assert store.open_runs() == []
    assert list((store.state_dir / "runs").iterdir()) == []
    records = list(read_records(store.path(run.id)))
    assert [record.run and record.run.status for record in records] == ["completed"]
    assert store.load(run.id) == run
    return run


def main(url: str, folder: str, die: str = "") -> None:
    """The child: one question, until it is killed."""

    def watch(event: StreamEvent) -> None:
        if isinstance(event, StepTaken) and die == f"step {event.step.args['letter']}":
            os.kill(os.getpid(), 9)

    run = agent_of(url, Path(folder), die).ask("Send a and b.", on_event=watch)
    sys.exit(0 if run.status == "completed" else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
