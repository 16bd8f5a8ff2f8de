"""What is known of an optimization before the first request: the split, the recorded runs, what is there today."""

from dataclasses import dataclass

from micro_agent.demos import CompiledDemos
from micro_agent.errors import DemosError
from micro_agent.evaluation.datasets import Dataset, draw
from micro_agent.models.identity import mode_of
from micro_agent.optimize.arms import Bench
from micro_agent.optimize.job import Job
from micro_agent.optimize.recorded import Recorded, recorded
from micro_agent.optimize.split import Split, split
from micro_agent.optimize.teller import Teller
from micro_agent.optimize.verdict import versions
from micro_agent.planning.given_demos import given_demos


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be done, and the digest by which ``--resume`` finds it again."""

    job: Job
    dataset: Dataset
    bench: Bench
    parts: Split
    recorded: Recorded
    today: CompiledDemos
    """What an agent would use now."""
    digest: str


def make_plan(job: Job, dataset: Dataset, bench: Bench, teller: Teller) -> Plan:
    """Draw and split the tasks, read the recorded runs and today's demos. No model is asked.

    Raises:
        ConfigurationError: There are too few tasks, or no file matches ``job.from_traces``.
    """
    parts = split(draw(dataset.tasks, job.n, job.seed), held_out=job.held_out, seed=job.seed)
    found = Recorded([])
    if job.from_traces is not None:
        found = recorded(job.from_traces, tools={tool.name for tool in bench.tools}, held_out=parts.held_out)
        teller.say(found.told())
    today = _today(bench, teller)
    digest = job.digest(
        dataset=dataset.sha256, bench=bench.identity(), reflection=getattr(bench.reflection_lm, "model", None),
        today=today.model_dump(mode="json"), recorded=[run.id for _, run in found.examples], versions=versions(),
    )  # fmt: skip
    return Plan(job, dataset, bench, parts, found, today, digest)


def _today(bench: Bench, teller: Teller) -> CompiledDemos:
    """The compiled demos in use. A damaged file that was found is one that an optimization is there to replace."""
    nothing, path = CompiledDemos(demos=[]), bench.settings.compiled_demos_path
    if bench.demos is None and not path.exists():
        return nothing
    try:
        given = given_demos(bench.demos, bench.settings)
    except DemosError as error:
        if bench.demos is not None:
            raise
        teller.say(f"{error} Until then it counts as no demos.")
        return nothing
    found = given.compiled if given.count_for(bench.lm, mode_of(bench.lm, bench.mode)) else nothing
    return CompiledDemos(instructions=found.instructions, demos=found.demos)
