"""Runs the clients over the set: which program with which wire, and what each made of each defect."""

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.proxy_defects.sets import Defect
from benchmarks.proxy_defects.verdict import Verdict, verdict

ROOT = Path(__file__).resolve().parents[2]
_NONCES = count(1)


@dataclass(frozen=True, slots=True)
class Client:
    """A program of `clients`, the words on its command line, the wire that it speaks, whether it takes a choice."""

    name: str
    module: str
    wire: str
    words: tuple[str, ...] = ()
    chooses: bool = True

    def meets(self, defect: Defect) -> bool:
        """Whether this client can come upon that defect."""
        streamed = "stream" in self.words
        return (
            self.wire in defect.wires
            and (self.chooses or defect.kind != "choice")
            and (streamed or not defect.entry.get("streamed", False))
        )


CLIENTS = (
    Client("openai chat", "openai_chat", "chat"),
    Client("openai chat streamed", "openai_chat_stream", "chat", ("stream",)),
    Client("openai responses", "openai_responses", "responses"),
    Client("openai responses streamed", "openai_responses", "responses", ("stream",)),
    Client("anthropic", "anthropic_loop", "messages"),
    Client("anthropic streamed", "anthropic_loop", "messages", ("stream",)),
    Client("anthropic tool_runner", "anthropic_tools", "messages"),
    Client("pydantic-ai", "pydantic_agent", "chat", (), chooses=False),
    Client("pydantic-ai streamed", "pydantic_agent", "chat", ("stream",), chooses=False),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one task."""

    client: str
    defect: Defect
    mode: str
    verdict: Verdict
    told: dict[str, object]

    @property
    def key(self) -> tuple[str, str, str]:
        """Who did what: the same with and without a proxy."""
        return self.client, self.defect.id, self.mode


def modes(defect: Defect) -> tuple[str, ...]:
    """A defect comes once and sticky; where nothing may be run the first reply ends it."""
    return ("sticky",) if defect.kind == "trap" else ("once", "sticky")


def run(client: Client, defects: Iterable[Defect], url: str, python: str) -> list[Outcome]:
    """Have one client do all tasks of these defects, one after the other, in a process of its own."""
    tasks: dict[str, tuple[Defect, str]] = {}
    for defect in defects:
        for mode in modes(defect) if client.meets(defect) else ():
            tasks[f"weak:{defect.id}:{mode}:{next(_NONCES)}"] = defect, mode
    lines = [{"model": model, "url": url, "choice": defect.choice} for model, (defect, _) in tasks.items()]
    return [
        Outcome(client.name, *tasks[told["model"]], verdict(tasks[told["model"]][0], told), told)
        for told in _told(client, lines, python)
    ]


def heard(client: Client, names: Sequence[str], url: str, python: str) -> dict[str, str]:
    """What a client that runs no tools has heard, of each of these defects."""
    lines = [{"model": f"weak:{name}:raw:heard", "url": url, "choice": "auto"} for name in names]
    return {told["model"].split(":")[1]: told["answer"] or told["error"] for told in _told(client, lines, python)}


def _told(client: Client, tasks: list[dict[str, str]], python: str) -> list[dict[str, Any]]:
    command = [python, "-m", f"benchmarks.proxy_defects.clients.{client.module}", *client.words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_"))}
    lines = "".join(json.dumps(task) + "\n" for task in tasks)
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, cwd=ROOT, check=False, env=environment
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{client.name} broke: {done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]
