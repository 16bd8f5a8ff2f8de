"""Runs a second over those of a bare ``dspy.LM`` loop: 200 of 5 steps, 64 in flight, 50 ms latency, one process."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from time import perf_counter

from benchmarks import loops
from benchmarks.scripted_server import serving

RUNS, STEPS, IN_FLIGHT, LATENCY_S, ROUNDS = 200, 5, 64, 0.05, 3


def threads(loop: loops.Loop) -> float:
    """Runs a second from a pool of threads."""
    begun = perf_counter()
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        list(pool.map(loop, [STEPS] * RUNS))
    return RUNS / (perf_counter() - begun)


def tasks(loop: loops.AsyncLoop) -> float:
    """Runs a second on one event loop."""

    async def work() -> None:
        free = asyncio.Semaphore(IN_FLIGHT)

        async def one() -> None:
            async with free:
                await loop(STEPS)

        await asyncio.gather(*(one() for _ in range(RUNS)))

    begun = perf_counter()
    asyncio.run(work())
    return RUNS / (perf_counter() - begun)


def main() -> None:
    """Print both ways, medians over interleaved rounds."""
    with serving(LATENCY_S) as url:
        lm, made = loops.bare_lm(url), loops.agent(url)
        ways: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {
            "threads": (lambda: threads(loops.lm_loop(lm)), lambda: threads(loops.agent_loop(made))),
            "asyncio": (lambda: tasks(loops.lm_async_loop(lm)), lambda: tasks(loops.agent_async_loop(made))),
        }
        for name, (bare, ours) in ways.items():
            measured = [(bare(), ours()) for _ in range(ROUNDS)]
            rate_bare, rate_ours = median(b for b, _ in measured), median(o for _, o in measured)
            rates = f"dspy.LM {rate_bare:.1f} runs/s, micro-agent {rate_ours:.1f} runs/s"
            print(f"{name}: {rates}, ratio {rate_ours / rate_bare:.2f}")


if __name__ == "__main__":
    main()
