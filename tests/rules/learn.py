"""Learns the weights of `micro_agent.rules.implied_tools`: `python -m tests.rules.learn` writes them anew.

Logistic regression with an L1 penalty, one model per tool, by FISTA (Beck and Teboulle, 2009). The penalty leaves most
weights at 0; those are not written. The sets that the tests call unseen are not read here: they judge the weights.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds

from micro_agent.rules import implied_tools
from micro_agent.rules.implied_tools import ALWAYS, CALCULATOR, NOW, features, requests
from micro_agent.rules.reading import read
from micro_agent.rules.words import words

QUESTIONS = Path(__file__).with_name("required_tools_questions.jsonl")
WEIGHTS = Path(implied_tools.__file__).with_name("required_tools.weights.json")
PENALTY = 1.0
"""Of a weight of 1, in units of the loss of a question."""
RARE = 3
"""In fewer questions a feature is not learned."""
ROUNDS = 3000


def learned(rows: list[dict[str, Any]], penalty: float = PENALTY) -> dict[str, dict[str, float]]:
    """The weights by tool and feature, from labelled questions ``{"question", "tools"}``."""
    found = [features(requests(read(row["question"], words()))) for row in rows]
    often = Counter(name for names in found for name in names)
    names = sorted(name for name, count in often.items() if count >= RARE)
    column = {name: at for at, name in enumerate(names)}
    indices = [[column[name] for name in sorted(one) if name in column] for one in found]
    starts = np.cumsum([0, *map(len, indices)])
    table = csr_matrix((np.ones(starts[-1]), np.concatenate(indices), starts), (len(rows), len(names)))
    free = np.array([name == ALWAYS for name in names])
    weights: dict[str, dict[str, float]] = {}
    for tool in (CALCULATOR, NOW):
        sign = np.array([1.0 if tool in row["tools"] else -1.0 for row in rows])
        values = _fitted(table, sign, np.where(free, 0.0, penalty))
        weights[tool] = {name: round(float(w), 2) for name, w in zip(names, values, strict=True) if abs(w) >= 0.005}
    return weights


def _fitted(table: Any, sign: Any, penalty: Any) -> Any:
    """The weights that minimize the logistic loss plus the penalty on their sizes."""
    start: Any = np.ones(min(table.shape))
    step = 4.0 / svds(table, k=1, v0=start, return_singular_vectors=False)[0] ** 2
    weights = ahead = np.zeros(table.shape[1])
    momentum = 1.0
    for _ in range(ROUNDS):
        slope = table.T @ (-sign / (1.0 + np.exp(np.clip(sign * (table @ ahead), -50, 50))))
        moved = ahead - step * slope
        new = np.sign(moved) * np.maximum(np.abs(moved) - step * penalty, 0.0)
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = new + (momentum - 1.0) / following * (new - weights)
        weights, momentum = new, following
    return weights


def main() -> None:
    """Learn from all questions that may be seen, and write the weights."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    WEIGHTS.write_text(json.dumps(learned(rows), ensure_ascii=False, indent=0, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
