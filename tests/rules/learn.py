"""Learns the weights of `micro_agent.rules.implied_tools`: `python -m tests.rules.learn` writes them anew.

Logistic regression with an L2 penalty, one model per tool. Each question counts twice: with its words, and with less
weight by the classes of its words alone, so that the weights of classes also do without words, as those of another
language must. The sets that the tests call unseen are not read here: they judge the weights.
"""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, vstack

from micro_agent.rules import implied_tools
from micro_agent.rules.implied_tools import ALWAYS, CALCULATOR, NOW, features, requests, wording
from micro_agent.rules.reading import read
from micro_agent.rules.words import words

QUESTIONS = Path(__file__).with_name("required_tools_questions.jsonl")
WEIGHTS = Path(implied_tools.__file__).with_name("required_tools.weights.json")
PENALTY = 3.0
"""Of the squares of the weights, halved, in units of the loss of a question."""
BY_CLASSES = 0.3
"""What a question counts without its words."""
RARE = 3
"""In fewer questions a feature is not learned."""
SMALL = 0.02
"""A weight below this is left out."""


def learned(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The weights by tool and feature, from labelled questions ``{"question", "tools"}``."""
    asked = [requests(read(row["question"], words())) for row in rows]
    by_classes = [features(sentences) for sentences in asked]
    found = [names | wording(sentences) for names, sentences in zip(by_classes, asked, strict=True)]
    often = Counter(name for names in found for name in names)
    column = {name: at for at, name in enumerate(sorted(name for name, count in often.items() if count >= RARE))}
    table = vstack([_table(found, column), _table(by_classes, column)]).tocsr()
    counts = np.repeat([1.0, BY_CLASSES], len(rows))
    penalty = np.array([0.0 if name == ALWAYS else PENALTY for name in column])
    weights: dict[str, dict[str, float]] = {}
    for tool in (CALCULATOR, NOW):
        wanted = np.tile([float(tool in row["tools"]) for row in rows], 2)
        values = _fitted(table, wanted, counts, penalty)
        weights[tool] = {name: round(w, 2) for name, w in zip(column, values, strict=True) if abs(w) >= SMALL}
    return weights


def _table(found: Iterable[set[str]], column: dict[str, int]) -> Any:
    """A row per question, a column per feature, 1 where the question has it."""
    indices = [sorted(column[name] for name in names if name in column) for names in found]
    starts = np.cumsum([0, *map(len, indices)])
    return csr_matrix((np.ones(starts[-1]), np.concatenate(indices), starts), (len(indices), len(column)))


def _fitted(table: Any, wanted: Any, counts: Any, penalty: Any) -> list[float]:
    """The weights that minimize the logistic loss plus the penalty."""

    def loss(weights: Any) -> tuple[float, Any]:
        odds: Any = table @ weights
        likely: Any = (1.0 + np.tanh(odds / 2.0)) / 2.0
        slope: Any = table.T @ (counts * (likely - wanted)) + penalty * weights
        return float(counts @ (np.logaddexp(0.0, odds) - wanted * odds) + penalty @ weights**2 / 2), slope

    start: Any = np.zeros(table.shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x.tolist()


def main() -> None:
    """Learn from all questions that may be seen, and write the weights."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    WEIGHTS.write_text(json.dumps(learned(rows), ensure_ascii=False, indent=0, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
