"""A run of which replies are thrown away, or of which several are asked for, and whose process may be killed."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from micro_agent import MicroAgent, configure_lm, tool
from micro_agent.testing import Received, Reply, call, text
from micro_agent.traces import TraceStore
from tests.sampling.playing import not_rome, weather

QUESTION = "Write Luvir what the weather in Oslo is."
UNREADABLE = text('{"name": "weather", "arguments": {')
LUVIRA, LUVIR = (call("send", {"to": name}) for name in ("Luvira", "Luvir"))
OSLO, BERGEN = (call("weather", {"city": city}) for city in ("Oslo", "Bergen"))
DONE = text("I wrote that it is overcast.")


def says(request: Received, samples: int) -> Reply:
    """What the model says depends on the request alone, and so on nothing that a kill could change.

    With one sample for each request these are eight requests, with five of them ten.
    """
    results = sum(message["role"] == "tool" for message in request.messages)
    seed = (request.body or {}).get("seed")
    bad: Sequence[Mapping[int | None, Reply]]
    if samples == 1:
        bad = {None: text(""), 1: UNREADABLE}, {None: call("broken", {}), 4: LUVIRA}, {None: text("It rains in Rome.")}
    else:
        bad = {None: text("17."), 1: BERGEN, 2: call("weather", {"town": "Oslo"})}, {None: LUVIRA}, {}
    return bad[results].get(seed, (OSLO, LUVIR, DONE)[results])


def agent_of(url: str, folder: Path, samples: int) -> MicroAgent:
    """An agent whose tool writes down what it did."""

    @tool
    def send(to: str) -> str:
        """Send a letter."""
        with (folder / "letters").open("a", encoding="utf-8") as letters:
            letters.write(f"{to}\n")
        return "sent"

    @tool(read_only=True)
    def broken() -> str:
        """Fail."""
        raise ValueError("broken")

    store = TraceStore(folder / "traces", state_dir=folder / "state")
    lm = configure_lm("openai", "scripted", url, fallback=False)
    return MicroAgent([weather, send, broken], lm, rules=[not_rome], traces=store, finish="text", samples=samples,
                      mode="native")  # fmt: skip


if __name__ == "__main__":
    agent_of(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])).ask(QUESTION)
