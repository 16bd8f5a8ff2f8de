"""The index of traces: how fast it is made, brought up to date, and asked; and what memory commands on many runs take.

    python -m benchmarks.bench_index [--traces 10000 100000] [--small] [--folder DIR] [--score]

The traces are made up: tasks of 5 to 25 words from a vocabulary with the frequencies of text (Zipf), 4 to 16 steps with
observations of some hundred characters, a few KB each; ``--small``: one to three steps, less than one KB. One in four
did not end well. Beside each time stands what a plain loop takes in the same run: one that lists the folder and asks
for the size of each file, or one that reads each file and its last line as JSON.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, NamedTuple

from micro_agent.index import TraceIndex
from micro_agent.traces import TraceStore

WORDS, NEW, SAMPLE = 20_000, 1_000, 10_000
PEAK = """
import sys
sys.path.insert(0, {root!r})
from micro_agent.cli import app
app({command!r}, standalone_mode=False)
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM")))
"""
TOOLS = (
    ("rg_search", "pattern"), ("read_file", "path"), ("edit_file", "path"), ("run_tests", "test_cmd"),
    ("list_files", "glob"), ("git_status", "path"),
)  # fmt: skip


def vocabulary(rng: random.Random) -> tuple[list[str], list[float]]:
    """Words, and the sums of how often each is used: the n-th most frequent one in n as often as the first."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(3, 10))) for _ in range(WORDS)]
    return words, list(accumulate(1 / rank for rank in range(1, WORDS + 1)))


def record(rng: random.Random, run_id: str, task: str, texts: list[str], *, small: bool = False) -> bytes:
    """One line of a trace, with what a run of the coding agent has on record."""
    most, calls = (3, []) if small else (16, texts)
    ended = rng.choices(("completed", "stopped", "failed"), (75, 15, 10))[0]
    steps: list[dict[str, Any]] = []
    for number in range(rng.randint(1 if small else 4, most)):
        tool, argument = rng.choice(TOOLS)
        args = {argument: f"src/{rng.choice(texts)[:12].strip()}.py"}
        observation = {"path": args[argument], "lines": rng.choice(texts)[: 40 if small else None], "ok": True}
        steps.append({"tool": tool, "args": args, "observation": observation, "call": number, "ok": True})
    usage = {
        "lm_calls": len(steps) + 1,
        "tool_calls": len(steps),
        "input_tokens": 9_000,
        "output_tokens": 700,
        "latency_s": rng.random() * 60,
    }
    run = {
        "id": run_id, "ts": f"2026-11-{rng.randint(1, 28):02}T10:00:00.000Z", "question": task, "steps": steps,
        "answer": "Done.", "schema_version": 1, "status": ended, "usage": usage, "model": "qwen2.5-coder:14b",
        "coach": {"kind": "coding"}, "gates": {"all_passed": rng.random() < 0.95},
        "calls": [{"reply": {"text": rng.choice(calls)}} for _ in steps if calls],
    }  # fmt: skip
    return json.dumps(run).encode() + b"\n"


class Shelf:
    """A folder of made-up traces."""

    def __init__(self, folder: Path, *, small: bool) -> None:
        self.store = TraceStore(folder / "traces", state_dir=folder / "state")
        self.store.directory.mkdir(exist_ok=True, parents=True)
        self.small, self.rng = small, random.Random(16)
        words, sums = vocabulary(self.rng)
        self.texts = [" ".join(self.rng.choices(words, k=self.rng.randint(10, 60))) for _ in range(2_000)]
        self.task = lambda: " ".join(self.rng.choices(words, cum_weights=sums, k=self.rng.randint(5, 25)))

    def make(self, count: int) -> float:
        """Write so many traces. Returns their size on average, in bytes."""
        size = 0
        for _ in range(count):
            run_id = f"{self.rng.getrandbits(128):032x}"
            line = record(self.rng, run_id, self.task(), self.texts, small=self.small)
            size += len(line)
            self.store.path(run_id).write_bytes(line)
        return size / max(count, 1)


class Took(NamedTuple):
    """The seconds of a call on the clock, and of processor time: on a busy machine these compare better."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{1000 * self.wall:.1f} ms, {1000 * self.cpu:.1f} of the processor"

    def beside(self, loop: "Took") -> str:
        """It as text, with how many times the processor time of a loop it is."""
        return f"{self}: {self.cpu / loop.cpu:.2f} of the loop"


def timed(do: Callable[[], object]) -> Took:
    """What a call takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    do()
    return Took(time.perf_counter() - wall, time.process_time() - cpu)


def plain_look(folder: Path) -> None:
    """The plain loop: what is in a folder, with the size of each file."""
    with os.scandir(folder) as entries:
        for entry in entries:
            entry.stat()


def plain_read(folder: Path, most: int) -> None:
    """The plain loop: the last lines of files as JSON."""
    for path in islice(folder.iterdir(), most):
        json.loads(path.read_bytes().rstrip(b"\n").rpartition(b"\n")[2])


