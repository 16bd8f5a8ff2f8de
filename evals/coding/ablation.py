"""What each help of the coding agent is worth to a scripted model that fails in known ways: tables, paired by task.

    python evals/coding/ablation.py OUT                 # the whole grid: result files and tables.md in the folder OUT
    python evals/coding/ablation.py OUT --tasks 8       # a quick part of it
    python evals/coding/ablation.py OUT --part grid --faults 0.4 --follows 0.2 --arm "all helps"    # one cell

Each cell is an eval of its own, in a result file that `micro-agent eval report` and `compare` read. A run that was
stopped goes on where it was: say the same again. No figure is that of a real model.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from math import fsum
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from micro_agent.cancel import Cancel
from micro_agent.coder import coding_agent
from micro_agent.coding.coach import CoachSettings
from micro_agent.evaluation import Header, Result, ResultFile, Trial, load_tasks, read_results, remaining, trials
from micro_agent.evaluation.coding.asking import ask_in_place
from micro_agent.evaluation.coding.outcome import Hidden, outcome_of
from micro_agent.evaluation.coding.places import Place, Places
from micro_agent.evaluation.datasets import draw
from micro_agent.evaluation.rubrics import rubric_for
from micro_agent.evaluation.runner import run_trials
from micro_agent.evaluation.statistics import clustered_difference
from micro_agent.run import Run
from micro_agent.testing import ScriptedLM
from micro_agent.testing.coding_model import CodingModel, Plan

TASKS = Path(__file__).resolve().with_name("tasks.yaml")
ALL = CoachSettings(exemplars=0)
"""Every help but exemplars: the scripted model does not read them, so they could only seem to do nothing."""
NONE = replace(ALL, gates="off", hints=False, corrections=0, state="off")
ARMS: dict[str, CoachSettings] = {
    "all helps": ALL,
    "without gates": replace(ALL, gates="off"),
    "gates warn": replace(ALL, gates="warn"),
    "without hints": replace(ALL, hints=False),
    "without corrections": replace(ALL, corrections=0),
    "none": NONE,
}
OWN_FAULTS: dict[str, tuple[str, ...]] = {
    "without gates": ("finish", "announce", "wander"),
    "without hints": ("wrong_path", "bad_range", "not_found", "ambiguous", "wrong_patch"),
    "without corrections": ("wrong_edit",),
}
"""The faults that a help is meant for, by the arm that lacks it."""
FORMATS = ("edit", "patch", "udiff", "tagged")
FAULTS, FOLLOWS = (0.0, 0.2, 0.4), (0.2, 0.5, 0.8)
_KEPT = {"tool", "ok", "error", "call", "latency_s"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One eval: the model's faults and how it follows, and what helps it."""

    part: str
    arm: str
    faults: float
    follows: float
    settings: CoachSettings
    only: tuple[str, ...] | None = None
    held: bool = True
    """Whether the model's server holds a reply to a call where the request requires one."""

    @property
    def file(self) -> str:
        """The name of its result file."""
        loose = "" if self.held else "-loose"
        return f"{self.part}-f{self.faults:g}-p{self.follows:g}-{self.arm.replace(' ', '-')}{loose}.jsonl"


@dataclass(frozen=True, slots=True)
class Figures:
    """What is counted in a cell, one value a trial, by task."""

    values: dict[str, dict[str, list[float]]] = field(default_factory=dict[str, dict[str, list[float]]])

    def add(self, result: Result) -> None:
        """Count a trial."""
        outcome = outcome_of(result.run)
        assert outcome is not None
        gates = [check.passed for check in result.checks if check.name == "gates"]
        answered = result.run.status == "completed"
        needs_change = bool(result.task.expect_hidden)
        seen: dict[str, float | None] = {
            "solved": result.score == 1 and (answered or needs_change),
            "premature": outcome.premature is not None if needs_change else None,
            "gates": gates[0] if gates else None,
            "solved, gates": gates[0] if gates and result.score == 1 else None,
            "answered": answered,
            "steps": len(result.run.steps),
            "tokens": outcome.tokens,
        }
        for name, value in seen.items():
            if value is not None:
                self.values.setdefault(name, {}).setdefault(result.task.id, []).append(float(value))

    def mean(self, name: str) -> float | None:
        """Over all trials that have it."""
        found = [value for values in self.values.get(name, {}).values() for value in values]
        return fsum(found) / len(found) if found else None

    def differences(self, name: str, other: "Figures") -> list[float]:
        """This one minus another, task by task."""
        mine, theirs = self.values.get(name, {}), other.values.get(name, {})
        return [fsum(mine[task]) / len(mine[task]) - fsum(theirs[task]) / len(theirs[task])
                for task in mine if task in theirs]  # fmt: skip


