"""The index of traces: how fast it is made, brought up to date, and asked for examples.

    python benchmarks/bench_index.py [--traces 100000] [--folder DIR]

The traces are made up: tasks of 5 to 25 words from a vocabulary with the frequencies of text (Zipf), 4 to 16 steps with
observations of some hundred characters, a few KB each. One in four did not end well.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from micro_agent.index import TraceIndex
from micro_agent.traces import TraceStore

WORDS = 20_000
TOOLS = (
    ("rg_search", "pattern"), ("read_file", "path"), ("edit_file", "path"), ("run_tests", "test_cmd"),
    ("list_files", "glob"), ("git_status", "path"),
)  # fmt: skip


def vocabulary(rng: random.Random) -> tuple[list[str], list[float]]:
    """Words, and how often each is used: the n-th most frequent one in n as often as the first."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(3, 10))) for _ in range(WORDS)]
    return words, [1 / rank for rank in range(1, WORDS + 1)]


def record(rng: random.Random, run_id: str, task: str, words: list[str]) -> bytes:
    """One line of a trace, with what a run of the coding agent has on record."""
    ended = rng.choices(("completed", "stopped", "failed"), (75, 15, 10))[0]
    steps: list[dict[str, Any]] = []
    for number in range(rng.randint(4, 16)):
        tool, argument = rng.choice(TOOLS)
        args = {argument: f"src/{rng.choice(words)}/{rng.choice(words)}.py"}
        observation = {"path": args[argument], "lines": " ".join(rng.choices(words, k=rng.randint(10, 60))), "ok": True}
        steps.append({"tool": tool, "args": args, "observation": observation, "call": number, "ok": True})
    usage = {"lm_calls": len(steps) + 1, "tool_calls": len(steps), "input_tokens": 9_000, "output_tokens": 700}
    run = {
        "id": run_id, "ts": f"2026-11-{rng.randint(1, 28):02}T10:00:00.000Z", "question": task, "steps": steps,
        "answer": "Done.", "schema_version": 1, "status": ended, "usage": usage, "model": "qwen2.5-coder:14b",
        "coach": {"kind": "coding"}, "gates": {"all_passed": rng.random() < 0.95},
        "calls": [{"reply": {"text": " ".join(rng.choices(words, k=20))}} for _ in steps],
    }  # fmt: skip
    return json.dumps(run).encode() + b"\n"


def main() -> None:
    """Make the traces, then the index of them, and print what each took."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--traces", type=int, default=100_000)
    options.add_argument("--folder", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        rng = random.Random(16)
        words, weights = vocabulary(rng)
        tasks = [" ".join(rng.choices(words, weights, k=rng.randint(5, 25))) for _ in range(given.traces)]
        store = TraceStore(folder / "traces", state_dir=folder / "state")
        store.directory.mkdir(exist_ok=True, parents=True)
        size = 0
        for task in tasks:
            run_id = f"{rng.getrandbits(128):032x}"
            line = record(rng, run_id, task, words)
            size += len(line)
            store.path(run_id).write_bytes(line)
        index = TraceIndex(store)
        began, began_cpu = time.perf_counter(), time.process_time()
        assert index.rebuild()
        took, cpu = time.perf_counter() - began, time.process_time() - began_cpu
        print(f"{given.traces} traces of {size / given.traces / 1000:.1f} kB on average")
        print(f"rebuilt in {took:.1f} s, {cpu:.1f} s of processor time: {given.traces / took:.0f} traces a second")
        print(f"the index: {index.path.stat().st_size / 2**20:.0f} MiB")
        began = time.perf_counter()
        assert index.refresh()
        print(f"refreshed with nothing new in {time.perf_counter() - began:.2f} s")
        times: list[float] = []
        found, began_cpu = 0, time.process_time()
        for task in rng.sample(tasks, 50):
            began = time.perf_counter()
            found += len(index.exemplars(f"please {task} and test it", 3, kind="coding"))
            times.append(1000 * (time.perf_counter() - began))
        print(f"processor time of a query: {1000 * (time.process_time() - began_cpu) / len(times):.1f} ms on average")
        print(f"three examples: median {statistics.median(times):.1f} ms, slowest {max(times):.1f} ms; {found} for 50")


if __name__ == "__main__":
    main()
