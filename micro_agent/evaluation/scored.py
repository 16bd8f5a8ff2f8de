"""A run made into a result: scored, and written down without its model calls, which stand in its trace."""

from micro_agent.evaluation.result import Result, Rubric
from micro_agent.evaluation.scorers import score
from micro_agent.evaluation.task import Task
from micro_agent.run import Run
from micro_agent.run.sampling import requests


def scored(
    task: Task, run: Run, rubric: Rubric, *, epoch: int, trace: str | None, seed: int | None = None,
    wall_s: float | None = None,
) -> Result:  # fmt: skip
    """The result of a trial."""
    checks, share, success = score(task, run, rubric)
    models = list(dict.fromkeys(call.model for call in run.calls if call.model is not None))
    return Result(
        task=task, epoch=epoch, seed=seed, run=run.model_copy(update={"calls": []}), models=models, trace=trace,
        wall_s=wall_s, decisions=len(run.calls), replies=sum(1 for _ in requests(run)), checks=checks,
        score=share, success=success,
    )  # fmt: skip
