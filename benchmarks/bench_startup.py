"""Wall time of whole processes, over that of ``python -c "import dspy"``: the help, and an offline answer."""

import os
import subprocess
import sys
import tempfile
from statistics import median
from time import perf_counter

ROUNDS = 9


def wall(command: list[str], folder: str) -> float:
    """Seconds from start to end of a process with nothing in its environment but a path and a home."""
    environment = {"PATH": os.environ["PATH"], "HOME": folder}
    begun = perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return perf_counter() - begun


def main() -> None:
    """Print medians over interleaved rounds."""
    ask = [sys.executable, "-m", "micro_agent", "ask", "--provider", "mock", "What is 2*(3+5)?"]
    commands = {
        "import dspy": [sys.executable, "-c", "import dspy"],
        "--help": [sys.executable, "-m", "micro_agent", "--help"],
        "ask, offline": ask,
    }
    with tempfile.TemporaryDirectory() as folder:
        taken = {name: list[float]() for name in commands}
        for turn in range(ROUNDS + 1):
            for name, command in commands.items():
                seconds = wall(command, folder)
                if turn:
                    taken[name].append(seconds)
    dspy = median(taken["import dspy"])
    for name, seconds in taken.items():
        print(f"{name}: {median(seconds):.3f} s, {median(seconds) / dspy:.2f} of import dspy")


if __name__ == "__main__":
    main()
