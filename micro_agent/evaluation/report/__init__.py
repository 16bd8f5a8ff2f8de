"""The report of an eval: one HTML page that needs no network, no script and no mouse."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.extras import need
from micro_agent.files.jsonl import private_folder, write_over

if TYPE_CHECKING:
    from micro_agent.evaluation.figures import Comparison, Summary
    from micro_agent.evaluation.result import Header, Result

__all__ = ["render", "write_page", "write_report"]

_EXTRA = ("jinja2", "vl_convert")


def write_report(out: Path, results: Path, *, baseline: Path | None = None) -> None:
    """Write the report of a result file, for this user alone; its folder is made when missing.

    A page of that name is replaced in one step: there is always the old one or the new one.

    Args:
        out: The page to write.
        results: The result file that it is about.
        baseline: A result file to compare it with.

    Raises:
        ConfigurationError: The extra ``report`` is not installed, or the page would replace a result file.
        StorageError: A result file cannot be read, or the page cannot be written.
    """
    need("report", *_EXTRA)
    if out.resolve() in {path.resolve() for path in (results, baseline) if path}:
        raise ConfigurationError(f"{out} is a result file: choose another name for the report")
    from micro_agent.evaluation.compare import compare
    from micro_agent.evaluation.report.page import pieces
    from micro_agent.evaluation.results import read_results
    from micro_agent.evaluation.summary import summarize
    from micro_agent.evaluation.trial_traces import folder_of

    before = read_results(baseline) if baseline else None
    comparison = compare(before, read_results(results)) if before else None
    summary = comparison.b if comparison else summarize(*read_results(results))
    header, trials = read_results(results)
    page = pieces(
        header, summary, trials, comparison, baseline=before and before[0], traces=folder_of(results)
    )  # fmt: skip
    write_page(out, page)


def render(
    header: "Header",
    summary: "Summary",
    results: "Iterable[Result]",
    comparison: "Comparison | None" = None,
    *,
    baseline: "Header | None" = None,
) -> str:
    """The page as text.

    Args:
        header: The header of the eval.
        summary: Its figures.
        results: Its results; of two with the same task and epoch the later one counts.
        comparison: With a baseline (``a``); the eval itself is ``b``.
        baseline: The header of the baseline, to name it.

    Raises:
        ConfigurationError: The extra ``report`` is not installed.
    """
    need("report", *_EXTRA)
    from micro_agent.evaluation.report.page import pieces

    return "".join(pieces(header, summary, results, comparison, baseline=baseline))


def write_page(out: Path, page: Iterable[str]) -> None:
    """Write a page for this user alone, in one step; its folder is made when missing. Raises `StorageError`."""
    try:
        private_folder(out.parent)
        write_over(out, map(str.encode, page))
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(f"cannot write the page {out}: {reason}; choose another place for it") from error
