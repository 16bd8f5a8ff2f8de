"""Evals on a real Ray cluster of two nodes: what is killed at random is asked again, and no secret gets into Ray.

``TORTURE_RAY_KILLS`` says how many kills there are, ``TORTURE_SEED`` repeats their order.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from random import Random, SystemRandom
from time import monotonic, sleep
from typing import Any

import pytest

from micro_agent.evaluation.compare import compare
from micro_agent.evaluation.result import Result
from micro_agent.evaluation.results import read_results
from micro_agent.testing import ModelServer, Received, Reply, call, text
from tests.torture.programs import ROOT, program
from tests.torture.tally import Tally

pytestmark = pytest.mark.torture

KEY = "sk-planted-5f2c9a7e41d8"
KILLS = int(os.environ.get("TORTURE_RAY_KILLS") or 5)
EPOCHS = 2
PATIENCE_S = 240.0
LATENCY_S = 0.2


def model(request: Received) -> Reply:
    """Calculates and answers; wrong for every fourth task."""
    number = number_of(request)
    if request.messages[-1]["role"] != "tool":
        return call("calculator", {"expression": f"{number}+100"})
    return text("It is 0." if number % 4 == 0 else f"It is {number + 100}.")


def number_of(request: Received) -> int:
    question = next(message["content"] for message in request.messages if message["role"] == "user")
    return int(re.findall(r"\d+", question)[0])


class Command(subprocess.Popen[bytes]):
    """A process that says what it says into a file: it would wait for ever on a pipe that is full."""

    def __init__(self, command: list[str], folder: Path) -> None:
        descriptor, self.said = tempfile.mkstemp(prefix="said-", dir=folder)
        with open(descriptor, "wb") as log:
            super().__init__(command, cwd=folder, env=environment(folder), stdout=log, stderr=subprocess.STDOUT)


class Grid:
    """The cluster, and evals on it in a folder."""

    def __init__(self, python: Path, process: "subprocess.Popen[str]", temporary: Path, folder: Path) -> None:
        self.python, self.process, self.temporary, self.folder = python, process, temporary, folder
        self.address: str = self.answer()

    def answer(self) -> Any:
        """The next line that the cluster says."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the cluster has ended"
        return json.loads(line)

    def order(self, command: str) -> Any:
        """Have the cluster do something."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return self.answer()

    def start(self, *command: str) -> "Command":
        """Start `micro-agent` with Ray at hand."""
        return Command([str(self.python), "-m", "micro_agent", *command], self.folder)

    def eval(self, *options: str) -> "Command":
        """Start `micro-agent eval run`."""
        return self.start("eval", "run", *options)

    def on_ray(self, *options: str) -> "Command":
        """The same, asked by workers of the cluster."""
        return self.eval(*options, *self.spread)

    @property
    def spread(self) -> list[str]:
        """The options for two workers of the cluster, each with four trials at once."""
        return ["--executor", "ray", "--ray-address", self.address, "--workers", "2", "--per-worker", "4"]

    def tasks(self, count: int) -> None:
        """Write so many tasks."""
        lines = [{"id": f"t{n}", "question": f"What is {n} + 100?", "expect_number": n + 100} for n in range(count)]
        (self.folder / "tasks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def environment(home: Path) -> dict[str, str]:
    """Nothing of whoever runs the tests, and a key. What the environment with Ray lacks comes from this one."""
    path = os.pathsep.join([str(ROOT), sysconfig.get_path("purelib")])
    return {
        "PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": path, "OPENAI_API_KEY": KEY,
        "MICRO_AGENT_FINISH": "text", "RESAMPLES": "0", "RAY_USAGE_STATS_ENABLED": "0",
    }  # fmt: skip


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Generator[Grid]:
    """Its sockets need a short path, so its folder is not pytest's."""
    python, folder, temporary = program("python"), tmp_path_factory.mktemp("ray"), Path(tempfile.mkdtemp(prefix="ray-"))
    with (folder / "cluster.log").open("wb") as log, subprocess.Popen(
        [python, Path(__file__).with_name("ray_cluster.py"), temporary], cwd=folder,
        env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
    ) as process:  # fmt: skip
        try:
            yield Grid(python, process, temporary, folder)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)
            shutil.rmtree(temporary, ignore_errors=True)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(model, latency_s=LATENCY_S, models=["m"]) as server:
        yield server


def named(server: ModelServer, out: str) -> list[str]:
    return [
        "--tasks", "tasks.jsonl", "--base-url", server.openai_url, "--model", "m", "--epochs", str(EPOCHS),
        "--out", out,
    ]  # fmt: skip


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def ended(process: "Command") -> tuple[int, str]:
    process.wait(PATIENCE_S)
    return process.returncode, Path(process.said).read_text()


def judged(result: Result) -> tuple[Any, ...]:
    return result.success, result.score, result.seed, result.run.answer, len(result.run.steps)


def kill(grid: Grid, what: str, driver: "Command") -> None:
    if what == "driver":
        driver.kill()
        driver.wait()
    elif what == "worker":
        end = monotonic() + PATIENCE_S
        while driver.poll() is None and not grid.order("kill worker") and monotonic() < end:
            sleep(0.2)
    else:
        grid.order("kill node")


