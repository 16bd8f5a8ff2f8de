# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
"""micro-agent beside `dspy.ReAct` and `dspy.ReActV2`, on the same tasks and a model of your own.

    python -m benchmarks.against_react --provider ollama --model llama3.2:3b --n 50

Each task is asked of all three before the next one; who begins goes round. Results are written as they come; after an
interruption the same command with ``--out DIR`` goes on. It ends with a table to paste.
"""

import argparse
import platform
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dspy

from benchmarks.react_arms import asking
from benchmarks.react_table import table
from micro_agent import Limits, MicroAgent, __version__, configure_lm
from micro_agent.errors import ConfigurationError, MicroAgentError
from micro_agent.evaluation.datasets import draw, load_tasks
from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.results import ResultFile
from micro_agent.evaluation.rubrics import load_rubric
from micro_agent.evaluation.runner import Ask, agent_ask, run_trials
from micro_agent.evaluation.task import Task
from micro_agent.evaluation.trials import Trial, remaining, trials
from micro_agent.models.identity import traits_of
from micro_agent.models.settings import Settings, load_settings
from micro_agent.run import utc_now
from micro_agent.tools import load_tools

TASKS = Path(__file__).resolve().parents[1] / "evals" / "tasks.yaml"
ARMS = {"micro-agent": "micro-agent", "react": "dspy.ReAct", "react-v2": "dspy.ReActV2"}


def main(arguments: list[str] | None = None) -> int:
    """Ask, and print the table; returns the exit code: 1 when no model was reached, 2 for what cannot be asked."""
    options = _parser().parse_args(arguments)
    out = options.out or Path("evals", "results", "against-react-" + utc_now()[:19].replace("-", "").replace(":", ""))
    try:
        return _measured(options, out)
    except MicroAgentError as error:
        _say(f"against_react: {error}")
        return 2
    except KeyboardInterrupt:
        _say(f"Interrupted. Go on with: {_command(options, out)}")
        return 130


def _measured(options: argparse.Namespace, out: Path) -> int:
    found = load_settings(env_file=".env")
    lm = configure_lm(options.provider, options.model, options.base_url, settings=found, fallback=False)
    traits_of(lm)  # what a server refuses is noted beside the original, for all copies
    dataset = load_tasks(options.tasks)
    tasks = draw(dataset.tasks, options.n, options.seed)
    beside = options.tasks.with_name("rubrics.yaml")
    header = Header(
        dataset=str(options.tasks), dataset_sha256=dataset.sha256, tasks=[task.id for task in tasks],
        epochs=options.epochs, seed=options.seed, rubric=load_rubric(beside if beside.exists() else None), settings={
            "provider": options.provider, "model": lm.model, "base_url": getattr(traits_of(lm), "base_url", None),
            "max_steps": options.max_steps, "sampling": dict(lm.kwargs), "num_ctx": getattr(lm.engine, "num_ctx", None),
            "native": options.native, "version": __version__, "dspy": dspy.__version__,
        },
    )  # fmt: skip
    with ExitStack() as held:
        files = {arm: held.enter_context(_file(out / f"{arm}.jsonl", arm, header)) for arm in ARMS}
        stopped = _ask_all(files, tasks, _asks(lm, found, options))
    if stopped:
        _say(f"{stopped}\nGo on with: {_command(options, out)}")
        return 1
    about = {"command": _command(options, None), "python": f"Python {platform.python_version()}, {platform.system()}"}
    for line in table({name: files[arm].path for arm, name in ARMS.items()}, about):
        print(line)
    _say(f"Results: {out}")
    return 0


def _asks(lm: Any, found: Settings, options: argparse.Namespace) -> dict[str, Ask]:
    tools = list(load_tools(modules=",".join(found.tools_modules)).values())
    limits = Limits(max_steps=options.max_steps)

    def lm_for(seed: int | None) -> Any:
        return lm if seed is None else lm.copy(seed=seed)

    def agent_for(seed: int | None) -> MicroAgent:
        return MicroAgent(tools, lm_for(seed), limits=limits, traces=None, confirm="never", settings=found)

    return {
        "micro-agent": agent_ask(agent_for),
        "react": asking(dspy.ReAct, lm_for, tools, options.max_steps, native=False),
        "react-v2": asking(dspy.ReActV2, lm_for, tools, options.max_steps, native=options.native),
    }


def _file(path: Path, arm: str, header: Header) -> ResultFile:
    """The result file of an arm, new or taken up.

    Raises:
        ConfigurationError: It was begun with other tasks, another model or other settings.
    """
    wanted = header.model_copy(update={"settings": {"arm": arm, **header.settings}})
    if not path.exists():
        return ResultFile.create(path, wanted)
    file = ResultFile.resume(path)
    if _plain(file.header) != _plain(wanted):
        file.close()
        raise ConfigurationError(
            f"{path} was begun with other tasks, another model or other settings: name another --out"
        )
    return file


def _plain(header: Header) -> dict[str, Any]:
    return header.model_dump(mode="json", exclude={"id", "ts"})


def _ask_all(files: dict[str, ResultFile], tasks: list[Task], asks: dict[str, Ask]) -> str:
    """Ask what has no result yet; returns why it ended too soon, or nothing."""
    header = next(iter(files.values())).header
    every = list(trials(tasks, header.epochs, header.seed, seeded=header.epochs > 1))
    left = {arm: {trial.key for trial in remaining(every, file, retry_errors=True)} for arm, file in files.items()}
    todo = [(arm, trial) for arm, trial in _in_turn(every) if trial.key in left[arm]]
    for number, (arm, trial) in enumerate(todo, 1):

        def on_result(result: Result, *, arm: str = arm, number: int = number) -> None:
            how = "solved" if result.success else f"not solved ({result.run.termination_reason})"
            _say(f"{number}/{len(todo)} {arm} {result.task.id}: {how}, {result.wall_s:.1f} s")

        ending = run_trials([trial], asks[arm], files[arm], header.rubric, on_result=on_result)
        if ending.reason == "unreached":
            return ending.message
    return ""


def _in_turn(every: list[Trial]) -> Iterator[tuple[str, Trial]]:
    """Each trial by all arms; who begins goes round, so that no arm always finds the server as another has left it."""
    arms = list(ARMS)
    for place, trial in enumerate(every):
        begin = place % len(arms)
        yield from ((arm, trial) for arm in arms[begin:] + arms[:begin])


def _command(options: argparse.Namespace, out: Path | None) -> str:
    given = {
        name: value for name, value in vars(options).items() if name not in ("out", "native") and value is not None
    }
    words = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    words += ["--native"] if options.native else []
    words += ["--out", str(out)] if out else []
    return shlex.join(["python", "-m", "benchmarks.against_react", *words])


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.against_react", description=__doc__)
    parser.add_argument("--provider", required=True, help="ollama, openai or litellm")
    parser.add_argument("--model", required=True, help="such as llama3.2:3b")
    parser.add_argument("--base-url", help="the server, if not the usual")
    parser.add_argument("--tasks", type=Path, default=TASKS, help="a file of tasks (default: those of this repository)")
    parser.add_argument("--n", type=int, help="draw so many tasks (default: all)")
    parser.add_argument(
        "--epochs", type=int, default=1, help="ask each task so often, with another sampling seed each time"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draw and of the epochs")
    parser.add_argument("--max-steps", type=int, default=10, help="decisions of micro-agent, max_iters of ReAct")
    parser.add_argument("--native", action="store_true", help="let ReActV2 use native function calling")
    parser.add_argument("--out", type=Path, help="folder of the result files; one that is there is taken up")
    return parser


if __name__ == "__main__":
    sys.exit(main())
