"""CPU per step of this process, over a raw ``http.client`` loop, as ratios within one interleaved run."""

import argparse
from statistics import median
from time import process_time

from benchmarks import loops
from benchmarks.scripted_server import serving


def main() -> None:
    """Print the table; each figure is the median over the rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with serving() as url:
        contestants = {
            "raw": loops.raw_loop(url)[0],
            "lm": loops.lm_loop(loops.bare_lm(url)),
            "engine": loops.engine_loop(url),
            "engine in dspy.LM": loops.lm_loop(loops.engine_lm(url)),
            "micro-agent": loops.agent_loop(loops.agent(url)),
        }
        print(
            "steps  "
            + "".join(f"{name + ' ms':>22}" for name in contestants)
            + "   over dspy.LM  over engine  over engine in dspy.LM"
        )
        for steps in (5, 20, 50):
            spent = {name: list[float]() for name in contestants}
            for turn in range(rounds + 1):
                for name, loop in contestants.items():
                    begun = process_time()
                    loop(steps)
                    if turn:  # the first round warms up
                        spent[name].append((process_time() - begun) / (steps + 1) * 1000)
            cost = {name: min(times) for name, times in spent.items()}
            extra = {name: ms - cost["raw"] for name, ms in cost.items()}
            ours = extra["micro-agent"]
            print(
                f"{steps:5}  "
                + "".join(f"{ms:22.3f}" for ms in cost.values())
                + f"{ours / extra['lm']:15.2f}{ours / extra['engine']:13.2f}{ours / extra['engine in dspy.LM']:24.2f}"
            )


if __name__ == "__main__":
    main()
