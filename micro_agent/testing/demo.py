"""``python -m micro_agent.testing.demo``: a weak model's slips through the real loop, and the replay of that run.

No model is asked. What one of a billion parameters says is written down here and comes from a server on loopback;
everything behind the socket is what a real model meets: decoder, rules, tools, journal and trace.
"""

import shlex
import sys
from collections.abc import Iterator
from textwrap import fill
from typing import Any

from micro_agent import MicroAgent, Run, configure_lm, tool
from micro_agent.models.settings import Settings
from micro_agent.replay import describe, record_of
from micro_agent.testing.reply import Reply, call, text
from micro_agent.testing.server import ModelServer
from micro_agent.text.printable import printable
from micro_agent.tools import load_tools
from micro_agent.traces import TraceStore

MODEL = "scripted-weak-model"
QUESTION = "What are all lamps in shops 2 and 5 worth at 12.50 dollars each?"
SAID: tuple[Reply, ...] = (
    text(
        "Sure! I will use the stock tool.\n{'name': 'stock', 'arguments': {'product': \"lamp\", \"shop\": 2}",
        usage=None,
    ),
    call("stock", {"product": "lamp", "shop": "5"}, usage=None),
    text("Okay, let me calculate the total.", usage=None),
    text("That makes 65 lamps, so they are worth 800 dollars.", usage=None),
    call("calculator", {"expression": "(48 + 17) * 12.50"}, usage=None),
    text("The 65 lamps are worth 812.50 dollars.", usage=None),
)
"""A call in prose with broken JSON, a wrong type, an announcement, an answer before the calculation; then as it should.

Nothing counts tokens here, so none are reported.
"""

_WIDTH = 79
_BEGINNING = """\
A scripted model plays a weak one here: no model is asked. On purpose it writes
a call into its text with broken JSON, passes "5" for a number, says what it
will do and stops, and answers before it has calculated. Loop, rules, tools
and trace are real.

$ micro-agent replay --path {path}
"""


@tool(read_only=True)
def stock(product: str, shop: int) -> dict[str, Any]:
    """Look up how many pieces of a product are in a shop.

    Args:
        product: The product's name, such as "lamp".
        shop: The shop's number.
    """
    return {"pieces": {2: 48, 5: 17}[shop]}


def played(store: TraceStore) -> Run:
    """The run, as a user's agent makes it on a server that plays `SAID`."""
    found = Settings()
    with ModelServer(SAID, models=[MODEL]) as server:
        lm = configure_lm("openai", MODEL, server.openai_url, "none", settings=found)
        tools = [stock, load_tools()["calculator"]]
        agent = MicroAgent(tools, lm, traces=store, settings=found, resamples=0)  # each slip is told of, and shown
        return agent.ask(QUESTION)


def shown(run: Run) -> Iterator[str]:
    """`micro-agent replay` of a run, its lines folded so that a terminal of 80 columns has them."""
    for line in describe(run):
        own = len(line) - len(line.lstrip(" "))
        hanging = " " * (own + 3 if line[own:].startswith("-> ") else own)
        folded = fill(line.strip(), _WIDTH, initial_indent=" " * own, subsequent_indent=hanging, break_on_hyphens=False)
        yield from folded.splitlines() or [""]


def main() -> int:
    """Play it, and print the replay; returns the exit code."""
    store = TraceStore("traces")
    path = store.path(played(store).id)
    run = record_of(path)
    lines = [*_BEGINNING.format(path=shlex.quote(str(path))).splitlines(), "", *shown(run)]
    sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
    return 0 if run.status == "completed" else 1


if __name__ == "__main__":
    sys.exit(main())
