"""What the tests of sampling share: tools of each kind, and a run over a server with what the server was sent."""

import asyncio
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from micro_agent import MicroAgent, Run, Tool, configure_lm, tool
from micro_agent.rules import BeforeFinish, BeforeTool, Event, Violation
from micro_agent.run import Mode
from micro_agent.testing import ModelServer, Received, Reply, call, calls, decision, final, text
from micro_agent.testing.script import Script

QUESTION = "What is the weather in Oslo?"


@tool(read_only=True)
def weather(city: str, days: int = 1) -> dict[str, Any]:
    """Say what the weather is."""
    return {"city": city, "degrees": 16, "sky": "overcast", "days": days}


@tool(read_only=True)
def broken(city: str = "") -> str:
    """Fail, always."""
    raise ValueError(f"no station in {city or 'sight'}")


@tool(read_only=True, requires_confirmation=True)
def secret(city: str) -> str:
    """Say a secret, or fail."""
    raise ValueError(f"no secret in {city}")


@dataclass
class Letters:
    """A tool with effects that counts what it did."""

    sent: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @property
    def tool(self) -> Tool:
        """It fails for nobody."""

        @tool
        def send(to: str, words: str = "") -> str:
            """Send a letter."""
            self.sent.append((to, words))
            if to == "nobody":
                raise ValueError("nobody is nobody")
            return f"sent as letter {len(self.sent)}"

        return send


def not_rome(run: Run, event: Event) -> Violation | None:
    """A rule against a call and an answer about Rome."""
    called = isinstance(event, BeforeTool) and event.args.get("city") == "Rome"
    said = isinstance(event, BeforeFinish) and "Rome" in event.answer
    return Violation("not Rome") if called or said else None


@dataclass(frozen=True)
class Says:
    """What a model says in one mode."""

    mode: Mode

    def call(self, name: str, args: Mapping[str, Any]) -> Reply:
        return call(name, args) if self.mode == "native" else decision(name, args)

    def both(self, *named: tuple[str, Any]) -> Reply:
        """Several calls in one reply."""
        if self.mode == "native":
            return calls(*named)
        lines = [json.dumps({"name": name, "arguments": args}) for name, args in named]
        return text("".join(f"<tool_call>{line}</tool_call>" for line in lines))

    def answer(self, answer: str = "It is overcast.") -> Reply:
        return text(answer) if self.mode == "native" else final(answer)


@contextmanager
def served(script: Script, tools: Sequence[Any] = (weather,), *, mode: Mode = "native", temperature: float = 0.2,
           **options: Any) -> Generator[tuple[MicroAgent, ModelServer]]:  # fmt: skip
    """An agent whose model is a server that plays a script."""
    with ModelServer(script) as server:
        lm = configure_lm("openai", "scripted", server.openai_url, fallback=False, temperature=temperature)
        given: dict[str, Any] = {"rules": [], "finish": "text", **options}
        yield MicroAgent(tools=tools, lm=lm, mode=mode, **given), server


def ask(*replies: Reply, asynchronous: bool = False, question: str = QUESTION, asking: Mapping[str, Any] | None = None,
        **options: Any) -> tuple[Run, list[Received]]:  # fmt: skip
    """The run of these replies, and the requests."""
    with served(replies, **options) as (agent, server):
        asked = asking or {}
        run = asyncio.run(agent.aask(question, **asked)) if asynchronous else agent.ask(question, **asked)
        return run, server.chats


def sampling(requests: Sequence[Received]) -> list[tuple[int | None, float | None]]:
    """Seed and temperature of each request."""
    return [((one.body or {}).get("seed"), (one.body or {}).get("temperature")) for one in requests]


def without_sampling(request: Received) -> str:
    """All else of a request, as it came."""
    body = {key: value for key, value in (request.body or {}).items() if key not in ("seed", "temperature", "n")}
    return json.dumps(body, ensure_ascii=False)


def texts(run: Run) -> list[list[str]]:
    """The texts of the replies that are not in force, for each request."""
    return [[one.reply["text"] for one in reply.samples] for reply in run.calls]
