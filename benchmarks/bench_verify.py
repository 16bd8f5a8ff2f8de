"""Time of `micro-agent replay --verify` over 1 000 recorded runs of 5 steps, in a process of its own, start included.

Half of the runs have native tool calls, half JSON decisions; in each the calculator is called five times before the
answer. One in ten has a reply that could not be read, another one in ten a violation.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import perf_counter
from typing import Literal

from micro_agent import Limits, MicroAgent
from micro_agent.testing import Reply, ScriptedLM, call, decision, final, text
from micro_agent.traces import TraceStore

RUNS = 1_000
STEPS = 5
ROUNDS = 5


def replies(number: int, mode: Literal["native", "json"]) -> Iterator[Reply]:
    """What the model says in one run."""
    for step in range(STEPS - (number % 10 < 2)):
        expression = {"expression": f"({number} + {step}) * 12.5"}
        yield call("calculator", expression) if mode == "native" else decision("calculator", expression)
        if step == 1 and number % 10 == 0:
            yield text('I would call {"name": "calculator", "arguments": {"expression": ')
    answer = f"I computed each price by itself, and the last of them is {(number + STEPS - 1) * 12.5:,}."
    yield text(answer) if mode == "native" else final(answer)


def record(folder: Path) -> None:
    """Make the runs."""
    store = TraceStore(folder / "traces", state_dir=folder / "state")
    for mode in ("native", "json"):
        numbers = range(mode == "json", RUNS, 2)
        script = [reply for number in numbers for reply in _with_violation(number, mode)]
        agent = MicroAgent(lm=ScriptedLM(script, mode=mode), traces=store, limits=Limits(max_steps=12))
        for number in numbers:
            question = f"A shop sells boxes at 12.5 each. What do {number} to {number + STEPS - 1} of them cost?"
            run = agent.ask(question)
            assert (run.status, len(run.steps)) == ("completed", STEPS), run.error


def _with_violation(number: int, mode: Literal["native", "json"]) -> Iterator[Reply]:
    if number % 10 == 1:  # an answer before the calculator was used
        yield text("12.5, I guess.") if mode == "native" else final("12.5, I guess.")
    yield from replies(number, mode)


def seconds(folder: Path) -> tuple[float, float]:
    """Wall time and processor time of the command."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd(), "HOME": str(folder)}
    command = [sys.executable, "-m", "micro_agent", "replay", "--verify", "traces"]
    begun, used = perf_counter(), processor_seconds()
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == f"{RUNS} runs: {RUNS} the same, 0 differ, 0 could not be replayed\n", done.stdout
    return perf_counter() - begun, processor_seconds() - used


def processor_seconds() -> float:
    """What the processes that have ended used, in user and system mode."""
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the medians; on a busy machine only the processor time says something."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record(folder)
        size = sum(path.stat().st_size for path in (folder / "traces").iterdir())
        taken = [seconds(folder) for _ in range(ROUNDS)]
    wall, processor = (median(one[index] for one in taken) for index in range(2))
    print(
        f"{RUNS} runs of {STEPS} steps, {size / 1e6:.1f} MB, verified in {wall:.2f} s; processor time {processor:.2f} s"
    )


if __name__ == "__main__":
    main()
