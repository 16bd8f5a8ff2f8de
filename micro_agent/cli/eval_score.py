"""What `eval score` scores: a result file anew, or recorded runs. Each gives the new file and what to say of it."""

from collections.abc import Iterator
from pathlib import Path

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.datasets import load_tasks
from micro_agent.evaluation.from_traces import score_traces
from micro_agent.evaluation.rescore import Rescored, rescore
from micro_agent.evaluation.result import Header
from micro_agent.evaluation.results import place_of
from micro_agent.evaluation.rubrics import load_rubric, rubric_for
from micro_agent.evaluation.trace_files import trace_files

_NAMES = 10


def results(file: Path, rubrics: Path | None, tasks: Path | None, out: Path | None) -> tuple[Path, list[str]]:
    """Score a result file again."""
    target = out or file.with_suffix(".rescored.jsonl")
    done = rescore(file, target, load_rubric(rubrics) if rubrics else None, load_tasks(tasks) if tasks else None)
    return target, [*done.faults, *_differences(done)]


def traces(
    sources: list[str], rubrics: Path | None, tasks: Path | None, out: Path | None
) -> tuple[Path, list[str]]:  # fmt: skip
    """Score recorded runs."""
    if tasks is None:
        raise ConfigurationError(
            "recorded runs are scored by the tasks that ask their questions: name them, --tasks FILE"
        )
    dataset = load_tasks(tasks)
    header = Header(
        dataset=str(tasks), dataset_sha256=dataset.sha256, tasks=[task.id for task in dataset.tasks],
        rubric=rubric_for(tasks, rubrics), settings={"traces": sources},
    )  # fmt: skip
    target = out or place_of(header)
    return target, list(score_traces(trace_files(sources), dataset, target, header).lines())


def _differences(done: Rescored) -> Iterator[str]:
    yield f"Of {done.trials} trials {len(done.gained)} became a success and {len(done.lost)} are none any more."
    for names, what in (
        (done.renewed, "are judged by new expectations"),
        (done.other_question, "ask something else now and are judged as before"),
        (done.not_in_dataset, "are not in that file and are judged as before"),
    ):
        if names:
            yield f"{len(names)} tasks {what}: {', '.join(sorted(names)[:_NAMES])}{' …' if len(names) > _NAMES else ''}"
