"""From tasks to a file of demos with its evidence: train, ask both arms, compare, decide, save."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from micro_agent.demos import CompiledDemos
from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.compare import compare
from micro_agent.evaluation.datasets import Dataset
from micro_agent.evaluation.figures import Comparison
from micro_agent.evaluation.results import Key, read_results
from micro_agent.optimize.arms import Bench, Bounds, cost_of, run_arm
from micro_agent.optimize.compile import Material, compile_demos, training_runs
from micro_agent.optimize.ending import NotFinished, Spent
from micro_agent.optimize.job import Job
from micro_agent.optimize.plan import Plan, make_plan
from micro_agent.optimize.store import Kept
from micro_agent.optimize.teller import Teller
from micro_agent.optimize.training import Training
from micro_agent.optimize.verdict import UNCHANGED, figures_of, verdict, versions
from micro_agent.optimize.work import Work, read_demos, save_demos, write_json
from micro_agent.run import utc_now

TODAY, COMPILED = "today", "compiled"
FOLDER = ".optimize"
"""Beside the file that is saved: the folders in which optimizations work."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an optimization ended."""

    saved: Path | None
    """The file that was written, ``None`` if nothing was."""
    why: str
    evidence: dict[str, Any]
    comparison: Comparison | None
    """``None`` if there was nothing to compare."""


def optimize(
    job: Job, dataset: Dataset, bench: Bench, save: Path, *, bounds: Bounds, teller: Teller, force: bool = False,
    allow_equal: bool = False, resume: bool = False,
) -> Outcome:  # fmt: skip
    """Train on some tasks, ask the others with and without what came of it, and save it if it is better.

    Args:
        job: What is asked for.
        dataset: Where tasks are drawn from.
        bench: The model, the tools and the limits of all agents.
        save: The file of compiled demos. What is there becomes ``<name>.bak``.
        bounds: Concurrency of the held-out tasks, money, cancelling.
        teller: Is told how it goes.
        force: Save also what is worse.
        allow_equal: Save also what is not worse.
        resume: Go on with the same optimization where it was broken off; what was asked is not asked again.

    Raises:
        ConfigurationError: Something that was asked for cannot be. No model was asked.
        NotFinished: It cannot go on for now; with ``resume`` it does later.
        StorageError: Something cannot be written.
    """
    if save.is_dir():
        raise ConfigurationError(f"{save} is a folder: --save wants a file, such as {save / 'plan_demos.json'}")
    started, plan = utc_now(), make_plan(job, dataset, bench, teller)
    work = Work.open(save.parent / FOLDER, plan.digest, resume=resume)
    with Kept(work.training) as kept:
        _announce(plan, work, teller)
        compiled, training = _compiled(plan, work, kept, bounds, teller)
        evidence = _evidence(plan, training, started)
        if (compiled.instructions, compiled.demos) == (plan.today.instructions, plan.today.demos):
            return Outcome(None, UNCHANGED.why, evidence, None)
        comparison = _compared(plan, work, training, bounds, teller)
        decided = verdict(comparison, force=force, allow_equal=allow_equal)
        made_for = _made_for(plan.bench)
        evidence |= made_for
        evidence |= figures_of(comparison) | {
            "verdict": decided.why,
            "results": {arm: os.path.relpath(work.results(arm), save.parent) for arm in (TODAY, COMPILED)},
            "finished": utc_now(),
        }
        evidence["spent"]["held_out"] = asdict(_spent(comparison))
        write_json(work.evidence, evidence)
        if decided.keep:
            save_demos(save, compiled.model_copy(update=made_for), evidence)
        return Outcome(save if decided.keep else None, decided.why, evidence, comparison)


def _announce(plan: Plan, work: Work, teller: Teller) -> None:
    identity, parts = plan.bench.identity(), plan.parts
    teller.say(
        f"{plan.job.optimizer}: {len(parts.training)} tasks to learn from, {len(parts.held_out)} held out; "
        f"{identity['model']} in {identity['mode']} mode; {work.folder}"
    )
    write_json(work.asked, {"job": asdict(plan.job), "dataset": plan.dataset.path, **identity})
    write_json(work.demos(TODAY), plan.today.model_dump(mode="json", exclude_none=True))


def _compiled(plan: Plan, work: Work, kept: Kept, bounds: Bounds, teller: Teller) -> tuple[CompiledDemos, Spent]:
    """What training made, now or before the kill, and what that took."""
    made = read_demos(work.demos(COMPILED))
    if made is None:
        material, bench = Material(plan.parts.training, plan.recorded.examples), plan.bench
        with teller.training(training_runs(plan.job, material)) as on_run:
            training = Training(kept, bounds.limit_cost, bounds.cancel, on_run)
            compiled = compile_demos(
                plan.job, training, material, lm=bench.lm, reflection_lm=bench.reflection_lm, log=work.log,
                demos=work.demos(TODAY), **bench.options(),
            )  # fmt: skip
        data = compiled.model_dump(mode="json", exclude_none=True)
        write_json(work.demos(COMPILED), {**data, "spent": asdict(training.spent)})
        made = read_demos(work.demos(COMPILED)) or compiled
    extra = made.model_extra or {}
    return CompiledDemos(instructions=made.instructions, demos=made.demos), Spent(**extra["spent"])


def _compared(plan: Plan, work: Work, training: Spent, bounds: Bounds, teller: Teller) -> Comparison:
    """Both arms on the held-out tasks.

    Raises:
        NotFinished: Trials are left, or runs failed in one arm alone.
    """
    failed: list[set[Key]] = []
    for arm, other in ((TODAY, COMPILED), (COMPILED, TODAY)):
        elsewhere = Spent(cost_usd=training.cost_usd)
        elsewhere.add(0, cost_of(work.results(other)))
        errors = run_arm(
            arm, plan.parts.held_out, plan.job, plan.bench, work, dataset=(plan.dataset.path, plan.dataset.sha256),
            bounds=bounds, spent=elsewhere.cost_usd, teller=teller,
        )  # fmt: skip
        failed.append(errors)
    if uneven := failed[0] ^ failed[1]:
        names = ", ".join(sorted({task for task, _ in uneven}))
        raise NotFinished("uneven", f"the arms cannot be compared: in one of them alone runs failed ({names})")
    return compare(read_results(work.results(TODAY)), read_results(work.results(COMPILED)))


def _evidence(plan: Plan, training: Spent, started: str) -> dict[str, Any]:
    job, identity = plan.job, plan.bench.identity()
    return {
        "optimizer": job.optimizer,
        "parameters": job.parameters(),
        "seed": job.seed,
        "epochs": job.epochs,
        "dataset": plan.dataset.path,
        "dataset_sha256": plan.dataset.sha256,
        "training_tasks": [task.id for task in plan.parts.training],
        "held_out_tasks": [task.id for task in plan.parts.held_out],
        "recorded_runs": [run.id for _, run in plan.recorded.examples],
        **{name: identity[name] for name in ("provider", "model", "mode", "sampling", "limits")},
        "versions": versions(),
        "started": started,
        "spent": {"training": asdict(training)},
    }


def _made_for(bench: Bench) -> dict[str, Any]:
    """Whom the demos are for, asked at the end: only now it is known that a server refuses tools."""
    identity = bench.identity()
    return {name: identity[name] for name in ("provider", "model", "mode")}


def _spent(comparison: Comparison) -> Spent:
    spent = Spent()
    for arm in (comparison.a, comparison.b):
        spent.add(round(arm.avg_lm_calls.total or 0), arm.avg_cost_usd.total, runs=arm.n)
    return spent
