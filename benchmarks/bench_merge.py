"""What it costs to merge the result files of shards: processor time over a plain loop, and memory as results grow.

100,000 made-up results of 8 shards, merged, beside a loop that reads and writes the same bytes line by line; then the
peak memory of merging, reading, summarizing, going on with and running 10,000 and 1,000,000, each in a process of its own. It needs
5 GB of disk; `python -m benchmarks.bench_merge 100000` takes so many instead of 1,000,000.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from time import process_time
from typing import IO

from micro_agent.evaluation.datasets import open_tasks
from micro_agent.evaluation.merging import merge
from micro_agent.evaluation.result import Check, Header, Result, Rubric
from micro_agent.evaluation.results import ResultFile, read_results
from micro_agent.evaluation.runner import run_trials
from micro_agent.evaluation.shards import shard_of
from micro_agent.evaluation.summary import summarize
from micro_agent.evaluation.task import ExpectedNumber, Task
from micro_agent.evaluation.trials import remaining, trials
from micro_agent.files.jsonl import encode
from micro_agent.run import Run, Step, Usage

OF, FEW, SOME, MANY = 8, 10_000, 100_000, 1_000_000
_ID, _TASK, _COST = "0" * 32, "t0000000", 0.123456


def made_up(folder: Path, count: int) -> list[Path]:
    """The files of all shards of an eval of ``count`` tasks, 1.6 KB a result."""
    usage = Usage(input_tokens=812, output_tokens=57, cost_usd=_COST)
    steps = [Step(tool="calculator", args={"expression": "2*(3+5)"}, observation={"value": 16})]
    run = Run(id=_ID, question="What is 2*(3+5)?", answer="16", status="completed", steps=steps, usage=usage)
    task = Task(id=_TASK, question="What is 2*(3+5)?", expect_number=ExpectedNumber(value=16), tags=["arithmetic"])
    checks = [Check(name="number", passed=True)]
    line = encode(
        Result(task=task, run=run, models=["m"], trace=f"1.traces/{_ID}.jsonl", checks=checks, score=1, success=True)
    )
    digits = len(str(count))
    names = [f"t{number:0{digits}}" for number in range(count)] if count <= FEW else []
    planned = [0] * OF
    for number in range(count):
        planned[shard_of((f"t{number:0{digits}}", 0), OF) - 1] += 1
    paths = [folder / f"{number}.jsonl" for number in range(1, OF + 1)]
    with ExitStack() as held:
        files = list[IO[bytes]]()
        for number, path in enumerate(paths):
            head = Header(
                dataset="t", dataset_sha256="0", tasks=names, drawn=None if names else count,
                shard=f"{number + 1}/{OF}", trials=planned[number],
            )  # fmt: skip
            ResultFile.create(path, head).close()
            files.append(held.enter_context(open(path, "ab")))
        for number in range(count):
            name = f"t{number:0{digits}}"
            mine = line.replace(_TASK.encode(), name.encode()).replace(_ID.encode(), b"%032x" % number)
            files[shard_of((name, 0), OF) - 1].write(mine.replace(str(_COST).encode(), b"%f" % (number / count)))
    return paths


def merging(folder: Path) -> None:
    """Merge what lies in a folder."""
    merge(folder / "all" / "all.jsonl", sorted(folder.glob("*.jsonl")))


def copying(folder: Path) -> None:
    """Read and write the same lines, and nothing else."""
    with open(folder / "copy", "wb") as target:
        for path in sorted(folder.glob("*.jsonl")):
            with open(path, "rb") as source:
                for line in source:
                    target.write(line)


def running(folder: Path) -> None:
    """Run an eval of as many tasks, read from a file, with threads and who answers at once."""
    with ResultFile.resume(folder / "1.jsonl") as one:
        count = one.header.size
    path, digits = folder / "tasks.jsonl", len(str(count))
    with open(path, "w") as file:
        for number in range(count):
            file.write(f'{{"id":"t{number:0{digits}}","question":"Why?","expect_contains":"x"}}\n')
    dataset = open_tasks(path, in_memory=0)
    header = Header(dataset="t", dataset_sha256=dataset.sha256, tasks=[], drawn=count)
    run = Run(question="Why?", answer="x", status="completed", usage=Usage(cost_usd=0.5))
    with ResultFile.create(folder / "own" / "own.jsonl", header) as file:
        todo = remaining(trials(dataset.tasks, 1, 0, seeded=False), file)
        ending = run_trials(todo, lambda trial, cancel: run, file, Rubric(), concurrency=4)
        assert (ending.reason, len(file.done)) == ("done", count)
    path.unlink()


def summarizing(folder: Path) -> None:
    """The figures of the merged file."""
    summarize(*read_results(folder / "all" / "all.jsonl"))


def reading(folder: Path) -> None:
    """Every result of the merged file, once."""
    for _ in read_results(folder / "all" / "all.jsonl")[1]:
        pass


def resuming(folder: Path) -> None:
    """Go on with the merged file, and find every trial in it."""
    with ResultFile.resume(folder / "all" / "all.jsonl") as file:
        assert len(file.done) == file.header.planned


WAYS: dict[str, Callable[[Path], None]] = {
    one.__name__: one for one in (copying, merging, reading, summarizing, resuming, running)
}


def measured(way: Callable[[Path], None], folder: Path) -> tuple[float, float]:
    """Processor seconds and peak resident memory in MB of a process that does it."""
    command = [sys.executable, "-m", "benchmarks.bench_merge", way.__name__, str(folder)]
    seconds, peak = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return float(seconds), float(peak)


def at(count: int) -> dict[str, tuple[float, float]]:
    """What each way takes with so many results."""
    with tempfile.TemporaryDirectory(prefix="micro-agent-bench-") as name:
        made_up(Path(name), count)
        return {label: measured(way, Path(name)) for label, way in WAYS.items()}


def main(many: int = MANY) -> None:
    """Print both."""
    some = at(SOME)
    (merged, _), (copied, _) = some["merging"], some["copying"]
    print(f"{SOME:,} results: merged in {merged:.1f} s of processor time, {merged / copied:.0f} times a plain loop")
    few, large = at(FEW), at(many)
    for name in WAYS:
        a, b = few[name][1], large[name][1]
        print(f"peak memory, {name}: {FEW:,} results {a:.0f} MB, {many:,} results {b:.0f} MB, ratio {b / a:.2f}")
        print(f"  {large[name][0] / many * 1e6:.0f} µs of processor time a result")


def one(name: str, folder: Path) -> None:
    """Do one thing, and print what it took. VmHWM, as what a parent had counts in what `getrusage` says."""
    begun = process_time()
    WAYS[name](folder)
    took = process_time() - begun
    status = Path("/proc/self/status").read_text()
    print(took, int(status.split("VmHWM:")[1].split()[0]) / 1024)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        one(sys.argv[1], Path(sys.argv[2]))
    else:
        main(*map(int, sys.argv[1:]))
