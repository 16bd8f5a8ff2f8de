"""What the coding agent adds to each request, and how often a run of it is trimmed.

First the tokens of the system prompts, of the tools and of a state line, in the vocabulary ``o200k_base``: on the
native wire the JSON of the tools as it is sent, on the other one the system prompt. The vocabulary comes with the
package ``bpe-openai``, which is needed for nothing else: ``pip install bpe-openai==0.1.4``. Without it, a line says
that this table is missing.

Then 25 steps at ``num_ctx`` 8,192, in which each observation has 2 KB: how often the prompt is cut. The model is
scripted, on a server that drops what does not fit, as Ollama does. The tools are declared as they are, and give a text.
"""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from importlib import import_module
from io import StringIO
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from benchmarks.bench_context import MODES, asked, saying
from micro_agent import Limits, MicroAgent, Run, Tool, configure_lm
from micro_agent.coding import EditFormat, PromptSize
from micro_agent.coding.coach import CoachSettings, coding_coach
from micro_agent.coding.prompts import prompt_for
from micro_agent.coding.toolset import coding_toolset
from micro_agent.models.settings import Settings
from micro_agent.run import CONTEXT_TRIMMED, Mode
from micro_agent.testing import ModelServer, Received, final, text

NUM_CTX, STEPS, BYTES = 8192, 25, 2048
NUMBERS = (("tools, prompt and state", 2600), ("minimal prompt", 350))
CODE = (
    "    def price(self, order: Order, *, vat: float = 0.19) -> Decimal:\n"
    '        """What the customer pays, with the discount of the basket."""\n'
    "        net = sum((line.quantity * line.unit_price for line in order.lines), Decimal(0))\n"
    "        return (net * Decimal(1 + vat)).quantize(Decimal('0.01'))\n"
    "\n"
)
TEXTS = {
    "code": (CODE * 9)[:BYTES],
    "prose": ("A page of a report, with 42 figures in it, and some words about each of them. " * 40)[:BYTES],
    "digits": "".join(
        f"{n * n % 9973:04} {'ok' if n % 3 else 'FAILED'} 0x{n * 7919 % 65536:04x}\n" for n in range(200)
    )[:BYTES],
}


def counting() -> Callable[[str], int] | None:
    """What counts the tokens of a text; ``None`` where the vocabulary is not installed."""
    try:
        vocabularies: Any = import_module("bpe_openai")
    except ImportError:
        return None
    encode: Callable[[str], list[int]] = vocabularies.get_encoding("o200k_base").encode
    return lambda said: len(encode(said))


def toolset(repo: Path, edits: EditFormat) -> list[Tool]:
    """The tools of a repository as they are declared."""
    with redirect_stderr(StringIO()):  # that nothing holds commands: none is run
        return list(coding_toolset(repo, sandbox="clone", edits=edits).values())


def stand_ins(tools: Sequence[Tool], result: str) -> list[Tool]:
    """The same declarations; each call gives ``result``, and nobody is asked."""
    return [
        replace(tool, handler=saying(result), preview=None, rejected=None, requires_confirmation=False, function=None)
        for tool in tools
    ]


def ran(tools: list[Tool], mode: Mode, settings: CoachSettings, steps: int = STEPS) -> tuple[Run, list[Received], int]:
    """A run of so many steps, its requests, and how many of them were cut by the server."""
    where = [{"path": f"src/shop/part_{n}.py", "start_line": 10 * n + 1} for n in range(steps - 1)]
    last = text("It is fixed.") if mode == "native" else final("It is fixed.")
    with ModelServer([*(asked("read_file", args, mode) for args in where), last], truncate=True) as server:
        lm = configure_lm("ollama", "scripted", server.url, settings=Settings(ollama_num_ctx=NUM_CTX), fallback=False)
        coach = coding_coach(settings, tools)
        agent = MicroAgent(tools, lm, mode, [], Limits(max_steps=steps), coach=coach, demos=[])
        return agent.ask("The total of an order is wrong by a cent. Fix it."), server.chats, len(server.truncated)


def unguarded(**more: Any) -> CoachSettings:
    """What a model is told, without the rules, which would ask this one to change something."""
    return CoachSettings(gates="off", corrections=0, **more)


def head_of(chat: Received) -> str:
    """What stands in front of the question: the JSON of the tools as it was sent, and the system prompt."""
    tools = (chat.body or {}).get("tools")
    told = json.dumps(tools) if tools else ""
    return told + "".join(str(one["content"]) for one in chat.messages if one["role"] == "system")


def tokens_table(repo: Path, count: Callable[[str], int]) -> None:
    """Print the first table."""
    for edits in get_args(EditFormat):
        tools = toolset(repo, edits)
        minimal, detailed = (count(prompt_for(size, tools, edits)) for size in get_args(PromptSize))
        print(f"  {edits:7} {len(tools)} tools: minimal prompt {minimal}, detailed prompt {detailed}")
        for mode in MODES:
            for state in ("compact", "detailed"):
                run, chats, _ = ran(stand_ins(tools, "Done."), mode, unguarded(edits=edits, state=state), 4)
                told = count(head_of(chats[0]) + next(step.state for step in reversed(run.steps) if step.state))
                print(f"    {mode:7} tools, system prompt and {state} state line: {told}")


def trims_table(repo: Path) -> None:
    """Print the second table."""
    tools = toolset(repo, "edit")
    for state, name, mode in product(("compact", "detailed"), TEXTS, MODES):
        run, chats, cut = ran(stand_ins(tools, TEXTS[name]), mode, unguarded(state=state))
        trims = sum(step.tool == CONTEXT_TRIMMED for step in run.steps)
        whole = sum(TEXTS[name] in str(chat.messages[-1]["content"]) for chat in chats)
        ended = f"{trims} trims, {whole} whole, {cut} cut, {run.status}"
        print(f"  {state:9}{name:7} {mode:7} {len(chats)} requests: {ended}")


def main() -> None:
    """Print both tables."""
    with TemporaryDirectory() as folder:
        os.environ["MICRO_AGENT_STATE_DIR"] = f"{folder}/state"
        repo = Path(folder) / "repo"
        (repo / ".git").mkdir(parents=True)
        print(f"tokens of o200k_base (at most {', '.join(f'{most} for {what}' for what, most in NUMBERS)})")
        if count := counting():
            tokens_table(repo, count)
        else:
            print("  not counted: the vocabulary is missing, `pip install bpe-openai==0.1.4` brings it")
        print(f"{STEPS} steps, results of {BYTES} bytes, num_ctx {NUM_CTX}: trims (at most 4), results shown whole")
        trims_table(repo)


if __name__ == "__main__":
    main()