def grid() -> list[Cell]:
    """Every cell, the ones that matter most first. Without faults, how a model follows hardly matters: one ``p``."""
    often, seldom = FAULTS[2], FAULTS[1]
    first = [(seldom, 0.5), (often, 0.5), (FAULTS[0], 0.5)]
    rest = [(faults, follows) for faults in (often, seldom) for follows in (FOLLOWS[2], FOLLOWS[0])]
    of_grid = [[Cell("grid", arm, *pair, settings) for pair in pairs for arm, settings in ARMS.items()]
               for pairs in (first, rest)]  # fmt: skip
    own = [
        Cell(f"own-{arm.split()[-1]}", name, 0.4, follows, ARMS[name], only)
        for arm, only in OWN_FAULTS.items() for follows in FOLLOWS for name in ("all helps", arm)
    ]  # fmt: skip
    edits = [Cell("edits", name, seldom, 0.5, replace(ALL, edits=name)) for name in FORMATS]
    return [*of_grid[0], *own, *edits, *of_grid[1]]


def run_cell(cell: Cell, out: Path, tasks: int | None, seeds: int, mode: str) -> Path:
    """Ask what is left of a cell, in this process."""
    _with_plain_python()
    dataset = load_tasks(TASKS)
    drawn = draw(dataset.tasks, tasks)
    header = Header(
        dataset=str(TASKS), dataset_sha256=dataset.sha256, tasks=[task.id for task in drawn], epochs=seeds,
        rubric=rubric_for(TASKS, None),
        settings={"model": "scripted", "mode": mode, "cell": {**asdict(cell), "settings": cell.settings.record()}},
    )  # fmt: skip
    path = out / cell.file
    with ResultFile.resume(path) if path.exists() else ResultFile.create(path, header) as file, Places() as places:
        if (file.header.dataset_sha256, file.header.tasks) != (header.dataset_sha256, header.tasks):
            raise SystemExit(f"{path} is of other tasks: name another folder")
        known: dict[str, Hidden] = {}
        ending = run_trials(
            remaining(trials(drawn, seeds, 0, seeded=True), file),
            lambda trial, cancel: _ask(cell, trial, cancel, places, known, mode), file, header.rubric,
        )  # fmt: skip
        if ending.reason != "done":
            raise SystemExit(f"{path}: {ending.message}")
    return path


def _ask(
    cell: Cell, trial: Trial, cancel: Cancel, places: Places, known: dict[str, Hidden], mode: str
) -> Run:  # fmt: skip
    plan = Plan.model_validate(trial.task.plan)
    model = CodingModel(
        plan, faults=cell.faults, follows=cell.follows, seed=trial.seed or 0, only=cell.only, held=cell.held
    )

    def agent(place: Place) -> Any:
        return coding_agent(
            place.repo, lm=ScriptedLM(model), mode=mode, settings=cell.settings, confirm="all", state_dir=place.state,
            finish="ask",  # as with every server of weak models: an announcement is asked about
        )  # fmt: skip

    run = ask_in_place(trial, cancel, places=places, agent_for=agent, known=known)
    steps = [type(step).model_validate(step.model_dump(include=_KEPT)) for step in run.steps]
    return run.model_copy(update={"steps": steps, "system": None})  # what a few thousand runs need not keep


def _with_plain_python() -> None:
    """Tests run with the system's Python where there is one: the shims of pyenv take longer than the tests."""
    shims = [folder for folder in os.get_exec_path() if not folder.endswith("/shims")]
    if shutil.which("python3", path=os.pathsep.join(shims)):
        os.environ["PATH"] = os.pathsep.join(shims)


