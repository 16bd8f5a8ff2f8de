"""What an eval adds to its runs: throughput over bare asks, and memory as the number of tasks grows.

500 tasks of 3 steps, 64 at once, 50 ms latency, in interleaved rounds; then 500 and 5 000 tasks without latency, each
in a process of its own. Scoring, traces and the result file are on; bare asks write nothing.
"""

import io
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.loops import MODEL, TOOL
from benchmarks.scripted_server import ANSWER, QUESTION, serving
from micro_agent import Limits, MicroAgent, configure_lm
from micro_agent.evaluation.datasets import load_tasks
from micro_agent.evaluation.progress import Progress, shown
from micro_agent.evaluation.result import Header, Rubric
from micro_agent.evaluation.results import ResultFile, read_results
from micro_agent.evaluation.runner import agent_ask, remaining, run_trials, trials
from micro_agent.evaluation.summary import summarize
from micro_agent.traces import TraceStore

TASKS, MANY, STEPS, AT_ONCE, LATENCY_S, ROUNDS = 500, 5_000, 3, 64, 0.05, 5


def agent(url: str) -> MicroAgent:
    """An agent as an eval makes it: no journal."""
    lm = configure_lm("openai", MODEL, url, fallback=False)
    return MicroAgent([TOOL], lm, limits=Limits(max_steps=10), demos=[], confirm="never")


def bare(url: str, count: int) -> float:
    """Asks a second from a pool of threads."""
    asked = agent(url)
    begun = perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = list(pool.map(asked.ask, [QUESTION.format(steps=STEPS)] * count))
    took = perf_counter() - begun
    assert all(run.answer == ANSWER for run in runs)
    return count / took


def evaluation(url: str, count: int) -> float:
    """Tasks a second of an eval, from reading the dataset to its figures."""
    asked = agent(url)
    with tempfile.TemporaryDirectory(prefix="micro-agent-bench-") as name:
        folder = Path(name)
        task = {"question": QUESTION.format(steps=STEPS), "expect_contains": ANSWER, "expect_tools": "add"}
        lines = (json.dumps({"id": f"t{number}", **task}) + "\n" for number in range(count))
        (folder / "tasks.jsonl").write_text("".join(lines))
        begun = perf_counter()
        dataset = load_tasks(folder / "tasks.jsonl")
        header = Header(dataset="tasks", dataset_sha256=dataset.sha256, tasks=[task.id for task in dataset.tasks])
        store = TraceStore(folder / "traces", state_dir=folder / "state")
        with ResultFile.create(folder / "results.jsonl", header) as file:
            todo = remaining(trials(dataset.tasks, 1, 0, seeded=False), file)
            with shown(Progress(file, count), io.StringIO()) as on_result:
                run_trials(
                    todo, agent_ask(lambda seed: asked), file, Rubric(), store=store, concurrency=AT_ONCE,
                    on_result=on_result,
                )  # fmt: skip
        summary = summarize(*read_results(folder / "results.jsonl"))
        took = perf_counter() - begun
        assert summary.success_rate.hits == count
    return count / took


def peak(count: int) -> float:
    """Peak resident memory, in MB, of a process that runs an eval."""
    command = [sys.executable, "-m", "benchmarks.bench_eval", str(count)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> None:
    """Print both, medians over the rounds."""
    with serving(LATENCY_S) as url:
        ways: tuple[Callable[[str, int], float], ...] = (bare, evaluation)
        for way in ways:
            way(url, AT_ONCE)  # the first use of everything
        measured = [(bare(url, TASKS), evaluation(url, TASKS)) for _ in range(ROUNDS)]
    asks, tasks = median(a for a, _ in measured), median(b for _, b in measured)
    print(f"bare asks {asks:.1f}/s, eval {tasks:.1f} tasks/s, ratio {median(b / a for a, b in measured):.2f}")
    few, many = peak(TASKS), peak(MANY)
    print(f"peak memory: {TASKS} tasks {few:.0f} MB, {MANY} tasks {many:.0f} MB, ratio {many / few:.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with serving() as address:
            evaluation(address, int(sys.argv[1]))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    else:
        main()