def test_what_is_killed_at_random_is_asked_again_and_everything_is_recorded_once(
    grid: Grid, server: ModelServer, tally: Tally
) -> None:
    seed = int(os.environ.get("TORTURE_SEED") or SystemRandom().randrange(10**9))
    random, out = Random(seed), grid.folder / "killed.jsonl"
    kinds = ["worker", "worker", "node", "driver"] if KILLS > 5 else ["worker", "node", "worker"]
    kills = [random.choice(kinds) for _ in range(KILLS)] if KILLS > 5 else [*kinds, "driver", "worker"]
    count = 10 + KILLS * 5
    grid.tasks(count)
    driver = grid.on_ray(*named(server, out.name))
    for what in kills:
        wanted = min(lines_in(out) + random.randint(1, 5), count * EPOCHS - 4)
        end = monotonic() + PATIENCE_S
        while lines_in(out) < wanted:
            if driver.poll() is not None or monotonic() > end:
                driver.kill()
                pytest.fail(f"{lines_in(out)} of {wanted} results, {kills} {seed}: {ended(driver)[1]}")
            sleep(0.02)
        kill(grid, what, driver)
        tally.count(f"ray: {what}", resumed=1)
        with (grid.folder / "kills").open("a") as kept:
            kept.write(f"{what} at {lines_in(out)}\n")
        if what == "driver":
            driver = grid.on_ray("--resume", out.name)
    code, said = ended(driver)
    assert code == 0, said
    keys = [(line["task"]["id"], line["epoch"]) for line in map(json.loads, out.read_text().splitlines()[1:])]
    assert len(keys) == len(set(keys)) == count * EPOCHS, seed
    traces = {path.stem for path in (grid.folder / "killed.traces").glob("*.jsonl")}
    results = list(read_results(out)[1])
    assert {result.run.id for result in results} <= traces
    code, said = ended(grid.eval(*named(server, "single.jsonl"), "--concurrency", "8"))
    assert code == 0, said
    alone = {result.key: judged(result) for result in read_results(grid.folder / "single.jsonl")[1]}
    assert {result.key: judged(result) for result in results} == alone
    compared = compare(read_results(grid.folder / "single.jsonl"), read_results(out))
    assert (compared.difference, compared.gained, compared.lost, compared.settings) == (0, [], [], {})


def test_no_key_stands_in_what_ray_writes_and_the_server_got_it(grid: Grid, server: ModelServer) -> None:
    grid.tasks(6)
    asked = len(server.chats)
    code, said = ended(grid.on_ray(*named(server, "keys.jsonl")))
    assert code == 0, said
    assert {chat.headers.get("authorization") for chat in server.chats[asked:]} == {f"Bearer {KEY}"}
    read = [path for path in grid.temporary.rglob("*") if path.is_file() and not path.is_symlink()]
    assert any("worker" in path.name for path in read)
    assert [path for path in read if KEY.encode() in path.read_bytes()] == []
    assert KEY not in said


def test_ctrl_c_ends_the_eval_and_what_is_left_is_resumed(grid: Grid, server: ModelServer) -> None:
    grid.tasks(40)
    out = grid.folder / "broken.jsonl"
    driver = grid.on_ray(*named(server, out.name))
    while lines_in(out) < 6 and driver.poll() is None:
        sleep(0.02)
    driver.send_signal(signal.SIGINT)
    code, said = ended(driver)
    assert code == 130, said
    assert "Go on with: micro-agent eval run --resume broken.jsonl" in said
    assert 6 <= lines_in(out) <= 40 * EPOCHS
    code, said = ended(grid.on_ray("--resume", out.name))
    assert code == 0, said
    assert lines_in(out) == 1 + 40 * EPOCHS


def test_optimize_learns_and_judges_on_it_as_on_threads(grid: Grid, server: ModelServer) -> None:
    """Which step of a run becomes its demo hangs on the ids of its calls."""
    grid.tasks(12)
    wanted = ["--tasks", "tasks.jsonl", "--base-url", server.openai_url, "--model", "m", "--max-demos", "2", "--force"]
    found: list[Any] = []
    for name, spread in (("threads.json", []), ("ray.json", grid.spread)):
        code, said = ended(grid.start("optimize", *wanted, "--save", name, *spread))
        assert code == 0, said
        saved = json.loads((grid.folder / name).read_text())
        today = read_results(grid.folder / saved["evidence"]["results"]["today"])[1]
        questions = [demo["question"] for demo in saved["demos"]]
        found.append((questions, {result.key: judged(result) for result in today}))
    assert found[0] == found[1]
    assert len(found[0][0]) == 2


OWN = """
from micro_agent import tool

@tool
def double(x: int) -> int:
    "Double it."
    return x * {factor}
"""


def test_workers_with_other_tools_are_refused(grid: Grid, server: ModelServer) -> None:
    """The file changes after the driver has read it: on another machine it is another from the start."""
    grid.tasks(2)
    tools, out = grid.folder / "own.py", grid.folder / "tools.jsonl"
    tools.write_text(OWN.format(factor=2))
    driver = grid.on_ray(*named(server, out.name), "--tools", "own.py")
    while not lines_in(out) and driver.poll() is None:
        sleep(0.01)
    sleep(0.5)
    tools.write_text(OWN.format(factor=3))
    code, said = ended(driver)
    assert code == 2, said
    assert "it is not set up as the driver is: the tools own.py is" in said
    assert lines_in(out) == 1
