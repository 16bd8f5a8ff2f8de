"""What an eval writes down: a header, then one result a trial. A result can be scored again without anything else."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from micro_agent.evaluation.task import Task
from micro_agent.run import Run, new_id, utc_now

SCHEMA_VERSION = 1
LISTED = 10_000
"""So many tasks are listed in a header at most."""
_CHECKS = (
    "contains", "number", "regex", "key", "tools", "args", "observed", "hidden", "changed", "gates",
)  # fmt: skip


class _Data(BaseModel):
    """Unknown keys are kept, so that a file of a newer version survives being read and written by this one."""

    model_config = ConfigDict(extra="allow", protected_namespaces=(), ser_json_inf_nan="strings")


class Rubric(_Data):
    """How much each check counts. A task's score is the weighted share of its checks that pass, from 0 to 1."""

    version: int = 1
    weights: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
        default_factory=lambda: dict.fromkeys(_CHECKS, 1.0)
    )
    """By the name of the check. A check of weight 0 is made and shown and does not count."""
    pass_score: float = Field(default=1.0, gt=0, le=1)
    """A run that completed is a success from this score on."""


class Header(_Data):
    """The first line of a result file: what was to be done."""

    kind: Literal["header"] = "header"
    schema_version: int = SCHEMA_VERSION
    id: str = Field(default_factory=new_id)
    ts: str = Field(default_factory=utc_now)
    dataset: str
    """The file that the tasks came from, as it was named."""
    dataset_sha256: str
    tasks: list[str]
    """The ids of the tasks that were drawn, in the order of asking; none where `drawn` counts them."""
    drawn: int | None = None
    """How many tasks were drawn, where they are too many to list."""
    epochs: int = 1
    trials: int | None = None
    """How many there are to be, where that is not every task in each epoch: in a shard, and of recorded runs."""
    shard: str | None = None
    """``3/8`` in the file of the third of eight shards; its ``tasks`` are those of the whole eval."""
    seed: int = 0
    """What the tasks were drawn with; epoch k of ``epochs`` > 1 asks the model with seed + k."""
    rubric: Rubric = Field(default_factory=Rubric)
    settings: dict[str, Any] = Field(default_factory=dict)
    """Provider, model, base URL, mode, limits, sampling settings and digests that the runs were asked for with."""

    @property
    def size(self) -> int:
        """How many tasks were drawn."""
        return len(self.tasks) if self.drawn is None else self.drawn

    @property
    def planned(self) -> int:
        """How many trials there are to be."""
        return self.size * self.epochs if self.trials is None else self.trials


class Check(_Data):
    """One expectation of a task, and whether the run met it."""

    name: str
    """``contains number regex key tools args observed hidden changed gates``."""
    passed: bool
    detail: str = ""
    """Of a check that failed: what was expected and what was found, in one line."""


class Damage(_Data):
    """One reply of the model that was damaged on purpose, in an eval with faults."""

    call: int
    """The number of the reply in its run, from 0."""
    name: str
    """The class of the damage (`micro_agent.testing.damage`)."""
    before: dict[str, Any]
    """``text``, ``reasoning``, ``tool_calls`` as the model said it; ``after`` is what the agent got."""
    after: dict[str, Any]


class Result(_Data):
    """One trial: a task asked once. ``run`` is the record without its ``calls``, which stand in the trace."""

    kind: Literal["result"] = "result"
    task: Task
    epoch: int = 0
    seed: int | None = None
    """The sampling seed that was sent; ``None`` if none was."""
    run: Run
    models: list[str] = Field(default_factory=list[str])
    """The models that the server said answered, in the order of their first reply."""
    trace: str | None = None
    wall_s: float | None = None
    """Seconds from asking to the end, as the clock on the wall has it; unknown of a recorded run."""
    decisions: int | None = None
    """How often the model was asked to go on. Unknown in files of versions that did not write it down."""
    replies: int | None = None
    """Its replies to that, those that are not in force included."""
    checks: list[Check]
    score: float
    success: bool
    damages: list[Damage] = Field(default_factory=list[Damage])

    @property
    def replies_per_decision(self) -> float | None:
        """1 without sampling; ``None`` where it is unknown or nothing was decided."""
        return self.replies / self.decisions if self.replies is not None and self.decisions else None

    @property
    def key(self) -> tuple[str, int]:
        """What is unique in a result file: the task and the epoch. Of two with the same key the later one counts."""
        return self.task.id, self.epoch
