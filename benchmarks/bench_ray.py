"""Evals on a Ray cluster of two nodes on this machine: two workers beside one, and what the driver costs and holds.

The workers wait at a scripted server of 200 ms, four trials at once in each; two cores are enough for that. The
driver's cost is the CPU time of its process, with all threads of Ray in it, over trials that are answered at once. Its
memory is that of a process with made-up results, and without Ray. Needs Ray: run it with the Python of
`.venv-torture`, which `make torture` makes, and the packages of `.venv` on PYTHONPATH.
"""
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.loops import MODEL, TOOL
from benchmarks.scripted_server import ANSWER, QUESTION, serving
from micro_agent import Limits, MicroAgent, configure_lm
from micro_agent.cancel import Cancel
from micro_agent.evaluation.result import Header, Rubric
from micro_agent.evaluation.results import ResultFile
from micro_agent.evaluation.runner import agent_ask, run_with
from micro_agent.evaluation.task import Task
from micro_agent.evaluation.trials import Trial
from micro_agent.evaluation.workers.code import digests
from micro_agent.evaluation.workers.crew import CrewExecutor
from micro_agent.evaluation.workers.feed import Feed
from micro_agent.evaluation.workers.ray_crew import RayCrew
from micro_agent.evaluation.workers.tried import Ask, Tried, tried
from micro_agent.evaluation.workers.worker import Setup
from micro_agent.run import Run, Usage
from micro_agent.traces import TraceStore

LATENCY_S, PER_WORKER, WAITING, INSTANT = 0.2, 4, 120, 4_000
FEW, MANY = 10_000, 1_000_000


@dataclass(frozen=True)
class Asking:
    """Who asks in a worker."""

    ask: Ask
    damages_of: None = None

    def close(self) -> None:
        """Nothing was made."""


def make(url: str) -> Asking:
    """An agent that asks the server at ``url``; without one the answer is made up."""
    if not url:
        return Asking(made_up)
    agent = MicroAgent(
        [TOOL], configure_lm("openai", MODEL, url, fallback=False), limits=Limits(max_steps=5), demos=[],
        confirm="never",
    )  # fmt: skip
    return Asking(agent_ask(lambda seed: agent))


def made_up(trial: Trial, cancel: Cancel) -> Run:
    """The answer, at once."""
    usage = Usage(lm_calls=1, cost_usd=0.0)
    return Run(question=trial.task.question, answer=ANSWER, model_answer=ANSWER, status="completed", usage=usage)


def todo(count: int) -> Iterator[Trial]:
    """Trials, made when they are taken."""
    question = QUESTION.format(steps=1)
    return (Trial(Task(id=f"t{n}", question=question, expect_contains=[ANSWER])) for n in range(count))


def opened(folder: Path, count: int, *, ids: bool = True) -> ResultFile:
    """A new result file."""
    tasks = [f"t{n}" for n in range(count)] if ids else []
    return ResultFile.create(folder / f"{count}.jsonl", Header(dataset="tasks", dataset_sha256="0" * 64, tasks=tasks))


def on_ray(address: str, url: str, workers: int, count: int, folder: Path) -> tuple[float, float]:
    """Seconds a trial on the wall, from the first result on, and seconds of CPU of this process."""
    store = TraceStore(folder / "traces", state_dir=folder / "state")
    setup = Setup(make, url, Rubric(), digests(()), (), str(Path.cwd()), str(store.directory))
    crew = RayCrew(setup, address=address, workers=workers, per_worker=PER_WORKER if url else 64)
    came: list[tuple[float, float]] = []

    def on_tried(_: Tried) -> None:
        came.append((perf_counter(), process_time()))

    with opened(folder, count) as file:
        ending = run_with(CrewExecutor(crew), todo(count), file, store=store, on_tried=on_tried)
    assert (ending.reason, len(came)) == ("done", count)
    rest = came[count // 5 :]  # all workers are up by then
    wall, cpu = (last - first for first, last in zip(rest[0], rest[-1], strict=True))
    return wall / (len(rest) - 1), cpu / (len(rest) - 1)


class MadeUp:
    """An executor whose results come at once, as bytes."""

    def run(self, feed: Feed) -> bool:
        """Take them all."""
        first = tried(next(todo(1)), made_up, feed.cancel, rubric=Rubric(), store=None, damages_of=None)
        assert first is not None
        assert b'"t0"' in first.line
        while (trial := feed.next()) is not None:
            line = first.line.replace(b'"t0"', f'"{trial.task.id}"'.encode())
            feed.take(Tried(line, first.counted._replace(key=trial.key), "0" * 32))
        return True


def hold(count: int) -> None:
    """Print the peak of this process, in MB, after so many results."""
    with tempfile.TemporaryDirectory(prefix="micro-agent-bench-") as name, opened(Path(name), count, ids=False) as file:
        assert run_with(MadeUp(), todo(count), file).reason == "done"
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(int(peak.split()[1]) / 1024)


def memory() -> None:
    """Print what a driver holds."""
    held = [
        float(subprocess.run([sys.executable, "-m", "benchmarks.bench_ray", str(count)], stdout=subprocess.PIPE,
                             check=True).stdout)
        for count in (FEW, MANY)
    ]  # fmt: skip
    print(f"peak of a driver: {FEW} results {held[0]:.0f} MB, {MANY} {held[1]:.0f} MB, ratio {held[1] / held[0]:.2f}")


def on_cluster() -> None:
    """Print what two workers gain, and what they cost the driver."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    from ray.cluster_utils import Cluster

    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        cluster = Cluster(
            initialize_head=True, head_node_args={"temp_dir": name, "num_cpus": 1, "include_dashboard": False}
        )  # fmt: skip
        cluster.add_node(num_cpus=1)
        places = [folder / place for place in ("one", "two", "cpu")]
        with serving(LATENCY_S) as url:
            one, two = (on_ray(cluster.address, url, n, WAITING, places[n - 1])[0] for n in (1, 2))
        print(f"one worker {1 / one:.1f} trials/s, two workers {1 / two:.1f} trials/s, ratio {one / two:.2f}")
        cpu = on_ray(cluster.address, "", 2, INSTANT, places[2])[1]
        print(f"the driver's CPU: {cpu * 1000:.2f} ms a trial, traces and results written")
        cluster.shutdown()


def main() -> None:
    """Print all of it."""
    memory()
    if find_spec("ray") is None:
        print("Ray is not installed here: the rest is left out")
    else:
        on_cluster()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        hold(int(sys.argv[1]))
    else:
        main()
