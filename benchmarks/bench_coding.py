"""What the coding agent adds to each request, and how often a run of it is trimmed.

First the tokens of the system prompts, of the tools and of a state line, in the vocabulary ``o200k_base``: on the native
wire the JSON of the tools as it is sent, on the other one the system prompt. The vocabulary comes with the package
``bpe-openai``, which is needed for nothing else: ``pip install bpe-openai==0.1.4``. Without it, a line says that this
table is missing.

Then 25 steps at ``num_ctx`` 8,192, in which each observation has 2 KB: how often the prompt is cut. The model is
scripted, on a server that drops what does not fit, as Ollama does. The tools are declared as they are, and give a text.
"""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from benchmarks.bench_context import MODES, asked, saying
from micro_agent import Limits, MicroAgent, Run, Tool, configure_lm
from micro_agent.coding import EditFormat
from micro_agent.coding.prompts import prompt_for
from micro_agent.coding.toolset import coding_toolset
from micro_agent.models.settings import Settings
from micro_agent.rules.coach import Coach
from micro_agent.run import CONTEXT_TRIMMED, Mode
from micro_agent.testing import ModelServer, Received, final, text

NUM_CTX, STEPS, BYTES = 8192, 25, 2048
NUMBERS = (("tools, prompt and state", 2600), ("minimal prompt", 350))
STATE = "Steps: 17/25 | ✗ propose_patch_unified | ✓ read_file_snippet"
"""A line in the form that stands behind each observation, with the longest names."""
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
        import bpe_openai  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        return None
    encoding: Any = bpe_openai.get_encoding("o200k_base")  # pyright: ignore[reportUnknownMemberType]
    return lambda said: len(encoding.encode(said))


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


def ran(tools: list[Tool], mode: Mode, edits: EditFormat, steps: int = STEPS) -> tuple[Run, list[Received], int]:
    """A run of so many steps, its requests, and how many of them were cut by the server."""
    calls = [
        asked("read_file", {"path": f"src/shop/part_{n}.py", "start_line": 10 * n + 1}, mode) for n in range(steps - 1)
    ]
    last = text("It is fixed, and the tests pass.") if mode == "native" else final("It is fixed, and the tests pass.")
    with ModelServer([*calls, last], truncate=True) as server:
        lm = configure_lm("ollama", "scripted", server.url, settings=Settings(ollama_num_ctx=NUM_CTX), fallback=False)
        coach = Coach(state=lambda run: STATE)
        system = prompt_for("minimal", tools, edits)
        agent = MicroAgent(tools, lm, mode, [], Limits(max_steps=steps), system=system, coach=coach)
        return agent.ask("The total of an order is wrong by a cent. Fix it."), server.chats, len(server.truncated)


def head_of(chat: Received, mode: Mode) -> str:
    """What stands in front of the question: the JSON of the tools as it was sent, and the system prompt."""
    tools = (chat.body or {}).get("tools")
    told = json.dumps(tools) if tools else ""
    return told + "".join(str(one["content"]) for one in chat.messages if one["role"] == "system")


def tokens_table(repo: Path, count: Callable[[str], int]) -> None:
    """Print the first table."""
    for edits in get_args(EditFormat):
        tools = toolset(repo, edits)
        minimal, detailed = (count(prompt_for(size, tools, edits)) for size in ("minimal", "detailed"))
        print(f"  {edits:7} {len(tools)} tools: minimal prompt {minimal}, detailed prompt {detailed}")
        for mode in MODES:
            _, chats, _ = ran(stand_ins(tools, "Done."), mode, edits, 2)
            print(f"    {mode:7} tools, system prompt and state line: {count(head_of(chats[0], mode) + STATE)}")


def trims_table(repo: Path) -> None:
    """Print the second table."""
    tools = toolset(repo, "edit")
    for name, result in TEXTS.items():
        for mode in MODES:
            run, chats, cut = ran(stand_ins(tools, result), mode, "edit")
            trims = sum(step.tool == CONTEXT_TRIMMED for step in run.steps)
            seen = [chat.messages[-1]["content"] for chat in chats[1:]]
            whole = sum(
                result[-60:] in str(one) and result[:60] in str(one) and len(str(one)) > len(result) for one in seen
            )
            print(f"  {name:7} {mode:7} {len(chats)} requests: {trims} trims, {whole} whole, {cut} cut, {run.status}")


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
        print(
            f"{STEPS} steps with results of {BYTES} bytes at num_ctx {NUM_CTX}: trims (at most 4), results shown whole"
        )
        trims_table(repo)


if __name__ == "__main__":
    main()
