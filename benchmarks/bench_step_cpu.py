"""CPU per step of this process, as ratios within one interleaved run.

Contestants do the same steps on the same wire: ``raw`` is ``http.client`` and ``json``; ``dspy.LM`` a hand-written loop
over it as its documentation makes it; ``engine`` the same loop over our engine object alone; ``engine in LM`` over
`dspy.LM` around that object. Each figure is the least of the rounds, which is what noise from other processes leaves
alone. ``over X`` is what micro-agent costs over raw, divided by what X costs over raw.
"""

import argparse
from time import process_time

from benchmarks import loops
from benchmarks.scripted_server import serving

LENGTHS = (5, 20, 50)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    with serving() as url:
        contestants = {
            "raw": loops.raw_loop(url)[0],
            "dspy.LM": loops.lm_loop(loops.bare_lm(url)),
            "engine": loops.engine_loop(url),
            "engine in LM": loops.lm_loop(loops.engine_lm(url)),
            "micro-agent": loops.agent_loop(loops.agent(url)),
        }
        rivals = ("dspy.LM", "engine", "engine in LM")
        print(
            "steps"
            + "".join(f"{name + ' ms':>16}" for name in contestants)
            + "".join(f"{'over ' + r:>18}" for r in rivals)
        )
        for steps in LENGTHS:
            least = dict.fromkeys(contestants, float("inf"))
            for turn in range(rounds + 1):
                for name, loop in contestants.items():
                    runs = LENGTHS[-1] // steps  # as many steps a turn at every length
                    begun = process_time()
                    for _ in range(runs):
                        loop(steps)
                    spent = (process_time() - begun) / (runs * (steps + 1)) * 1000
                    if turn:  # the first round warms up
                        least[name] = min(least[name], spent)
            extra = {name: ms - least["raw"] for name, ms in least.items()}
            ratios = (extra["micro-agent"] / extra[rival] for rival in rivals)
            print(
                f"{steps:5}" + "".join(f"{ms:16.3f}" for ms in least.values()) + "".join(f"{r:18.2f}" for r in ratios)
            )


if __name__ == "__main__":
    main()
