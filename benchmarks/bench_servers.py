"""What several servers give, and what a call costs more: throughput of two over one, processor time of a call.

Servers in processes of their own wait 200 ms a reply and compute next to nothing; 4 runs of 3 steps at once a server,
in interleaved rounds. The cost of a call is that of bare requests, one after another, to a server without latency: on
an engine of one server, and on one that stands for two.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from statistics import median
from time import perf_counter, thread_time
from typing import Any

from dspy import lm15

from benchmarks.loops import MODEL, TOOL
from benchmarks.scripted_server import ANSWER, QUESTION, serving
from micro_agent import Limits, MicroAgent, configure_lm
from micro_agent.models.servers import at_once

LATENCY_S, EACH, STEPS, RUNS, ROUNDS = 0.2, 4, 3, 24, 5
CALLS = 300
REQUEST = lm15.Request(
    model=f"openai/{MODEL}", messages=(lm15.Message.user(QUESTION.format(steps=0)),), config=lm15.Config(max_tokens=8)
)


def throughput(urls: list[str]) -> float:
    """Runs a second."""
    lm = configure_lm("openai", MODEL, urls, fallback=False)
    threads, count = at_once(lm, EACH), RUNS * len(urls)
    agent = MicroAgent([TOOL], lm, limits=Limits(max_steps=10), demos=[], confirm="never")
    with ThreadPoolExecutor(threads) as pool:
        begun = perf_counter()
        runs = list(pool.map(agent.ask, [QUESTION.format(steps=STEPS)] * count))
        took = perf_counter() - begun
    assert all(run.answer == ANSWER for run in runs)
    return count / took


def cpu_s(engines: list[Any]) -> list[float]:
    """Seconds of processor time of a bare call on each engine, the median of many, one engine after the other."""
    took: list[list[float]] = [[] for _ in engines]
    for _ in range(CALLS):
        for engine, times in zip(engines, took, strict=True):
            begun = thread_time()
            engine.complete(REQUEST)
            times.append(thread_time() - begun)
    return [median(times) for times in took]


def main() -> None:
    """Print both ratios."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with ExitStack() as open_:
        slow = [open_.enter_context(serving(LATENCY_S)) for _ in range(2)]
        quick = [open_.enter_context(serving()) for _ in range(2)]
        ones, twos = zip(*((throughput(slow[:1]), throughput(slow)) for _ in range(rounds)), strict=True)
        engines = [configure_lm("openai", MODEL, urls, fallback=False).engine for urls in (quick[:1], quick)]
        cpu_s(engines)
        alone, pooled = zip(*(cpu_s(engines) for _ in range(rounds)), strict=True)
    print(f"runs of {STEPS} steps, {LATENCY_S:g} s a reply, {EACH} at once a server, median of {rounds} rounds")
    print(f"  one server   {median(ones):7.2f} runs/s")
    ratio = median(two / one for one, two in zip(ones, twos, strict=True))
    print(f"  two servers  {median(twos):7.2f} runs/s   {ratio:.2f} times one")
    print(f"processor time of a call, median of {CALLS} in each of {rounds} rounds")
    print(f"  one server   {median(alone) * 1e6:7.0f} us")
    ratio = median(two / one for one, two in zip(alone, pooled, strict=True))
    print(f"  two servers  {median(pooled) * 1e6:7.0f} us   {ratio:.3f} times one")


if __name__ == "__main__":
    main()
