"""Time of scoring 10 000 results again, in a process of its own, over that of reading the same file as JSON.

The results are those of three steps each, with a question, observations and an answer as long as weak models give them;
two in five expect a number, one each a text, a regular expression and the value of a tool.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import perf_counter
from typing import Any

from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.results import ResultFile
from micro_agent.evaluation.task import Task
from micro_agent.run import WARNING, Run, Step, Usage

RESULTS = 10_000
ROUNDS = 5
EXPECTED: list[dict[str, Any]] = [
    {"expect_number": 1234.5, "expect_tools": ["calculator"]},
    {"expect_number": {"value": 1234, "tolerance": 1}, "expect_key": "result"},
    {"expect_contains": ["1,234.5", "in total"], "expect_tools": ["calculator"]},
    {"expect_regex": r"(?i)\btotal\b.*\d[\d,.]*", "expect_key": ["expression"]},
    {"expect_observed": ["calculator"], "expect_tools": ["calculator"]},
]
RESCORE = """
import sys
from pathlib import Path
from micro_agent.evaluation.rescore import rescore
print(rescore(Path(sys.argv[1]), Path(sys.argv[2])).trials)
"""
READ = """
import json, sys
print(sum(1 for line in open(sys.argv[1], "rb") if json.loads(line)) - 1)
"""


def result(number: int) -> Result:
    """One result; nothing in it has been scored."""
    question = (
        f"A shop sells {number} boxes at 12.5 each and gives 3 % back on {number % 7} of them. What is the total?"
    )
    task = Task(id=f"task-{number}", question=question, tags=["bench", "three-step"], **EXPECTED[number % 5])
    steps = [
        calculation(f"{number} * 12.5", number * 12.5, call=0),
        Step(
            tool=WARNING, observation="You asked for the same before. Use what you have seen, or ask for more.", call=1
        ),
        calculation("1200 + 34.5", 1234.5, call=2),
    ]
    answer = (
        "I computed the price of all boxes first and took off what is given back. In total that is **1,234.5**. " * 2
    )
    run = Run(
        question=question, steps=steps, answer=answer, model_answer=answer, status="completed",
        termination_reason="final", provider="openai", model="a-local-model", mode="native",
        base_url="http://127.0.0.1:8080/v1",
        usage=Usage(lm_calls=4, tool_calls=2, input_tokens=2210, output_tokens=164, latency_s=3.2),
        digests=dict.fromkeys(("tools", "rules", "demos"), "0" * 64), limits={"max_steps": 6, "max_time_s": None},
    )  # fmt: skip
    return Result(task=task, run=run, models=["a-local-model"], wall_s=3.3, checks=[], score=0.0, success=False)


def calculation(expression: str, value: float, *, call: int) -> Step:
    """A step of the calculator."""
    observation = {"result": value, "expression": expression}
    return Step(
        tool="calculator", args={"expression": expression}, observation=observation, call=call, call_id=f"call_{call}"
    )


def seconds(program: str, *arguments: str) -> tuple[float, float]:
    """Wall time and processor time of a fresh interpreter that runs a program, with what it starts."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.getcwd()}
    begun, used = perf_counter(), processor_seconds()
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, check=True, capture_output=True, text=True
    )
    taken = perf_counter() - begun, processor_seconds() - used
    assert int(done.stdout) == RESULTS
    return taken


def processor_seconds() -> float:
    """What the processes that have ended used, in user and system mode."""
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print medians over interleaved rounds; on a busy machine only the processor time says something."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "results.jsonl"), Path(folder, "rescored.jsonl")
        header = Header(dataset="bench", dataset_sha256="", tasks=[])
        with ResultFile.create(source, header) as file:
            for number in range(RESULTS):
                file.append(result(number))
        rescored, read = list[tuple[float, float]](), list[tuple[float, float]]()
        for _ in range(ROUNDS):
            rescored.append(seconds(RESCORE, str(source), str(target)))
            target.unlink()
            read.append(seconds(READ, str(source)))
        size = source.stat().st_size
    print(f"{RESULTS} results of 3 steps, {size / 1e6:.1f} MB")
    for index, name in enumerate(("wall", "processor")):
        ours, theirs = (median(one[index] for one in taken) for taken in (rescored, read))
        print(f"{name} time: scored again {ours:.2f} s, read with json.loads {theirs:.2f} s, ratio {ours / theirs:.1f}")


if __name__ == "__main__":
    main()
