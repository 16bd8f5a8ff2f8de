"""What an optimization is asked to do, as data."""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Literal

Optimizer = Literal["bootstrap", "random", "gepa"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The knobs of one optimization. What is not for the optimizer at hand is ignored by it."""

    optimizer: Optimizer = "bootstrap"
    n: int = 12
    """Tasks drawn, for training and judging together."""
    seed: int = 0
    held_out: float = 0.5
    """The share of the tasks that only judges."""
    max_demos: int = 4
    candidates: int = 6
    """Sets of demos that random search tries beside none and the plain bootstrapped one."""
    max_metric_calls: int = 60
    """Training runs that GEPA may ask for, roughly: it finishes the round it is in."""
    reflection_model: str | None = None
    """The model that rewrites instructions for GEPA; ``None``: the one that is optimized for."""
    epochs: int = 1
    """How often each held-out task is asked, in each arm."""
    from_traces: str | None = None
    """A pattern of traces to learn from."""

    def parameters(self) -> dict[str, Any]:
        """Those that the optimizer used, for the record."""
        own = {
            "bootstrap": ("max_demos",),
            "random": ("max_demos", "candidates"),
            "gepa": ("max_metric_calls", "reflection_model"),
        }
        return {name: getattr(self, name) for name in (*own[self.optimizer], "from_traces")}

    def digest(self, **circumstances: Any) -> str:
        """What names the work folder: the same job under the same circumstances is the same work."""
        asked = json.dumps([asdict(self), circumstances], sort_keys=True, default=str)
        return sha256(asked.encode()).hexdigest()[:16]
