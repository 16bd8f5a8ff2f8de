"""The table of docs/weak-models.md: `python -m tests.scenarios.table` writes it anew."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from .play import SCENARIOS, Played, played
from .scenario import Scenario

PAGE = Path(__file__).resolve().parents[2] / "docs" / "weak-models.md"
BEGIN, END = "<!-- scenarios: written by tests/scenarios/table.py -->", "<!-- end of the scenarios -->"
_NONE = "–"


def all_played() -> list[Played]:
    """Every scenario in each of its ways, once and sticky."""
    return [
        played(scenario, way, sticky) for scenario in SCENARIOS for way in scenario.ways for sticky in (False, True)
    ]


def some_played() -> list[Played]:
    """Every scenario in one of its ways, once or sticky in turn."""
    return [
        played(scenario, scenario.ways[number // 2 % len(scenario.ways)], bool(number % 2))
        for number, scenario in enumerate(SCENARIOS)
    ]


def on_page(run: Played, page: str) -> bool:
    """Whether the page shows how this run ended where the table has it."""
    cells = [("native", False), ("native", True), ("json", False), ("json", True)]
    name = _name(run.scenario)
    rows = [line.split(" | ")[-4:] for line in page.splitlines() if line.startswith(f"| {name} | ")]
    return any(row[cells.index((run.way.mode, run.sticky))].removesuffix(" |") == run.shown for row in rows)


def table(runs: list[Played]) -> str:
    """The figures and the table, as they stand between the comments of the page."""
    verdicts = Counter(run.verdict for run in runs)
    first = (
        f"{len(runs)} runs: {verdicts['right']} right, {verdicts['not answered']} ended honestly where an answer "
        f"was possible, {verdicts['silently wrong']} silently wrong."
    )
    return "\n".join([first, "", *_lines(runs)])


def with_table(page: str, rendered: str) -> str:
    """The page with this table between the comments."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{rendered}\n\n{END}{after}"


def _lines(runs: list[Played]) -> Iterator[str]:
    for part, of_part in groupby(runs, key=lambda run: run.scenario.part):
        yield from ("", f"### {part}", "", "| | native, once | native, sticky | JSON, once | JSON, sticky |")
        yield "|---|---|---|---|---|"
        for scenario, of_row in groupby(of_part, key=lambda run: run.scenario):
            shown = {(run.way.mode, run.sticky): run.shown for run in of_row}
            cells = [shown.get((mode, sticky), _NONE) for mode in ("native", "json") for sticky in (False, True)]
            yield f"| {_name(scenario)} | {' | '.join(cells)} |"


def _name(scenario: Scenario) -> str:
    escaped = "".join(f"\\{letter}" if letter in "|<>_*[]`" else letter for letter in scenario.name)
    return f"{escaped} (streamed)" if scenario.ways[0].stream else escaped


def main() -> None:
    """Write the table into the page."""
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), table(all_played())), encoding="utf-8")


if __name__ == "__main__":
    main()