def looks(shelf: Shelf, count: int) -> None:
    """What bringing the index up to date takes, with nothing new and with a thousand new ones."""
    later = lambda: time.time() + 3_600  # noqa: E731 - by this clock the folder has not changed for long
    index, folder = TraceIndex(shelf.store, clock=later, trusting=1), shelf.store.directory
    every = TraceIndex(shelf.store, trusting=2**60)
    index.refresh()
    loop = timed(lambda: plain_look(folder))
    print(f"  a plain loop lists and looks at every file: {loop}")
    print(f"  nothing new, the folder as it was: {timed(index.refresh).beside(loop)}")
    print(f"  nothing new, every file looked at: {timed(every.refresh).beside(loop)}")
    shelf.rng.seed(count)
    for what, all_files in (("every file looked at", True), ("names alone", False)):
        shelf.make(NEW)
        took = timed(lambda: index.refresh(all_files=all_files))  # noqa: B023
        print(f"  {NEW} new, {what}: {took.beside(loop)}")
    index.refresh()
    for what, do in (
        ("the latest 20", lambda: index.newest(20)),
        ("the latest 20, without the index", lambda: [*shelf.store.ids(20)]),
        ("all ids, without the index", lambda: sum(1 for _ in shelf.store.ids())),
        ("the run that begins with 4 digits", lambda: [*shelf.store.ids(beginning="abcd")]),
        ("statistics of all", lambda: index.statistics(lambda ids: ())),
    ):
        print(f"  {what}: {timed(do).beside(loop)}")


def examples(shelf: Shelf) -> None:
    """What it takes to find examples."""
    index, times, found, began_cpu = TraceIndex(shelf.store), list[float](), 0, time.process_time()
    for _ in range(50):
        task = f"please {shelf.task()} and test it"
        began = time.perf_counter()
        found += len(index.exemplars(task, 3, kind="coding"))
        times.append(1000 * (time.perf_counter() - began))
    cpu = 1000 * (time.process_time() - began_cpu) / len(times)
    told = f"median {statistics.median(times):.1f} ms, slowest {max(times):.1f} ms, {cpu:.1f} ms of processor time"
    print(f"  three examples: {told}; {found} for 50")


def peak(shelf: Shelf, *command: str) -> str:
    """The time and the peak of memory (VmHWM) of a command in a process of its own."""
    environ = {**os.environ, "MICRO_AGENT_STATE_DIR": str(shelf.store.state_dir)}
    script = PEAK.format(root=str(Path(__file__).resolve().parents[1]), command=list(command))
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True)
    return f"{done.stdout.strip().splitlines()[-1]} MiB at most, {time.perf_counter() - began:.1f} s"


def commands(shelf: Shelf, *, score: bool) -> None:
    """The memory of the commands."""
    traces = str(shelf.store.directory)
    print(f"  traces stats: {peak(shelf, 'traces', 'stats', '--traces-dir', traces)}")
    print(f"  traces list: {peak(shelf, 'traces', 'list', '--traces-dir', traces)}")
    if score:
        tasks, out = shelf.store.state_dir / "tasks.jsonl", shelf.store.state_dir / "results.jsonl"
        question = next(filter(None, (run.question for run in map(shelf.store.load, shelf.store.ids(20)))))
        tasks.write_text(json.dumps({"question": question, "expect_contains": "Done"}) + "\n")
        out.unlink(missing_ok=True)
        told = peak(shelf, "eval", "score", f"{traces}/*.jsonl", "--tasks", str(tasks), "--out", str(out))
        print(f"  eval score: {told}")


def main() -> None:
    """Make the traces, then the index of them, and print what each took."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--traces", type=int, nargs="+", default=[10_000, 100_000])
    options.add_argument("--small", action="store_true", help="traces of less than one KB")
    options.add_argument("--score", action="store_true", help="score the runs too: minutes for each million")
    options.add_argument("--folder", type=Path, help="keep the traces there; what is there is used")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for count in given.traces:
            shelf = Shelf((given.folder or Path(temporary)) / str(count), small=given.small)
            size = shelf.make(max(0, count - len(os.listdir(shelf.store.directory))))
            print(f"{count} traces of {size / 1000:.1f} kB on average")
            index, sample = TraceIndex(shelf.store), min(count, SAMPLE)
            loop = timed(lambda: plain_read(shelf.store.directory, sample))  # noqa: B023
            made = timed(index.rebuild)
            print(
                f"  made: {count / made.wall:.0f} traces a second, {count / made.cpu:.0f} a second of the processor:",
                end=" ",
            )
            print(f"{made.cpu / count / (loop.cpu / sample):.1f} times a loop that reads the last lines as JSON")
            print(f"  the index: {index.path.stat().st_size / 2**20:.0f} MiB")
            looks(shelf, count)
            examples(shelf)
            commands(shelf, score=given.score)


if __name__ == "__main__":
    main()
