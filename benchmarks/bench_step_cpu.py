"""CPU per step of this process, as ratios within one interleaved run.

Contestants do the same steps on the same wire: ``raw`` is ``http.client`` and ``json``; ``dspy.LM`` a hand-written loop
over it as its documentation makes it; ``engine`` the same loop over our engine object alone; ``engine in LM`` over
`dspy.LM` around that object. Each figure is the least of the rounds, which is what noise from other processes leaves
alone. ``over X`` is what micro-agent costs over raw, divided by what X costs over raw; ``whole/X`` divides all of it.
``effects`` is micro-agent with a tool that is not read-only: each call of it waits for the disk first.
"""

import argparse
from time import process_time

from benchmarks import loops
from benchmarks.scripted_server import serving

LENGTHS = (5, 20, 50)


Table = dict[int, dict[str, float]]


def measured(url: str, rounds: int) -> Table:
    """Milliseconds a step, by the number of steps and by contestant."""
    contestants = {
        "raw": loops.raw_loop(url)[0],
        "dspy.LM": loops.lm_loop(loops.bare_lm(url)),
        "engine": loops.engine_loop(url),
        "engine in LM": loops.lm_loop(loops.engine_lm(url)),
        "micro-agent": loops.agent_loop(loops.agent(url)),
        "effects": loops.agent_loop(loops.agent(url, tool=loops.EFFECTS)),
    }
    table: Table = {steps: dict.fromkeys(contestants, float("inf")) for steps in LENGTHS}
    for steps, least in table.items():
        runs = LENGTHS[-1] // steps  # as many steps a turn at every length
        for turn in range(rounds + 1):
            for name, loop in contestants.items():
                begun = process_time()
                for _ in range(runs):
                    loop(steps)
                spent = (process_time() - begun) / (runs * (steps + 1)) * 1000
                if turn:  # the first round warms up
                    least[name] = min(least[name], spent)
    return table


def main() -> None:
    """Print the table, one contestant a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    with serving() as url:
        table = measured(url, parser.parse_args().rounds)
    rows: dict[str, list[float]] = {f"{name}, ms": [table[n][name] for n in LENGTHS] for name in table[LENGTHS[0]]}
    rows["effects over dspy.LM"] = [
        (least["effects"] - least["raw"]) / (least["dspy.LM"] - least["raw"]) for least in table.values()
    ]
    for rival in ("dspy.LM", "engine in LM", "engine"):
        ours = [(least["micro-agent"], least[rival], least["raw"]) for least in table.values()]
        rows[f"over {rival}"] = [(mine - raw) / (theirs - raw) for mine, theirs, raw in ours]
        rows[f"whole/{rival}"] = [mine / theirs for mine, theirs, _ in ours]
    print(f"{'steps':20}" + "".join(f"{steps:>9}" for steps in LENGTHS))
    for name, values in rows.items():
        print(f"{name:20}" + "".join(f"{value:9.3f}" if "ms" in name else f"{value:9.2f}" for value in values))


if __name__ == "__main__":
    main()
