# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""DSPy's optimizers at work on the agent: a program and examples in, demos or instructions out."""

import os
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from micro_agent.demos import CompiledDemos, Demo, with_decision
from micro_agent.evaluation.task import Task
from micro_agent.files.masking import mask_of
from micro_agent.models.prices import price_of
from micro_agent.optimize.ending import Halt
from micro_agent.optimize.job import Job
from micro_agent.optimize.judge import judge
from micro_agent.optimize.proposer import Proposer
from micro_agent.optimize.training import Trainee, Training
from micro_agent.planning.signature import PlanWithTools
from micro_agent.run import Run
from micro_agent.streaming.masked_text import MaskedFile

_ZERO_SHOT, _IN_ORDER = -3, -1
"""The seeds that random search gives to the program without demos, and to the examples in their own order."""


@dataclass(frozen=True, slots=True)
class Material:
    """What an optimizer works with. Recorded runs are shown by few-shot optimizers without asking the model."""

    tasks: Sequence[Task]
    recorded: Sequence[tuple[Task, Run]] = ()


def compile_demos(
    job: Job, training: Training, material: Material, *, lm: Any, reflection_lm: Any = None, log: Path, **agent: Any
) -> CompiledDemos:
    """Train an agent. One run after the other: DSPy asks a slow example a second time when it works on several at once.

    Args:
        job: The optimizer and its knobs.
        training: What its programs share.
        material: What to learn from.
        lm: The model to ask.
        reflection_lm: The model that rewrites instructions; ``None``: ``lm``.
        log: Where what DSPy prints and logs is written.
        **agent: What makes the agent, as for `MicroAgent`; ``settings`` is needed.

    Raises:
        NotFinished: The model does not answer, the money is spent, or it was cancelled.
        StorageError: A training run cannot be written down.
    """
    training.recorded = {task.question: run for task, run in material.recorded}
    training.tasks = {task.question: task for task in (*material.tasks, *(task for task, _ in material.recorded))}
    student = Trainee(training, lm=lm, **agent)
    teacher = Trainee(training, teacher=True, lm=lm, **agent)
    with _logged(log), dspy.context(lm=lm):
        try:
            match job.optimizer:
                case "bootstrap":
                    program = _bootstrap(job, student, teacher, material)
                case "random":
                    program = _random(job, student, teacher, material)
                case _:
                    reflection_lm = reflection_lm or lm
                    proposer = Proposer(training, price_of(reflection_lm, agent["settings"]))
                    program = _gepa(job, student, material, proposer, reflection_lm)
        except Halt as halt:
            raise halt.error from halt.error.__cause__
    return _compiled(program)


def training_runs(job: Job, material: Material) -> int:
    """How many runs training asks for at most; GEPA finishes its round, so for it about that many."""
    tasks, rounds = len(material.tasks), job.candidates + 1
    return {"bootstrap": tasks, "random": tasks * (2 * rounds + 1), "gepa": job.max_metric_calls}[job.optimizer]


def _bootstrap(job: Job, student: Trainee, teacher: Trainee, material: Material) -> Any:
    optimizer = dspy.BootstrapFewShot(
        metric=_passes, max_bootstrapped_demos=job.max_demos, max_labeled_demos=0, max_errors=1
    )
    return optimizer.compile(student, teacher=teacher, trainset=_examples(material))


def _random(job: Job, student: Trainee, teacher: Trainee, material: Material) -> Any:
    optimizer = dspy.BootstrapFewShotWithRandomSearch(
        metric=_passes, max_bootstrapped_demos=job.max_demos, max_labeled_demos=0, max_errors=1,
        num_candidate_programs=job.candidates, num_threads=1, stop_at_score=100.0,
    )  # fmt: skip
    return optimizer.compile(
        student, teacher=teacher, trainset=_examples(material), valset=_examples(Material(material.tasks)),
        restrict=[_ZERO_SHOT, _IN_ORDER, *range(job.candidates)],
    )  # fmt: skip


def _gepa(job: Job, student: Trainee, material: Material, proposer: Proposer, reflection_lm: Any) -> Any:
    optimizer = dspy.GEPA(
        metric=_feedback, max_metric_calls=job.max_metric_calls, reflection_lm=reflection_lm, use_merge=False,
        instruction_proposer=proposer, num_threads=1, seed=job.seed,
    )  # fmt: skip
    examples = _examples(material)
    return optimizer.compile(student, trainset=examples, valset=examples)


def _examples(material: Material) -> list[Any]:
    """Recorded runs first: they cost nothing."""
    tasks = [*(task for task, _ in material.recorded), *material.tasks]
    return [dspy.Example(question=task.question, task=task).with_inputs("question") for task in tasks]


def _passes(example: Any, prediction: Any, trace: Any = None) -> bool:
    """Whether a run is right; one that is traced, for demos, also has to have something to show."""
    return judge(example.task, prediction.run).passed and (trace is None or len(trace) > 0)


def _feedback(gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:
    judgement = judge(gold.task, pred.run)
    return dspy.Prediction(score=float(judgement.passed), feedback=judgement.feedback)


def _compiled(program: Any) -> CompiledDemos:
    demos = [Demo(**{name: demo[name] for name in ("question", "steps", "decision")}) for demo in _shown(program)]
    instructions = program.plan.signature.instructions
    return CompiledDemos(instructions=None if instructions == PlanWithTools.instructions else instructions, demos=demos)


def _shown(program: Any) -> list[Any]:
    return [{"steps": [], **dict(demo)} for demo in with_decision(program.plan.demos)]


def _logged(path: Path) -> ExitStack:
    """What DSPy prints, its progress bars and its log go to a file: standard output is for results."""
    with ExitStack() as stack:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        opened = stack.enter_context(open(descriptor, "a", encoding="utf-8", errors="backslashreplace"))
        file = stack.enter_context(MaskedFile(opened, mask_of()))
        stack.enter_context(redirect_stdout(file))
        stack.enter_context(redirect_stderr(file))
        return stack.pop_all()