def figures_of(path: Path) -> Figures:
    """What a result file shows."""
    figures = Figures()
    for result in read_results(path)[1]:
        figures.add(result)
    return figures


COLUMNS = ("solved", "premature", "gates", "solved, gates", "answered", "steps", "tokens")


def tables(cells: Sequence[Cell], of: Callable[[Cell], Figures]) -> Iterator[str]:
    """Markdown: one table for each part, fault rate and ``p``; differences are those of the first arm to each other."""
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.part, cell.faults, cell.follows, cell.only, cell.held), []).append(cell)
    for (part, faults, follows, only, held), members in groups.items():
        of_those = (f", only {', '.join(only)}" if only else "") + ("" if held else ", no call is held to")
        yield f"\n### {part}: faults {faults:g}, follows {follows:g}{of_those}\n"
        yield f"| arm | {' | '.join(COLUMNS)} | solved: first minus this | premature: first minus this |"
        yield "|---|" + "---|" * (len(COLUMNS) + 2)
        first = of(members[0])
        for cell in members:
            found = of(cell)
            cells_of = [_shown(found.mean(name), name) for name in COLUMNS]
            same = cell is members[0]
            paired = ["" if same else _difference(first, found, name) for name in ("solved", "premature")]
            yield f"| {' | '.join([cell.arm, *cells_of, *paired])} |"


def _shown(value: float | None, name: str) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if name == "steps" else f"{value:.0f}" if name == "tokens" else f"{100 * value:.1f} %"


def _difference(first: Figures, other: Figures, name: str) -> str:
    values = first.differences(name, other)
    if not values:
        return "–"
    low, high, _ = clustered_difference(values)
    return f"{100 * fsum(values) / len(values):+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _told(options: Mapping[str, Any]) -> str:
    return (
        f"Measured on the scripted model (`micro_agent.testing.coding_model`), mode {options['mode']}, "
        f"{options['tasks'] or 'all'} tasks of evals/coding/tasks.yaml, {options['seeds']} seed(s) a task. "
        "Intervals: 95 %, tasks as the sample."
    )


def _is_done(path: Path) -> bool:
    """Whether every trial of a cell is there: half of one would compare other tasks."""
    if not path.exists():
        return False
    header, results = read_results(path)
    return sum(1 for _ in results) == len(header.tasks) * header.epochs


def main() -> None:
    """Run the cells that are named and print the tables of those that are done."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, help="folder for result files and tables.md")
    parser.add_argument("--tasks", type=int, help="so many tasks, drawn; default all")
    parser.add_argument("--seeds", type=int, default=1, help="runs a task [1]")
    parser.add_argument("--mode", choices=("native", "json"), default="native", help="how calls are written [native]")
    parser.add_argument("--part", action="append", help="only cells whose part begins with it: grid, own, edits")
    parser.add_argument("--faults", type=float, action="append", help="only cells with this share of faults")
    parser.add_argument("--follows", type=float, action="append", help="only cells with this p")
    parser.add_argument("--arm", action="append", help="only cells of this arm, such as 'all helps'")
    parser.add_argument("--loose", action="store_true", help="the server holds no reply to a call that is required")
    parser.add_argument("--processes", type=int, default=2, help="processes [2]")
    parser.add_argument("--show", action="store_true", help="run nothing, print the tables of what is there")
    options = parser.parse_args()
    parts: list[str] = options.part or [""]
    cells = [cell for cell in grid() if cell.part.startswith(tuple(parts))]
    for name in ("faults", "follows", "arm"):
        wanted: list[Any] | None = getattr(options, name)
        cells = [cell for cell in cells if not wanted or getattr(cell, name) in wanted]
    cells = [replace(cell, held=not options.loose) for cell in cells]
    out: Path = options.out
    if not options.show:
        with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
            asked = [pool.submit(run_cell, one, out, options.tasks, options.seeds, options.mode) for one in cells]
            for number, done in enumerate(as_completed(asked), 1):
                print(f"{number}/{len(cells)} {done.result().name}", file=sys.stderr, flush=True)
    there = [cell for cell in cells if _is_done(out / cell.file)]
    text = "\n".join([_told(vars(options)), *tables(there, lambda cell: figures_of(out / cell.file))])
    (out / "tables.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
