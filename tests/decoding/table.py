"""The table of rows in docs/decoding.md: `python -m tests.decoding.table` writes it anew."""

from collections.abc import Iterator
from pathlib import Path

from micro_agent.decoding.rows import ROWS, Row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "decoding.md"
BEGIN, END = "<!-- rows: written by tests/decoding/table.py -->", "<!-- end of the rows -->"


def table() -> str:
    """The rows, as they stand between the comments of the page."""
    head = "| dialect | opens a call | between name and arguments | closes it | more |\n|---|---|---|---|---|"
    return "\n".join([head, *map(_line, ROWS)])


def with_table(page: str, rendered: str) -> str:
    """The page with this table between the comments."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{rendered}\n\n{END}{after}"


def _line(row: Row) -> str:
    opens = [*_code(row.opens), *(["text"] if row.written else [])]
    cells = (f"`{row.dialect}`", ", ".join(opens), ", ".join(_code(row.connects)), ", ".join(_code(row.closes)))
    return f"| {' | '.join(cells)} | {', '.join(_more(row))} |"


def _code(marks: tuple[str, ...]) -> list[str]:
    return [f"`{mark}`" for mark in marks]


def _more(row: Row) -> Iterator[str]:
    if row.keyed:
        yield "the name is the key"
    if row.code:
        yield "code for a tool named `python`"
    if row.reserved:
        yield f"not a name: {', '.join(_code(row.reserved))}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), table()), "utf-8")
