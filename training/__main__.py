"""``python -m training``: make the tiny model from scratch and put it into the package; prints how good it is.

The same seed gives the same conversations, and the same weights as far as JAX computes the same on this machine.
"""

import argparse
import sys
from importlib.metadata import version
from pathlib import Path

from micro_agent.models.tiny.generating import shipped
from micro_agent.models.tiny.network import Shape
from training import export
from training.fitting import fitted
from training.measure import Figures, measured
from training.pool import code_digest, loaded, saved, sheets, vocabulary


def main() -> None:
    """Vocabulary, conversations, training, export, figures."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--groups", type=int, default=5500, help="groups of about 11 conversations each")
    parser.add_argument("--pool", type=Path, default=Path("build/training/pool.npz"), help="where they are kept")
    asked = parser.parse_args()
    known = vocabulary(asked.seed)
    if not asked.pool.exists():
        asked.pool.parent.mkdir(parents=True, exist_ok=True)
        saved(asked.pool, sheets(known, asked.groups, asked.seed + 1))
    made = loaded(asked.pool)
    say(f"{len(known)} tokens in the vocabulary, {sum(len(sheet.branches) for sheet in made)} conversations")
    shape = Shape(vocabulary=len(known), width=128, inner=352, heads=4, layers=4, context=4096)
    weights = fitted(made, shape, seed=asked.seed)
    origin = {"seed": asked.seed, "groups": asked.groups, "data_code_sha256": code_digest(), "jax": version("jax")}
    export.shipped(weights, shape, known, **origin)
    figures = measured(shipped())
    export.shipped(weights, shape, known, **origin, held_out=figures)
    say(table(figures))


def table(figures: Figures) -> str:
    """The figures as lines of a table in Markdown."""
    lines = [
        "| kind | calls, native | answers | whole | calls, JSON | answers | whole |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in figures["native"]:
        cells = [figures[mode][kind][name] for mode in ("native", "json") for name in ("calls", "answers", "whole")]
        lines.append(f"| {kind} | " + " | ".join("" if cell is None else f"{cell:.0%}" for cell in cells) + " |")
    return "\n".join(lines)


def say(text: str) -> None:
    """Print a line now."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
