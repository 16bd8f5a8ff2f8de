"""``python -m training``: make the tiny model from scratch and put it into the package; prints how good it is.

The same seed gives the same conversations, and the same weights as far as JAX computes the same on this machine.
"""

import argparse
import sys
from importlib.metadata import version

from micro_agent.models.tiny.network import Shape
from training import export
from training.fitting import fitted
from training.measure import table
from training.pool import digest, sheets, vocabulary


def main() -> None:
    """Vocabulary, conversations, training, export, figures."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--groups", type=int, default=5500, help="groups of about 12 conversations each")
    asked = parser.parse_args()
    known = vocabulary(asked.seed)
    made = sheets(known, asked.groups, asked.seed + 1)
    origin = {"seed": asked.seed, "conversations": sum(len(one.branches) for one in made), "data_sha256": digest(made)}
    sys.stderr.write(f"{len(known)} tokens in the vocabulary, {origin['conversations']} conversations\n")
    shape = Shape(vocabulary=len(known), width=128, inner=352, heads=4, layers=4, context=4096)
    export.shipped(fitted(made, shape, seed=asked.seed), shape, known, **origin, jax=version("jax"))
    sys.stdout.write(table(20))


if __name__ == "__main__":
    main()
