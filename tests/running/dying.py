"""A run whose process kills itself where a call is shown, asked about or made; the tests start this as a program."""

import os
import sys
from pathlib import Path
from typing import Any

from micro_agent import MicroAgent, Tool, configure_lm
from micro_agent.effects import Approval, Question
from micro_agent.traces import TraceStore

PARAMETERS = {"type": "object", "properties": {"letter": {"type": "string"}}, "required": ["letter"]}


def agent_of(url: str, folder: Path, confirm: Any = "pause", die: str = "") -> MicroAgent:
    """An agent whose tool writes down what it did and has a preview; ``die`` says where its process ends."""
    happened: list[str] = []

    def happens(what: str) -> None:
        happened.append(what)
        if f"{what} {happened.count(what)}" == die:
            os.kill(os.getpid(), 9)

    def send(letter: str) -> str:
        with (folder / "effects").open("a", encoding="utf-8") as effects:
            effects.write(f"{letter}\n")
        happens("sent")
        return "sent"

    def preview(args: dict[str, Any]) -> dict[str, Any]:
        happens("shown")
        return {"kind": "command", "id": "cmd_0123456789", "text": f"send {args['letter']}"}

    def asked(question: Question) -> Approval:
        happens("asked")
        return confirm(question)

    tool = Tool("send", "Send.", PARAMETERS, send, timeout_s=None, requires_confirmation=True, preview=preview)
    lm = configure_lm("openai", "scripted", url, fallback=False)
    store = TraceStore(folder / "traces", state_dir=folder / "state")
    word = asked if callable(confirm) else confirm
    return MicroAgent(tools=[tool], lm=lm, rules=[], traces=store, confirm=word)


def edits_once(question: Question) -> Approval:
    """Approves b in the place of a, and then what is asked."""
    return Approval("approve", args=None if question.args["letter"] == "b" else {"letter": "b"})


if __name__ == "__main__":
    agent_of(sys.argv[1], Path(sys.argv[2]), edits_once, sys.argv[3]).ask("Send a.")
