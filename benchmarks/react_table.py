"""The table of `benchmarks.against_react`, in Markdown."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from micro_agent.evaluation.compare import compare
from micro_agent.evaluation.counting import Quantity
from micro_agent.evaluation.figures import Comparison, Distribution, Rate
from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.results import read_results
from micro_agent.evaluation.summary import summarize

_OURS = "micro-agent"
_HEAD = (
    "", "solved, 95 % interval", "micro-agent minus it, points", "p", "right answer, with or without tools",
    "tokens in", "tokens out", "model calls", "seconds", "not solved because of",
)  # fmt: skip


@dataclass
class _Arm:
    """What the figures of `summarize` do not have."""

    header: Header
    answered: int = 0
    n: int = 0
    seconds: Quantity = field(default_factory=Quantity)
    why: Counter[str] = field(default_factory=Counter[str])
    models: Counter[str] = field(default_factory=Counter[str])


def table(files: Mapping[str, Path], about: Mapping[str, str]) -> Iterator[str]:
    """The lines: one row for each arm, then what was asked, and how the figures were made.

    Args:
        files: The result files by the name of the arm; that of micro-agent is among them.
        about: ``command`` and ``python``.
    """
    yield _row(_HEAD)
    yield _row(["---"] * len(_HEAD))
    compared = {
        name: compare(read_results(path), read_results(files[_OURS])) for name, path in files.items() if name != _OURS
    }
    for name, path in files.items():
        yield _row(_cells(name, path, compared.get(name)))
    yield ""
    yield from _notes(_looked_at(files[_OURS]), compared, about)


def _cells(name: str, path: Path, against: Comparison | None) -> Iterator[str]:
    summary, arm = summarize(*read_results(path)), _looked_at(path)
    yield name
    yield _rate(summary.success_rate)
    yield _difference(against)
    yield "" if against is None or against.p_value is None else f"{against.p_value:.4f}"
    yield f"{100 * arm.answered / arm.n:.1f} %" if arm.n else "unknown"
    yield from map(
        _mean, (summary.input_tokens, summary.output_tokens, summary.avg_lm_calls, arm.seconds.distribution())
    )
    yield ", ".join(f"{why} {count}" for why, count in arm.why.most_common()) or "nothing"


def _looked_at(path: Path) -> _Arm:
    header, results = read_results(path)
    arm = _Arm(header)
    for result in results:
        arm.n += 1
        arm.answered += _is_right(result)
        arm.seconds.add(result.task.id, result.wall_s)
        arm.models.update(result.models)
        if not result.success:
            arm.why[_why(result)] += 1
    return arm


def _is_right(result: Result) -> bool:
    """Whether every check passed but perhaps that of which tools were called."""
    return result.run.status == "completed" and all(check.passed for check in result.checks if check.name != "tools")


def _why(result: Result) -> str:
    if result.run.status != "completed":
        return f"{result.run.status} ({result.run.termination_reason})"
    return "check " + " and ".join(check.name for check in result.checks if not check.passed)


def _notes(ours: _Arm, compared: Mapping[str, Comparison], about: Mapping[str, str]) -> Iterator[str]:
    header, settings = ours.header, ours.header.settings
    sampling = ", ".join(f"{name} {value}" for name, value in settings["sampling"].items() if value is not None)
    num_ctx = f", num_ctx {settings['num_ctx']}" if settings["num_ctx"] else ""
    yield f"- Model: {settings['model']}, answered as {', '.join(ours.models) or 'unknown'}; {sampling}{num_ctx}."
    epochs = "" if header.epochs == 1 else f", {header.epochs} epochs"
    drawn = f"{header.size} tasks{epochs}, seed {header.seed}, tasks sha256 {header.dataset_sha256[:12]}"
    yield f"- {drawn}; at most {settings['max_steps']} steps."
    v2 = "native function calling" if settings["native"] else "DSPy's default adapter"
    yield f"- micro-agent {settings['version']}, DSPy {settings['dspy']} (ReActV2 with {v2}), {about['python']}."
    for how, names in _methods(compared).items():
        yield f"- Paired by task ({', '.join(names)}): {how}."
    yield "- Tokens, calls and seconds are means over the trials."
    yield f"- `{about['command']}`"


def _methods(compared: Mapping[str, Comparison]) -> dict[str, list[str]]:
    """How intervals and p-values were made, with the arms of which."""
    found: dict[str, list[str]] = {}
    for name, one in compared.items():
        found.setdefault(f"interval, {one.method}; p-value, {one.test}", []).append(name)
    return found


def _row(cells: Iterator[str] | list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _rate(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return "unknown"
    return f"{100 * rate.value:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}] ({rate.hits:g} of {rate.n})"


def _difference(against: Comparison | None) -> str:
    if against is None or against.difference is None or against.low is None or against.high is None:
        return ""
    return f"{100 * against.difference:+.1f} [{100 * against.low:+.1f}, {100 * against.high:+.1f}]"


def _mean(figure: Distribution) -> str:
    return "unknown" if figure.mean is None else f"{figure.mean:.1f}"
